"""Log of one user's commands, written only if `ctx.localLogging` is set.

One JSON line for each command, in at most two files that only the user may read: time, duration, command,
exit status and user; never a query, a path or a text. It is never sent anywhere.
"""

from __future__ import annotations

import json
import os
import time
from typing import NamedTuple

from ctx.storage.regular_files import open_regular

LARGEST = 1 << 16
"""Size in bytes at which the log is rotated; one old file is kept."""


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

    def wanted(self, directory: str, user: str) -> None:
        """Enable the log in an index directory; only the first call, for the first repository, counts."""
        if self._directory is None:
            self._directory, self._user = directory, user

    def write(self, status: int) -> None:
        """Append the line if the log is enabled; write errors are ignored."""
        if self._directory is None or not self.command:
            return
        seconds = round(time.monotonic() - self._clock, 3)
        entry = Entry(int(self._began), seconds, self.command, status, self._user)
        try:
            _append(file_of(self._directory), json.dumps(entry._asdict()))
        except OSError:
            return


current = CommandLog()
"""The log of this process."""


def file_of(directory: str) -> str:
    """Return the log file of the current user: several may share a repository."""
    return os.path.join(directory, f"commands-{os.getuid()}.log")


def read(directory: str) -> list[Entry]:
    """Return the commands of this user, oldest first; unreadable lines are skipped."""
    found: list[Entry] = []
    path = file_of(directory)
    for name in (f"{path}.old", path):
        try:
            with open_regular(name) as file:
                lines = file.read().decode("utf-8", "replace").splitlines()
        except OSError:
            continue
        found += [entry for line in lines if (entry := _parse(line)) is not None]
    return found


def _append(path: str, line: str) -> None:
    if os.path.exists(path) and os.path.getsize(path) > LARGEST:
        os.replace(path, f"{path}.old")
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    handle = os.open(path, flags, 0o600)
    try:
        os.write(handle, line.encode() + b"\n")
    finally:
        os.close(handle)


def _parse(line: str) -> Entry | None:
    try:
        fields = json.loads(line)
        return Entry(
            int(fields["time"]),
            float(fields["seconds"]),
            str(fields["command"]),
            int(fields["status"]),
            str(fields["user"]),
        )
    except (ValueError, KeyError, TypeError, OverflowError):
        return None
