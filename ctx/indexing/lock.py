"""Locks of indexing. One process indexes a repository at a time and serves the requests of the others.

The lock only avoids double work: readers never take it, and all writes are atomic and content-addressed.
`flock` ends with its holder, so no lock is ever stale.
"""

from __future__ import annotations

import fcntl
import os
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager

from ctx.errors import StoreUnusable
from ctx.storage.regular_files import discard_file
from ctx.storage.store import Store, unusable

_TREE = re.compile("(?:[0-9a-f]{2})+")
_AT_WORK = "at-work"
_PAUSE = 0.02
"""Seconds between attempts to take a lock."""
_SILENCE = 20.0
"""Seconds without a `touch` after which waiting for the holder of a tree lock ends."""


class IndexLock:
    """The lock of a store, and the queue of trees that other processes request."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._requests = os.path.join(store.path, "wishes")
        self._handle: int | None = None
        self._stuck: set[bytes] = set()

    def acquire(self, wait: float = 0.0) -> bool:
        """Try to take the lock for `wait` seconds; return True if it was taken. Raises `StoreUnusable`."""
        handle = open_lock(self._store, "lock")
        try:
            if lock_file(handle, fcntl.LOCK_EX, wait):
                self._handle = handle
        finally:
            if self._handle != handle:
                os.close(handle)
        if self._handle is None:
            return False
        self._sign(f"{os.getpid()}\n")
        return True

    def release(self) -> None:
        """Release the lock."""
        if self._handle is not None:
            self._sign("")
            os.close(self._handle)
            self._handle = None

    def __enter__(self) -> IndexLock:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()

    def holder(self) -> int | None:
        """Return the recorded id of the process that holds the lock, or None; for messages only."""
        try:
            with open(os.path.join(self._store.path, "lock"), encoding="ascii") as file:
                return int(file.read(32))
        except (OSError, ValueError):
            return None

    def _sign(self, text: str) -> None:
        assert self._handle is not None, "only the holder signs"
        try:
            os.ftruncate(self._handle, 0)
            os.pwrite(self._handle, text.encode("ascii"), 0)
        except OSError:
            pass  # the disk is full; the text is for messages only

    def request(self, tree: bytes) -> None:
        """Request that the holder of the lock covers a tree before it ends."""
        self._store.write_file(os.path.join(self._requests, tree.hex()), b"")

    def requests(self) -> list[bytes]:
        """Return the requested trees, without served requests that could not be removed."""
        try:
            names = sorted(os.listdir(self._requests))
        except OSError:
            return []
        trees = [bytes.fromhex(name) for name in names if _TREE.fullmatch(name)]
        return [tree for tree in trees if tree not in self._stuck]

    def discard_request(self, tree: bytes) -> None:
        """Remove a request."""
        try:
            os.unlink(os.path.join(self._requests, tree.hex()))
        except FileNotFoundError:
            pass
        except OSError:  # it is a directory, or the store is not writable
            self._stuck.add(tree)


class TreeLock:
    """The lock of one tree, held while a process covers it or prepares its view. Raises `StoreUnusable`.

    Other processes wait, and then find the tree done, or continue from what a dead holder has stored.
    A holder that does not `touch` the lock for some time is not waited for.
    """

    def __init__(self, store: Store, tree: bytes) -> None:
        self._store = store
        self._name = os.path.join("tmp", f"{tree.hex()}.lock")
        self._path = os.path.join(store.path, self._name)
        self._handle = -1

    def __enter__(self) -> TreeLock:
        seen, since = 0, time.monotonic()
        while not self._acquire():
            try:
                touched = os.stat(self._path).st_mtime_ns
            except OSError:
                touched = 0  # just released
            if touched != seen:
                seen, since = touched, time.monotonic()
            elif time.monotonic() - since > _SILENCE:
                break
            time.sleep(_PAUSE)
        return self

    def __exit__(self, *_: object) -> None:
        if self._handle >= 0:
            discard_file(self._path)
            os.close(self._handle)

    def touch(self) -> None:
        """Show waiting processes that the holder is still running."""
        if self._handle >= 0:
            os.utime(self._handle)

    def _acquire(self) -> bool:
        handle = open_lock(self._store, self._name)
        try:
            # The previous holder may have removed the file that was opened.
            if lock_file(handle, fcntl.LOCK_EX) and os.path.samestat(os.fstat(handle), os.stat(self._path)):
                self._handle = handle
                self.touch()
        except OSError:
            pass
        finally:
            if self._handle != handle:
                os.close(handle)
        return self._handle >= 0


@contextmanager
def at_work(store: Store) -> Iterator[None]:
    """Prevent garbage collection while something is built from stored objects.

    A search may build without the index lock, and its objects are not yet referred to by anything.
    """
    handle = -1
    try:
        handle = open_lock(store, _AT_WORK)
        fcntl.flock(handle, fcntl.LOCK_SH)
    except (OSError, StoreUnusable):
        pass  # a store that is not writable is not collected either
    try:
        yield
    finally:
        if handle >= 0:
            os.close(handle)


def nobody_is_at_work(store: Store, wait: float) -> bool:
    """Return True if within `wait` seconds nothing is `at_work`. Raises `StoreUnusable`."""
    handle = open_lock(store, _AT_WORK)
    try:
        return lock_file(handle, fcntl.LOCK_EX, wait)
    finally:
        os.close(handle)


def open_lock(store: Store, name: str) -> int:
    """Open a lock file of a store, created if needed. Raises `StoreUnusable`."""
    for may_vanish in (True, False):
        store.prepare()
        try:
            return store.permissions.open(os.path.join(store.path, name), os.O_RDWR)
        except OSError as error:
            # Another process may remove the index just after its directory was created.
            if not (may_vanish and isinstance(error, FileNotFoundError)):
                raise unusable(store.path, error) from error
    raise AssertionError("the second round returns or raises")


def lock_file(handle: int, kind: int, wait: float = 0.0) -> bool:
    """Try to lock an open file for `wait` seconds; `kind` is fcntl.LOCK_EX or LOCK_SH. Raises OSError."""
    end = time.monotonic() + wait
    while True:
        try:
            fcntl.flock(handle, kind | fcntl.LOCK_NB)
            return True
        except BlockingIOError:
            if time.monotonic() >= end:
                return False
            time.sleep(_PAUSE)
