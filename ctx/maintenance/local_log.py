"""Log of one user's commands, written only if `ctx.localLogging` is set.

One JSON line for each command, in at most two files that only the user may read: time, duration, command,
exit status and user; never a query, a path or a text. It is never sent anywhere.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress
from typing import Any, NamedTuple

from ctx.storage.json_lines import append_rotated, read_rotated


class Entry(NamedTuple):
    """One command; `time` is its start in seconds since 1970."""

    time: int
    seconds: float
    command: str
    status: int
    user: str


class CommandLog:
    """Records the command of one process, and writes it at the end if a repository enables the log."""

    def __init__(self) -> None:
        self._began, self._clock = time.time(), time.monotonic()
        self._directory: str | None = None
        self._user = self.command = ""

    def enable(self, directory: str, user: str) -> None:
        """Enable the log in an index directory; only the first call, for the first repository, counts."""
        if self._directory is None:
            self._directory, self._user = directory, user

    def write(self, status: int) -> None:
        """Append the line if the log is enabled; write errors are ignored."""
        if self._directory is None or not self.command:
            return
        seconds = round(time.monotonic() - self._clock, 3)
        entry = Entry(int(self._began), seconds, self.command, status, self._user)
        with suppress(OSError):
            append_rotated(file_of(self._directory), entry._asdict(), _open)


current = CommandLog()
"""The log of this process."""


def file_of(directory: str) -> str:
    """Return the log file of the current user: several may share a repository."""
    return os.path.join(directory, f"commands-{os.getuid()}.log")


def read(directory: str) -> list[Entry]:
    """Return the commands of this user, oldest first; unreadable lines are skipped."""
    return read_rotated(file_of(directory), _parse)


def _open(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)


def _parse(fields: Any) -> Entry:
    return Entry(
        int(fields["time"]),
        float(fields["seconds"]),
        str(fields["command"]),
        int(fields["status"]),
        str(fields["user"]),
    )
