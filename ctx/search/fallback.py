"""The nearest indexed tree to one that is not indexed, and the distance between them.

This module only looks for it. The engine answers from another tree only if `ctx.fallback=snapshot` is set.
"""

from __future__ import annotations

from typing import NamedTuple

from ctx.errors import GitFailed
from ctx.git.repository import Repository
from ctx.git.resolution import FALLBACK, Resolution
from ctx.search.coverage import distance_in_words
from ctx.storage.snapshots import Snapshots
from ctx.types import Behind

_DEPTH = 1000
"""Number of commits of a history that are looked at."""


class Nearest(NamedTuple):
    """A tree that has a snapshot, and its commit if it was found by one."""

    tree: bytes
    commit: bytes | None


def nearest(repository: Repository, asked: Resolution, snapshots: Snapshots) -> Nearest | None:
    """Return the nearest covered tree; None if nothing is covered.

    Order of preference: ancestors of the requested commit, ancestors of the default branch, the most recent
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
    latest = snapshots.latest()
    if latest is None or snapshots.covered(latest[0]) is None:
        return None
    return Nearest(*latest)


def behind(repository: Repository, asked: Resolution, found: Nearest) -> Behind | None:
    """Return how far a tree is behind the requested one; None if objects needed to compare are missing here.

    `repository` must be able to read both.
    """
    try:
        names = repository.git(
            "diff-tree", "-r", "-z", "--name-only", "--no-renames", found.tree.hex(), asked.tree.hex(), "--"
        )
        commits, ahead = None, 0
        if found.commit is not None and asked.commit is not None:
            both = f"{found.commit.hex()}...{asked.commit.hex()}"
            counts = repository.git("rev-list", "--left-right", "--count", both, "--").split()
            ahead, commits = map(int, counts)
    except GitFailed:
        return None
    return Behind(
        tree=found.tree.hex(),
        commit=found.commit.hex() if found.commit else None,
        commits=commits,
        files=names.count(b"\0"),
        ahead=ahead,
    )


def fallen_back(asked: Resolution, found: Nearest, distance: Behind | None) -> tuple[Resolution, str]:
    """Return the nearest tree in place of the requested one, and the warning about it."""
    name = (found.commit or found.tree).hex()
    far = f", {distance_in_words(distance, asked.revision)}" if distance else ""
    warning = (
        f"WARNING: {asked.revision} is not indexed; this answer is from {name[:12]}{far} "
        "(ctx.fallback=snapshot). `git ctx index` indexes it"
    )
    return Resolution(found.tree, found.commit, name, FALLBACK), warning
