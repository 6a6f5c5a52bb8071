"""`git ctx evaluate` as a user runs it."""

from __future__ import annotations

import pytest
from repositories import Repo


@pytest.fixture
def project(repo: Repo) -> Repo:
    repo.commit({"src/cookie.py": "def renew(cookie):\n    return cookie\n", "README.md": "# Cookies\n"})
    repo.commit(
        {"src/cookie.py": "def renew(cookie):\n    return cookie.again()\n"},
        "Renew a cookie when it is asked for",
    )
    repo.commit({"README.md": "# Cookies and more\n"}, "Promise more than cookies in the readme")
    repo.commit({"README.md": "# Cookies  and  more\n"}, "Put more room between the words")
    return repo


def test_text_output_begins_with_a_sentence(git_ctx, project):
    run = git_ctx("evaluate", cwd=project.path)
    assert run.status == 0, run.err
    assert run.lines[0] == (
        f"for 2 of 2 commits that lead to main ({project.id().hex()[:12]}) a changed file was among the "
        "first ten hits, for 2 it was the first"
    )
    assert run.lines[1] == "3 commits looked at; left out: 1 only formatted"
    assert any(line.startswith("kind: sources") for line in run.lines)
    assert run.err == ""


def test_an_evaluation_leaves_no_snapshots(git_ctx, project):
    git_ctx("index", cwd=project.path)
    before = git_ctx("status", "--json-output", cwd=project.path).json
    assert git_ctx("evaluate", cwd=project.path).status == 0
    after = git_ctx("status", "--json-output", cwd=project.path).json
    assert after["snapshots"] == before["snapshots"]
    assert git_ctx("fsck", "--full", cwd=project.path).status == 0


def test_json_has_all_grades(git_ctx, project):
    run = git_ctx("evaluate", "-n", "1", "--compare", "words=off", "--json-output", cwd=project.path)
    found = run.json
    assert list(found) == [
        "type", "revision", "revisionName", "commit", "tree", "commits", "lookedAt", "leftOut",
        "interrupted", "settings",
    ]  # fmt: skip
    assert found["type"] == "evaluation"
    assert (found["commits"], found["lookedAt"]) == (1, 2)
    shipped, other = found["settings"]
    assert shipped["name"] == "as shipped"
    assert shipped["difference"] is None
    assert shipped["groups"]["kind"] == {"docs": shipped["all"]}
    assert other["name"] == "words=off"
    assert set(other["difference"]) == {"ndcg", "low", "high"}


def test_commits_before_an_older_revision_are_replayed(git_ctx, project):
    run = git_ctx("evaluate", "HEAD~2", "--json-output", cwd=project.path)
    assert run.json["commits"] == 1
    assert run.json["commit"] == project.id("HEAD~2").hex()


def test_the_reason_if_no_commit_can_be_replayed(git_ctx, repo):
    repo.commit({"a.py": "x = 1\n"}, "Begin with one file")
    run = git_ctx("evaluate", cwd=repo.path)
    assert run.status == 0
    assert run.lines == ["none of 0 commits could be replayed: none has exactly one parent"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--compare", "depth=3"), "'depth=3' is not a setting to compare; use "),
        (("-n", "0"), "0 is not in the range"),
        (("HEAD^{tree}",), "has no history"),
        (("nowhere",), "nowhere"),
    ],
)
def test_bad_input_is_refused(git_ctx, project, arguments, said):
    run = git_ctx("evaluate", *arguments, cwd=project.path)
    assert run.status in (128, 129)
    assert said in run.err
