"""The rules that resolve a command to a tree."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from repositories import Repo

from ctx.errors import CtxError, NothingCommitted, UnknownRevision, UsageError
from ctx.git.repository import open_repository
from ctx.git.resolution import BRANCH, CONFIG, DEFAULT_BRANCH, HEAD, LATEST_SNAPSHOT, REVISION
from ctx.git.revisions import resolve

ORPHAN = ("checkout", "-q", "--orphan", "unborn")
DETACH = ("checkout", "-q", "--detach", "main~1")
SET = ("config", "ctx.revision")


@pytest.fixture
def project(repo: Repo, tmp_path: Path) -> Repo:
    """A clone with the branches main (two commits) and topic, and with a remote branch `far`."""
    repo.commit({"a": "1"}, "first")
    repo.branch("far")
    repo.commit({"a": "far"}, "far")
    repo.git("checkout", "-q", "main")
    repo.commit({"a": "2"}, "second")
    subprocess.run(["git", "clone", "-q", str(repo.path), str(tmp_path / "clone")], check=True)
    clone = Repo(tmp_path / "clone")
    clone.branch("topic")
    clone.commit({"a": "3"}, "third")
    clone.git("tag", "topic-tag", "main")
    return clone


@pytest.mark.parametrize(
    ("before", "revision", "branch", "expected", "name", "rule"),
    [
        ([], None, None, "topic", "topic", HEAD),
        ([DETACH], None, None, "main~1", "HEAD", HEAD),
        ([], "main~1", None, "main~1", "main~1", REVISION),
        ([(*SET, "main")], "topic", None, "topic", "topic", REVISION),
        ([], None, "main", "main", "main", BRANCH),
        ([(*SET, "main~1")], None, "topic", "topic", "topic", BRANCH),
        ([], None, "origin/far", "origin/far", "origin/far", BRANCH),
        ([], None, "refs/remotes/origin/far", "origin/far", "refs/remotes/origin/far", BRANCH),
        ([("branch", "topic-tag", "main~1")], None, "topic-tag", "refs/heads/topic-tag", "topic-tag", BRANCH),
        ([(*SET, "main")], None, None, "main", "main", CONFIG),
        ([ORPHAN], None, None, "origin/main", "origin/main", DEFAULT_BRANCH),
        ([ORPHAN, ("remote", "remove", "origin")], None, None, "main", "main", DEFAULT_BRANCH),
        (
            [ORPHAN, ("remote", "remove", "origin"), ("config", "init.defaultBranch", "topic")],
            None,
            None,
            "topic",
            "topic",
            DEFAULT_BRANCH,
        ),
        (
            [ORPHAN, ("update-ref", "-d", "refs/remotes/origin/main")],
            None,
            None,
            "main",
            "main",
            DEFAULT_BRANCH,
        ),
        (
            [("update-ref", "-d", "refs/heads/topic")],
            None,
            None,
            "origin/main",
            "origin/main",
            DEFAULT_BRANCH,
        ),
    ],
)
def test_resolution(
    project: Repo,
    before: list[tuple[str, ...]],
    revision: str | None,
    branch: str | None,
    expected: str,
    name: str,
    rule: str,
) -> None:
    for command in before:
        project.git(*command)
    found = resolve(open_repository(project.path), revision, branch, lambda: (b"never", b"asked"))
    assert found == (project.id(f"{expected}^{{tree}}"), project.id(expected), name, rule)


@pytest.mark.parametrize(
    ("before", "revision", "branch", "error", "words"),
    [
        ([], "absent", None, UnknownRevision, "'absent' names no commit and no tree"),
        ([ORPHAN], "HEAD", None, NothingCommitted, "HEAD has no commit yet"),
        ([], None, "absent", UnknownRevision, "there is no branch 'absent'"),
        ([], None, "main~1", UnknownRevision, "there is no branch 'main~1'"),
        ([], None, "topic-tag", UnknownRevision, "there is no branch 'topic-tag'"),
        ([(*SET, "gone")], None, None, UnknownRevision, "git config --unset ctx.revision"),
        ([], "main", "main", UsageError, "cannot be given together"),
    ],
)
def test_named_revision_is_exact_or_an_error(
    project: Repo,
    before: list[tuple[str, ...]],
    revision: str | None,
    branch: str | None,
    error: type[CtxError],
    words: str,
) -> None:
    for command in before:
        project.git(*command)
    with pytest.raises(error, match=words):
        resolve(open_repository(project.path), revision, branch, lambda: (b"never", b"asked"))


def test_only_a_snapshot(repo: Repo) -> None:
    found = resolve(open_repository(repo.path), None, None, lambda: (b"\1" * 20, b"\2" * 20))
    assert found == (b"\1" * 20, b"\2" * 20, "02" * 20, LATEST_SNAPSHOT)
    with pytest.raises(NothingCommitted, match="nothing is committed"):
        resolve(open_repository(repo.path))


def test_tree_without_commit(project: Repo) -> None:
    tree = project.id("main^{tree}")
    assert resolve(open_repository(project.path), tree.hex()) == (tree, None, tree.hex(), REVISION)
