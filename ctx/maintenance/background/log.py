"""Log of background runs: one JSON line for each, at most two files of 64 kB.

A current run is described in a file that it keeps locked. An unlocked description is of a run that was
killed, and is logged when the next run begins.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from typing import NamedTuple

from ctx.errors import Damaged, Decoding
from ctx.git.permissions import UMASK, Permissions
from ctx.storage.regular_files import open_regular

LOG, OLD_LOG = "log", "log.old"
LARGEST = 1 << 16
"""Size in bytes at which the log is rotated."""

DONE, FAILED, KILLED = "done", "failed", "killed"
KILLED_TEXT = "ended from outside, perhaps for want of memory"


class Start(NamedTuple):
    """A started run; `time` in seconds since 1970."""

    time: int
    pid: int
    trigger: str


class Covered(NamedTuple):
    """Result of a run for one tree; `skipped` as in IndexReport."""

    tree: str
    revision: str
    skipped: str | None
    new_clusters: int
    embedded_chunks: int
    reused_chunks: int


class Run(NamedTuple):
    """A finished run. `events` is the number of hook events that it handled."""

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
    """Return the finished runs, oldest first; unreadable lines are skipped."""
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
    """Return the log entry of a run that did not finish."""
    return Run(start.time, 0.0, start.trigger, 1, KILLED, [], KILLED_TEXT)


def _parse(line: str) -> Run | None:
    with suppress(Damaged), Decoding("a line of the log"):
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
    return None
