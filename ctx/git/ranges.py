"""Ranges of revisions: `A..B`, `A...B`, `A^!`, or `A` alone.

Two dots compare the trees of both ends, as in `git diff`; three dots take the merge base of both in place of
the first one, `A^!` is a commit against its first parent, and `A` alone is compared with the uncommitted
state. The default of an end is HEAD.
"""

from __future__ import annotations

import os
from typing import NamedTuple

from ctx.errors import CtxError, UnknownRevision, UsageError
from ctx.git.repository import Repository
from ctx.git.resolution import Resolution
from ctx.git.revisions import resolve


class Ends(NamedTuple):
    """The two trees to compare; `new` is None for the uncommitted state."""

    old: Resolution
    new: Resolution | None


def read_range(repository: Repository, text: str) -> Ends:
    """Return the ends of a range. Raises UsageError, UnknownRevision, NothingCommitted, CtxError."""
    if not text.strip():
        raise UsageError("the range is empty: write <old>..<new>, <old>...<new>, or <old> alone")
    if text.endswith("^!"):
        return _of_one_commit(repository, text.removesuffix("^!") or "HEAD")
    left, dots, right = text.partition("...")
    if not dots:
        left, dots, right = text.partition("..")
    if not dots:
        return Ends(resolve(repository, text), None)
    if ".." in right:
        raise UsageError(f"'{text}' is not a range: write <old>..<new> or <old>...<new>")
    old, new = resolve(repository, left or "HEAD"), resolve(repository, right or "HEAD")
    return Ends(old if dots == ".." else _merge_base(repository, old, new), new)


def _of_one_commit(repository: Repository, name: str) -> Ends:
    new = resolve(repository, name)
    if new.commit is None:
        raise UnknownRevision(f"'{name}' is a tree, which has no parent: name two trees, as in A..B")
    parents = repository.commit_info(new.commit).parents
    if not parents:
        return Ends(Resolution(repository.empty_tree, None, "nothing"), new)
    # By name, not by id: the error for a shallow clone explains missing history.
    return Ends(resolve(repository, f"{name}^"), new)


def _merge_base(repository: Repository, one: Resolution, other: Resolution) -> Resolution:
    for end in (one, other):
        if end.commit is None:
            raise UnknownRevision(
                f"'{end.revision}' is a tree, which has no history: compare it with two dots"
            )
    assert one.commit is not None
    assert other.commit is not None
    base = repository.run("merge-base", one.commit.hex(), other.commit.hex()).stdout.decode().strip()
    if base:
        return resolve(repository, base)._replace(revision=f"merge base {base[:12]}")
    shallow = os.path.isfile(os.path.join(repository.common_dir, "shallow"))
    raise CtxError(
        f"'{one.revision}' and '{other.revision}' have no common ancestor here: "
        + (
            "this clone is shallow, `git fetch --unshallow` brings the history"
            if shallow
            else f"compare their trees as they are with {one.revision}..{other.revision}"
        )
    )
