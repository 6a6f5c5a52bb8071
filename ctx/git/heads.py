"""The work trees of a repository and their HEADs."""

from __future__ import annotations

import os
from typing import NamedTuple

from ctx.git import process
from ctx.git.location import Location


class Head(NamedTuple):
    """The HEAD of one work tree. `branch` is a full reference name, None for a detached HEAD."""

    path: str
    commit: bytes
    branch: str | None


def heads(location: Location) -> list[Head]:
    """Return the HEAD of every existing work tree that has a commit, the main one first. Raises GitFailed."""
    command = ["worktree", "list", "--porcelain"]
    listing, end = location.run(*command, "-z"), b"\0"
    if listing.returncode:  # git before 2.36 knows no -z, and quotes nothing
        listing, end = location.run(*command), b"\n"
    found = []
    for record in process.checked(listing).split(end * 2):
        fields = {name: value for name, _, value in (line.partition(b" ") for line in record.split(end))}
        commit = bytes.fromhex(fields.get(b"HEAD", b"").decode())
        if any(commit) and b"prunable" not in fields:
            branch = os.fsdecode(fields[b"branch"]) if b"branch" in fields else None
            found.append(Head(os.fsdecode(fields[b"worktree"]), commit, branch))
    return found
