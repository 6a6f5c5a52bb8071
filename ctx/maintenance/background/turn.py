"""Whose turn it is: one background run at a time, and no event lost between two of them.

An event is first noted in a file, then a run tries to get its turn. Whoever has the turn takes the notes away
before it looks at the work trees, and looks for new notes after it has given the turn back.
"""

from __future__ import annotations

import fcntl
import json
import os
import time

from ctx.git.permissions import UMASK, Permissions
from ctx.maintenance.background.log import Start

_TURN, _EVENTS = "background", "events"
_PATIENCE = 0.2
"""Seconds that a run waits for its turn: as long as `status` may hold the lock to look who has it."""


class Turn:
    """The turn to run in the background for the index in one directory. Raises OSError everywhere."""

    def __init__(self, directory: str, permissions: Permissions = UMASK) -> None:
        self._permissions = permissions
        self._path = os.path.join(directory, _TURN)
        self._events = os.path.join(directory, _EVENTS)
        self._handle = -1

    def note(self) -> None:
        """Say that something has happened."""
        handle = self._permissions.open(self._events, os.O_WRONLY | os.O_APPEND)
        os.write(handle, b".")
        os.close(handle)

    def noted(self) -> bool:
        """Whether something has happened that nobody has looked at."""
        return os.path.exists(self._events)

    def take_notes(self) -> int:
        """How many things have happened; they are looked at from now on."""
        try:
            count = os.path.getsize(self._events)
            os.unlink(self._events)
        except FileNotFoundError:
            return 0
        return count

    def take(self) -> bool:
        """Try to get the turn."""
        handle = self._permissions.open(self._path, os.O_RDWR)
        end = time.monotonic() + _PATIENCE
        while not _lock(handle, fcntl.LOCK_EX):
            if time.monotonic() >= end:
                os.close(handle)
                return False
            time.sleep(_PATIENCE / 10)
        self._handle = handle
        return True

    def begin(self, start: Start) -> Start | None:
        """Describe the run that has the turn; what the one before left if it was ended from outside."""
        left = _start(self._handle)
        os.ftruncate(self._handle, 0)
        os.pwrite(self._handle, json.dumps(start._asdict()).encode(), 0)
        return left

    def end(self) -> None:
        """The run has ended by itself."""
        os.ftruncate(self._handle, 0)

    def give_back(self) -> None:
        """Let the next one have it."""
        os.close(self._handle)
        self._handle = -1


def current(directory: str) -> tuple[Start | None, bool]:
    """The run that is described as going on, and whether it does. Needs no permission to write."""
    try:
        handle = os.open(os.path.join(directory, _TURN), os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None, False
    try:
        alive = not _lock(handle, fcntl.LOCK_SH)
        return _start(handle), alive
    finally:
        os.close(handle)


def _lock(handle: int, kind: int) -> bool:
    try:
        fcntl.flock(handle, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _start(handle: int) -> Start | None:
    try:
        fields = json.loads(os.pread(handle, 4096, 0))
        return Start(int(fields["time"]), int(fields["pid"]), str(fields["trigger"]))
    except (ValueError, KeyError, TypeError, OverflowError):
        return None
