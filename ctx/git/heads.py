"""The work trees of a repository and their HEADs."""

from __future__ import annotations

import os
from collections.abc import Iterator
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
    listing = location.run("worktree", "list", "--porcelain", "-z")
    if listing.returncode == 0:
        lines = listing.stdout.split(b"\0")
    else:  # git before 2.36 knows no -z, and quotes nothing
        command = ["worktree", "list", "--porcelain"]
        lines = process.output(location.directory, command, variables=location.variables).split(b"\n")
    return [head for record in _records(lines) if (head := _head(record))]


def _records(lines: list[bytes]) -> Iterator[dict[bytes, bytes]]:
    record: dict[bytes, bytes] = {}
    for line in lines:
        if line:
            name, _, value = line.partition(b" ")
            record[name] = value
        elif record:
            yield record
            record = {}


def _head(record: dict[bytes, bytes]) -> Head | None:
    commit = bytes.fromhex(record.get(b"HEAD", b"").decode())
    if not any(commit) or b"prunable" in record:
        return None
    branch = record.get(b"branch")
    return Head(os.fsdecode(record.get(b"worktree", b"")), commit, os.fsdecode(branch) if branch else None)
