"""The log of the commands of one user, kept only where `ctx.localLogging` is set.

A line of JSON for each command, in at most two files that only the user may read. It says who ran which
command when, for how long, and the exit status: never a query, a path or a text. Nothing of it is sent.
"""

from __future__ import annotations

import json
import os
import time
from typing import NamedTuple

from ctx.storage.regular_files import open_regular

LARGEST = 1 << 16
"""Bytes of a file that is put aside for a new one; the one that was put aside before goes."""


class Entry(NamedTuple):
    """One command. Time in seconds since 1970, when it began."""

    time: int
    seconds: float
    command: str
    status: int
    user: str


class CommandLog:
    """Notes what one process does, and writes it down at its end if a repository asks for that."""

    def __init__(self) -> None:
        self._began, self._clock = time.time(), time.monotonic()
        self._directory: str | None = None
        self._user = self.command = ""

    def wanted(self, directory: str, user: str) -> None:
        """Have the command logged in an index directory: that of the first repository that it opens."""
        if self._directory is None:
            self._directory, self._user = directory, user

    def write(self, status: int) -> None:
        """Append the line, if it is wanted; where nothing may be written there is no log."""
        if self._directory is None or not self.command:
            return
        seconds = round(time.monotonic() - self._clock, 3)
        entry = Entry(int(self._began), seconds, self.command, status, self._user)
        try:
            _append(file_of(self._directory), json.dumps(entry._asdict()))
        except OSError:
            return


current = CommandLog()
"""That of this process."""


def file_of(directory: str) -> str:
    """Return the file of the user who runs this process: a repository may be shared by several."""
    return os.path.join(directory, f"commands-{os.getuid()}.log")


def read(directory: str) -> list[Entry]:
    """Return the commands of this user, oldest first; lines that cannot be read are left out."""
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
