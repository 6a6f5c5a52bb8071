"""Log of background runs: one JSON line for each, at most two files of 64 kB.

A current run is described in a file that it keeps locked. An unlocked description is of a run that was
killed, and is logged when the next run begins.
"""

from __future__ import annotations

import os
from typing import Any, NamedTuple

from ctx.git.permissions import UMASK, Permissions
from ctx.storage.json_lines import append_rotated, read_rotated

LOG = "log"
DONE, FAILED, KILLED = "done", "failed", "killed"
KILLED_TEXT = "by the system or a user, perhaps for lack of memory"


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
    line = run._asdict() | {"trees": [tree._asdict() for tree in run.trees]}
    append_rotated(os.path.join(directory, LOG), line, permissions.open)


def read(directory: str) -> list[Run]:
    """Return the finished runs, oldest first; unreadable lines are skipped."""
    return read_rotated(os.path.join(directory, LOG), _parse)


def killed(start: Start) -> Run:
    """Return the log entry of a run that did not finish."""
    return Run(start.time, 0.0, start.trigger, 1, KILLED, [], KILLED_TEXT)


def _parse(fields: Any) -> Run:
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
