"""Commits become tasks by their changes; those that need no search are left out, with the reason."""

from __future__ import annotations

import os

import pytest
from repositories import Repo

from ctx.git.repository import open_repository
from ctx.search.evaluation import commits
from ctx.search.evaluation.commits import Change
from ctx.text import subjects

SOURCE = """def load(path):
    return open(path).read()


def save(path, text):
    open(path, 'w').write(text)
"""


@pytest.fixture
def project(repo: Repo) -> Repo:
    repo.commit({"src/files.py": SOURCE, "README.md": "# Files\n", "package.json": '{"version": "1.2.3"}\n'})
    return repo


def last(project: Repo) -> commits.Commit:
    with open_repository(project.path) as repository:
        return next(commits.commits(repository, project.id(), 1))


def test_a_change_has_the_lines_of_the_parent_tree(project):
    project.commit(
        {
            "src/files.py": SOURCE.replace(
                "return open(path).read()", "with open(path) as file:\n        return 1"
            )
        },
        "Close the file after it was loaded",
    )
    found = last(project)
    assert found.left_out is None
    assert found.subject == "Close the file after it was loaded"
    assert found.changes == (Change(b"src/files.py", ((2, 2),)),)


def test_added_lines_count_as_the_line_before_them(project):
    project.commit(
        {"src/files.py": "import os\n" + SOURCE + "\n\ndef drop():\n    pass\n"}, "Let files be dropped again"
    )
    assert last(project).changes == (Change(b"src/files.py", ((1, 1), (6, 6))),)


def test_a_moved_and_changed_file_has_its_old_path(project):
    project.git("mv", "src/files.py", "src/store.py")
    project.commit({"src/store.py": SOURCE.replace("'w'", "'x'")}, "Refuse to overwrite a file")
    assert last(project).changes == (Change(b"src/files.py", ((6, 6),)),)


def test_paths_may_be_any_bytes(project):
    name = b'a "b"\n\xff.py'
    project.commit({name: SOURCE}, "Add a second copy of the loader")
    project.commit({name: SOURCE.replace("'w'", "'x'")}, "Refuse to overwrite a file")
    assert [change.path for change in last(project).changes] == [name]


@pytest.mark.parametrize(
    ("files", "message", "reason"),
    [
        (
            {"src/files.py": SOURCE.replace("    ", "  ").replace("'", '"')},
            "Make the code look nicer",
            commits.FORMAT,
        ),
        (
            {"src/files.py": SOURCE.replace("path, text", "\n    path,\n    text,\n")},
            "Wrap what is long",
            commits.FORMAT,
        ),
        ({"package.json": '{"version": "1.3.0-rc1"}\n'}, "Time for another round", commits.BUMP),
        (
            {"package.json": '{"dependencies": {"left-pad": "1"}}\n'},
            "Upgrade all of the dependencies",
            commits.BUMP,
        ),
        ({"src/new.py": "x = 1\n"}, "Add a place for new things", commits.NEW),
        ({"src/files.py": SOURCE + "# more\n"}, "wip", commits.WORDLESS),
        (
            {f"src/{n}.py": "x = 1\n" for n in range(20)} | {"README.md": "x\n"},
            "Add a lot of files",
            commits.LARGE,
        ),
    ],
)
def test_commits_that_need_no_search_are_left_out(project, files, message, reason):
    project.commit(files, message)
    assert last(project).left_out == reason


def test_moved_files_are_no_task_but_moved_code_is(project):
    project.git("mv", "src/files.py", "src/store.py")
    project.commit(message="Call the module what it is")
    assert last(project).left_out == commits.RENAME
    first, second = SOURCE.split("\n\n\n")
    project.commit({"src/store.py": f"{second}\n\n{first}\n"}, "Save before anything is loaded")
    assert last(project).left_out is None


def test_merges_and_the_first_commit_are_no_tasks(project):
    project.branch("topic")
    project.commit({"src/files.py": SOURCE + "# topic\n"}, "Say what the topic is")
    project.git("checkout", "--quiet", "main")
    project.commit({"README.md": "# Files and more\n"}, "Promise more in the readme")
    project.git("merge", "--quiet", "--no-edit", "topic")
    with open_repository(project.path) as repository:
        found = [commit.subject for commit in commits.commits(repository, project.id(), 10)]
    assert sorted(found) == ["Promise more in the readme", "Say what the topic is"]


def test_a_missing_tree_is_reported(project):
    project.commit({"src/files.py": SOURCE + "# more\n"}, "Say more in the end")
    project.delete_object(project.id("HEAD^:src"))
    assert last(project).left_out == commits.UNKNOWN


@pytest.mark.parametrize(
    ("subject", "query"),
    [
        ("fix(store): close the file after loading (#12)", "close the file after loading"),
        ("[core] JIRA-12: refuse to overwrite files", "refuse to overwrite files"),
        ("Bump lodash from 1 to 2", None),
        ("typo", None),
        ("ファイルを閉じる処理を追加", "ファイルを閉じる処理を追加"),
    ],
)
def test_subjects_become_queries(subject, query):
    assert subjects.query_of(subject) == query


def test_bodies_lose_their_trailers():
    body = "Handles leaked until the collector came.\n\nFixes #4\nSigned-off-by: A <a@example.org>\n"
    assert (
        subjects.question_of("Close the file after loading", body)
        == "Close the file after loading. Handles leaked until the collector came."
    )
    assert subjects.question_of("Close the file after loading", "Signed-off-by: A <a@example.org>") is None
    assert os.linesep not in (subjects.question_of("Close the file after", "a b c\nd e f") or "")
