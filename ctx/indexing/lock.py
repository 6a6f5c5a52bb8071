"""One process indexes a repository at a time, and takes over the wishes of the others.

The lock only avoids double work: readers never take it, and everything that is written is written
atomically under a name that says what it is. `flock` dies with its holder, so no lock is ever stale.
"""

from __future__ import annotations

import fcntl
import os
import re
import time
from collections.abc import Callable
from functools import wraps
from types import TracebackType
from typing import Concatenate, ParamSpec, Protocol, TypeVar

from ctx.errors import StoreUnusable
from ctx.storage.store import Store, unusable

_Parameters = ParamSpec("_Parameters")
_Result = TypeVar("_Result")

_TREE = re.compile("(?:[0-9a-f]{2})+")


class IndexLock:
    """The lock of a store and the trees that somebody wishes to have covered."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._wishes = os.path.join(store.path, "wishes")
        self._handle: int | None = None
        self._stuck: set[bytes] = set()

    def acquire(self, wait: float = 0.0) -> bool:
        """Try to become the one that indexes, for `wait` seconds. Raises `StoreUnusable`."""
        handle = self._open()
        end = time.monotonic() + wait
        while True:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() >= end:
                    os.close(handle)
                    return False
                time.sleep(0.02)
            else:
                self._handle = handle
                self._sign(f"{os.getpid()}\n")
                return True

    def _open(self) -> int:
        path = os.path.join(self._store.path, "lock")
        for may_vanish in (True, False):
            self._store.prepare()
            try:
                return self._store.permissions.open(path, os.O_RDWR)
            except OSError as error:
                # Another process may remove the index just after its directory has been made.
                if not (may_vanish and isinstance(error, FileNotFoundError)):
                    raise unusable(self._store.path, error) from error
        raise AssertionError("the second round returns or raises")

    def release(self) -> None:
        """Let the next one in."""
        if self._handle is not None:
            self._sign("")
            os.close(self._handle)
            self._handle = None

    def __enter__(self) -> IndexLock:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()

    def holder(self) -> int | None:
        """The process that holds the lock, as far as it said so; for messages only."""
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
            pass  # a full disk: it is for messages only

    def wish(self, tree: bytes) -> None:
        """Ask the process that holds the lock to cover a tree before it ends."""
        self._store.write_file(os.path.join(self._wishes, tree.hex()), b"")

    def wishes(self) -> list[bytes]:
        """The trees that were wished for, but for wishes that were granted and could not be removed."""
        try:
            names = sorted(os.listdir(self._wishes))
        except OSError:
            return []
        trees = [bytes.fromhex(name) for name in names if _TREE.fullmatch(name)]
        return [tree for tree in trees if tree not in self._stuck]

    def granted(self, tree: bytes) -> None:
        """Forget a wish."""
        try:
            os.unlink(os.path.join(self._wishes, tree.hex()))
        except FileNotFoundError:
            pass
        except OSError:  # a directory lies there, or nothing may be removed
            self._stuck.add(tree)


class _Maker(Protocol):
    _store: Store


_Self = TypeVar("_Self", bound=_Maker)


def at_work(
    method: Callable[Concatenate[_Self, _Parameters], _Result],
) -> Callable[Concatenate[_Self, _Parameters], _Result]:
    """A method that makes something of what is stored, which collections are told while it runs.

    A search may do so without the lock. What it has found or written is not yet named by anything.
    """

    @wraps(method)
    def telling(self: _Self, /, *arguments: _Parameters.args, **named: _Parameters.kwargs) -> _Result:
        handle = -1
        try:
            self._store.prepare()
            handle = _open(self._store)
            fcntl.flock(handle, fcntl.LOCK_SH)
        except (OSError, StoreUnusable):
            pass  # where nothing may be written nothing is collected either
        try:
            return method(self, *arguments, **named)
        finally:
            if handle >= 0:
                os.close(handle)

    return telling


def nobody_is_at_work(store: Store, wait: float) -> bool:
    """Whether there is a moment within `wait` seconds at which no process makes anything. Raises OSError."""
    handle = _open(store)
    end = time.monotonic() + wait
    try:
        while True:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return True
            except BlockingIOError:
                if time.monotonic() >= end:
                    return False
                time.sleep(0.02)
    finally:
        os.close(handle)


def _open(store: Store) -> int:
    path = os.path.join(store.path, "at-work")
    return store.permissions.open(path, os.O_RDWR)
