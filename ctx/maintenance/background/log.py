"""The log of background runs: one line of JSON for each, at most two files of 64 kB.

A run that goes on is described in the file that it holds locked. A description that nobody holds is of a run
that was ended from outside, and becomes a line of the log when the next run begins.
"""

from __future__ import annotations

import json
import os
from typing import NamedTuple

from ctx.git.permissions import UMASK, Permissions
from ctx.storage.regular_files import open_regular

LOG, OLD_LOG = "log", "log.old"
LARGEST = 1 << 16
"""Bytes of a log that is put aside."""

DONE, FAILED, KILLED = "done", "failed", "killed"
KILLED_TEXT = "ended from outside, perhaps for want of memory"


class Start(NamedTuple):
    """A run that has begun. Time in seconds since 1970."""

    time: int
    pid: int
    trigger: str


class Covered(NamedTuple):
    """What a run did for one tree; `skipped` as in IndexReport."""

    tree: str
    revision: str
    skipped: str | None
    new_clusters: int
    embedded_chunks: int
    reused_chunks: int


class Run(NamedTuple):
    """A run that has ended. `events` is the number of hooks that it answers."""

    time: int
    seconds: float
    trigger: str
    events: int
    outcome: str
    trees: list[Covered]
    error: str | None


def write(directory: str, run: Run, permissions: Permissions = UMASK) -> None:
    """Append a line. Raises OSError."""
    path = os.path.join(directory, LOG)
    if os.path.exists(path) and os.path.getsize(path) > LARGEST:
        os.replace(path, os.path.join(directory, OLD_LOG))
    line = json.dumps(run._asdict() | {"trees": [tree._asdict() for tree in run.trees]})
    handle = permissions.open(path, os.O_WRONLY | os.O_APPEND)
    try:
        os.write(handle, line.encode() + b"\n")
    finally:
        os.close(handle)


def read(directory: str) -> list[Run]:
    """The runs that have ended, oldest first; lines that cannot be read are left out."""
    runs: list[Run] = []
    for name in (OLD_LOG, LOG):
        try:
            with open_regular(os.path.join(directory, name)) as file:
                lines = file.read().decode("utf-8", "replace").splitlines()
        except OSError:
            continue
        runs += [run for line in lines if (run := _parse(line)) is not None]
    return runs


def killed(start: Start) -> Run:
    """What the log says of a run that began and did not come to its end."""
    return Run(start.time, 0.0, start.trigger, 1, KILLED, [], KILLED_TEXT)


def _parse(line: str) -> Run | None:
    try:
        fields = json.loads(line)
        trees = [
            Covered(
                str(tree["tree"]),
                str(tree["revision"]),
                tree["skipped"] and str(tree["skipped"]),
                *(int(tree[name]) for name in Covered._fields[3:]),
            )
            for tree in fields["trees"]
        ]
        return Run(
            int(fields["time"]),
            float(fields["seconds"]),
            str(fields["trigger"]),
            int(fields["events"]),
            str(fields["outcome"]),
            trees,
            fields["error"] and str(fields["error"]),
        )
    except (ValueError, KeyError, TypeError, OverflowError):
        return None
