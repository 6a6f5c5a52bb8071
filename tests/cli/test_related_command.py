"""`git ctx related` and `git ctx search --evolution` on the command line."""

from __future__ import annotations

import pytest
from small_project import FILES, GitCtx, Project

SESSION = str(FILES["src/session.py"])


@pytest.fixture
def copied(project: Project) -> Project:
    """The project with an edited copy of one file."""
    project.repo.commit({"other/sitting.py": SESSION.replace("SessionStore", "SittingStore")}, "copy it")
    return project


def test_code_similar_to_a_line(git_ctx: GitCtx, copied: Project) -> None:
    run = git_ctx("related", "session.py:12", cwd=copied.path / "src")
    assert run.status == 0
    assert run.lines[0].startswith("../other/sitting.py:")
    assert run.lines[2] == "    identical"
    found = git_ctx("related", "src/session.py:12", "--json", "--no-content", cwd=copied.path).json
    hit = found["hits"][0]
    assert (hit["path"], hit["duplicate"]) == ("other/sitting.py", "identical")
    cite = git_ctx("search", "renew session", "--json", cwd=copied.path).json["hits"][0]["citation"]
    assert git_ctx("related", cite, "--no-content", cwd=copied.path).status == 0
    coloured = git_ctx("related", "src/session.py:12", "--color=always", cwd=copied.path)
    assert "identical" in coloured.text


def test_code_on_stdin_may_have_no_similar_code(git_ctx: GitCtx, copied: Project) -> None:
    method = SESSION[SESSION.index("    def renew_session") :].split("\n\n")[0]
    same = git_ctx("related", "-", "--json", cwd=copied.path, stdin=method.encode()).json
    assert same["hits"][0]["duplicate"] in ("identical", "near-duplicate")
    other = b"SELECT warehouse, SUM(pallets) FROM deliveries GROUP BY warehouse HAVING SUM(pallets) > 12;"
    none = git_ctx("related", "-", cwd=copied.path, stdin=other)
    assert (none.status, none.lines[0]) == (1, "nothing in this tree is like it")


def test_staged_changes(git_ctx: GitCtx, copied: Project) -> None:
    assert git_ctx("related", "--staged", cwd=copied.path).status == 1
    copied.repo.write({"third.py": SESSION.replace("SessionStore", "ThirdStore")})
    assert git_ctx("related", "--staged", cwd=copied.path).status == 1
    copied.git("add", "third.py")
    run = git_ctx("related", "--staged", "--no-content", cwd=copied.path)
    assert run.status == 0
    assert run.lines[0].startswith("third.py:")
    assert run.lines[0].endswith(" is similar to:")
    assert "other/sitting.py" in run.text
    assert run.lines[-1] == "-- 3 changes with similar code elsewhere"
    found = git_ctx("related", "--in", "HEAD", "--json", cwd=copied.path).json
    assert found["type"] == "related_changes"
    assert {result["changed"]["change"]["state"] for result in found["hits"]} == {"added"}
    duplicates = {hit["duplicate"] for result in found["hits"] for hit in result["related"]}
    assert duplicates == {"identical", "near-duplicate"}


@pytest.mark.parametrize(
    ("arguments", "status", "words"),
    [
        ([], 129, "Give a place"),
        (["src/session.py:3", "--in", "HEAD"], 129, "Give a place"),
        (["src/session.py"], 129, "is not a place"),
        (["src/absent.py:3"], 128, "there is no indexed file"),
        (["src/session.py:3", "--revision", "absent"], 128, "names no commit"),
    ],
)
def test_invalid_places_are_errors(
    git_ctx: GitCtx, copied: Project, arguments: list[str], status: int, words: str
) -> None:
    run = git_ctx("related", *arguments, cwd=copied.path)
    assert run.status == status
    assert words in run.err


def test_evolution_names_commits(git_ctx: GitCtx, copied: Project) -> None:
    copied.repo.commit({"src/session.py": SESSION.replace("time.time() + self", "now() + self")}, "use now")
    run = git_ctx(
        "search", "--evolution", "--no-content", "renew session expiry", "--", "src", cwd=copied.path
    )
    changed = [line.split(None, 2)[2] for line in run.lines if line.startswith("    changed ")]
    head = copied.git("rev-parse", "--short=12", "HEAD")
    assert changed[0] == f"{head} Ada Tester: use now"
    assert changed[1].endswith("Ada Tester: change")
    answer = git_ctx(
        "search", "--evolution", "--json", "renew session expiry", "--", "src", cwd=copied.path
    ).json
    found = answer["hits"][0]["evolution"]
    assert [one["subject"] for one in found["commits"]] == ["use now", "change"]
    assert (found["complete"], found["uncommitted"]) == (True, False)
    tree = git_ctx("search", "--evolution", "renew", "--revision", "HEAD^{tree}", cwd=copied.path)
    assert tree.status == 129
