"""Kept views: the last ones, and those of branches and work trees."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from repositories import Repo

import ctx
from ctx.types import COMMITTED


def views(repo: Repo) -> set[str]:
    """Return the trees that have a view."""
    found = (repo.path / ".git" / "ctx" / "views").glob("*/view-*")
    return {path.name.removeprefix("view-") for path in found}


def tree(repo: Repo, revision: str) -> str:
    return repo.git("rev-parse", f"{revision}^{{tree}}").decode()


def grow(repo: Repo, name: str, commits: int) -> None:
    """Commit on the current branch and index."""
    for number in range(commits):
        repo.commit({f"{name}.py": f"def {name}_{number}():\n    return {number}\n"})
        with ctx.open(repo.path) as index:
            index.index()


def test_switching_branches_finds_their_views(make_repo: Callable[..., Repo], tmp_path: Path) -> None:
    repo = make_repo()
    grow(repo, "common", 2)
    repo.branch("quiet")
    grow(repo, "quiet", 1)
    linked = tmp_path / "linked"
    repo.git("worktree", "add", "-q", "--detach", str(linked), "main")
    detached = Repo(linked)
    detached.commit({"detached.py": "def detached(): pass\n"})
    with ctx.open(linked) as index:
        index.index()
    repo.branch("busy", "main")
    grow(repo, "busy", 7)
    kept = views(repo)
    tips = {tree(repo, "quiet"), tree(repo, "main"), tree(detached, "HEAD")}
    assert tips < kept
    assert kept - tips == {tree(repo, f"busy~{back}") for back in range(4)}
    repo.git("checkout", "-q", "quiet")
    with ctx.open(repo.path) as index:
        answer = index.search("quiet", overlay=COMMITTED)
        assert "indexer" not in vars(index)  # nothing was made
    assert answer.hits[0].path == "quiet.py"
    assert answer.tree == tree(repo, "quiet")


def test_views_of_deleted_or_too_many_branches_are_removed(make_repo: Callable[..., Repo]) -> None:
    repo = make_repo()
    grow(repo, "common", 1)
    for number in range(14):
        repo.branch(f"topic{number}", "main")
        grow(repo, f"topic{number}", 1)
    assert views(repo) == {tree(repo, f"topic{number}") for number in range(2, 14)}
    for number in range(5, 10):
        repo.git("branch", "-q", "-D", f"topic{number}")
    grow(repo, "last", 1)
    # The four last ones, and what has a branch.
    assert views(repo) == {tree(repo, f"topic{number}") for number in (2, 3, 4, 11, 12)} | {
        tree(repo, "topic13~1"),
        tree(repo, "topic13"),
        tree(repo, "topic10"),
    }
