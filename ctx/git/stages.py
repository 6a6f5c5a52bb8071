"""The stages of a conflict, left unmerged in the index by a merge, rebase, cherry-pick or revert.

Reads the index through git and returns the changes that resolve it; writes nothing.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import NamedTuple

from ctx.errors import CtxError
from ctx.git import process

STAGES = {"base": b"1", "ours": b"2", "theirs": b"3"}
"""Stage number of each side of a merge, see git-read-tree(1)."""


class Unmerged(NamedTuple):
    """One side of a path in conflict, written as git does: octal mode, hexadecimal id, stage number."""

    mode: bytes
    oid: bytes
    stage: bytes
    path: bytes


def unmerged(root: str, variables: process.Variables) -> list[Unmerged]:
    """Return all sides of all paths in conflict, by path."""
    found = []
    for line in process.output(root, ["ls-files", "--unmerged", "-z"], None, variables).split(b"\0")[:-1]:
        entry, _, path = line.partition(b"\t")
        mode, oid, stage = entry.split(b" ")
        found.append(Unmerged(mode, oid, stage, path))
    return found


def one_side(entries: Sequence[Unmerged], side: str) -> list[bytes]:
    """Return lines for `git update-index -z --index-info` that keeps one side of each path.

    A path that the side does not have is removed. Raises CtxError if nothing is in conflict.
    """
    if not entries:
        raise CtxError(
            f"there is no conflict here, so '{side}' cannot be searched: use --staged for staged files, "
            "--no-overlay for committed ones"
        )
    gone = b"0 " + b"0" * len(entries[0].oid) + b"\t"
    # Removed first, as git-update-index(1) asks for: a path must not keep its other stages.
    lines = [gone + path for path in dict.fromkeys(entry.path for entry in entries)]
    lines += [
        entry.mode + b" " + entry.oid + b"\t" + entry.path for entry in entries if entry.stage == STAGES[side]
    ]
    return lines


def refuse(entries: Sequence[Unmerged]) -> None:
    """Raise CtxError if something is in conflict: such an index is not a tree."""
    if entries:
        path = os.fsdecode(entries[0].path)
        raise CtxError(
            f"staged files cannot be searched while there are conflicts ('{path}'): search one side of "
            "them with --ours, --theirs or --base, or the files as they are with --work-tree"
        )
