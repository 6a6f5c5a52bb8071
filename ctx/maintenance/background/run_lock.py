"""Lock for background runs: one at a time, without losing events between two of them.

An event is first recorded in a file, then a run tries to get the lock. The holder takes the recorded events
before it reads the work trees, and checks for new events after it has released the lock.
"""

from __future__ import annotations

import fcntl
import json
import os
from contextlib import suppress

from ctx.errors import Damaged, Decoding
from ctx.git.permissions import UMASK, Permissions
from ctx.indexing.lock import lock_file
from ctx.maintenance.background.log import Start

_LOCK, _EVENTS = "background", "events"
_PATIENCE = 0.2
"""Seconds to wait for the lock: `status` may hold it briefly to check for a run."""


class RunLock:
    """Lock and event file of the index in one directory. All methods raise OSError."""

    def __init__(self, directory: str, permissions: Permissions = UMASK) -> None:
        self._permissions = permissions
        self._path = os.path.join(directory, _LOCK)
        self._events = os.path.join(directory, _EVENTS)
        self._handle = -1

    def record_event(self) -> None:
        """Record an event."""
        handle = self._permissions.open(self._events, os.O_WRONLY | os.O_APPEND)
        os.write(handle, b".")
        os.close(handle)

    def has_events(self) -> bool:
        """Return True if there are recorded events."""
        return os.path.exists(self._events)

    def take_events(self) -> int:
        """Remove the recorded events; return their number."""
        try:
            count = os.path.getsize(self._events)
            os.unlink(self._events)
        except FileNotFoundError:
            return 0
        return count

    def acquire(self) -> bool:
        """Try to get the lock; return True if it was acquired."""
        handle = self._permissions.open(self._path, os.O_RDWR)
        try:
            if lock_file(handle, fcntl.LOCK_EX, _PATIENCE):
                self._handle = handle
        finally:
            if self._handle != handle:
                os.close(handle)
        return self._handle >= 0

    def begin(self, start: Start) -> Start | None:
        """Write the description of this run; return that of a previous run that was killed, if any."""
        left = _start(self._handle)
        os.ftruncate(self._handle, 0)
        os.pwrite(self._handle, json.dumps(start._asdict()).encode(), 0)
        return left

    def release(self) -> None:
        """Clear the description, since the run has finished, and release the lock."""
        try:
            os.ftruncate(self._handle, 0)
        finally:
            os.close(self._handle)
            self._handle = -1


def current_run(directory: str) -> tuple[Start | None, bool]:
    """Return the described run, and True if it is still running. Needs no permission to write."""
    try:
        handle = os.open(os.path.join(directory, _LOCK), os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None, False
    try:
        alive = not lock_file(handle, fcntl.LOCK_SH)
        return _start(handle), alive
    finally:
        os.close(handle)


def _start(handle: int) -> Start | None:
    with suppress(Damaged), Decoding("the description of a run"):
        fields = json.loads(os.pread(handle, 4096, 0))
        return Start(int(fields["time"]), int(fields["pid"]), str(fields["trigger"]))
    return None
