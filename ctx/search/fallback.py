"""The nearest tree that is indexed, where the one that is asked for is not, and how far behind it is.

Only looks: what becomes of it is up to the engine, which answers from another tree only for those who set
`ctx.fallback=snapshot`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from ctx.errors import GitFailed
from ctx.git.repository import Repository
from ctx.git.revisions import FALLBACK, Resolution
from ctx.search.coverage import distance_in_words
from ctx.storage.snapshots import Snapshots
from ctx.types import Behind

_DEPTH = 1000
"""Commits of a history that are looked at."""

Latest = Callable[[], tuple[bytes, bytes | None] | None]
"""Gives tree and commit of the most recent snapshot."""


class Nearest(NamedTuple):
    """A tree that has a snapshot, and its commit if it was found by one."""

    tree: bytes
    commit: bytes | None


def nearest(
    repository: Repository, asked: Resolution, snapshots: Snapshots, latest_snapshot: Latest
) -> Nearest | None:
    """The nearest covered tree; None where nothing is covered.

    Nearest are the ancestors of what is asked for, then those of the default branch, then the most recent
    snapshot.
    """
    known = set(snapshots.trees())
    if not known:
        return None
    starts = (asked.commit, repository.commit_of(repository.default_branch() or ""))
    for start in starts:
        if start is None:
            continue
        for commit, tree in repository.ancestors(start, _DEPTH):
            if tree in known and snapshots.covered(tree) is not None:
                return Nearest(tree, commit)
    latest = latest_snapshot()
    if latest is None or snapshots.covered(latest[0]) is None:
        return None
    return Nearest(*latest)


def behind(repository: Repository, asked: Resolution, found: Nearest) -> Behind | None:
    """How far a tree is behind the one that is asked for; None where a part of one is not here to compare.

    `repository` is one that can read both.
    """
    try:
        names = repository.git(
            "diff-tree", "-r", "-z", "--name-only", "--no-renames", found.tree.hex(), asked.tree.hex(), "--"
        )
        commits = None
        if found.commit is not None and asked.commit is not None:
            lacking = f"{found.commit.hex()}..{asked.commit.hex()}"
            commits = int(repository.git("rev-list", "--count", lacking, "--"))
    except GitFailed:
        return None
    return Behind(found.tree, found.commit, commits, names.count(b"\0"))


def fallen_back(asked: Resolution, found: Nearest, distance: Behind | None) -> tuple[Resolution, str]:
    """The nearest tree in the place of the one that was asked for, and the warning that has to say so."""
    name = (found.commit or found.tree).hex()
    far = f", {distance_in_words(distance, asked.revision)}" if distance else ""
    warning = (
        f"WARNING: {asked.revision} is not indexed; this answer is from {name[:12]}{far} "
        "(ctx.fallback=snapshot). `git ctx index` indexes it"
    )
    return Resolution(found.tree, found.commit, name, FALLBACK), warning
