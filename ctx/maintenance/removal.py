"""Removal of a whole index."""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ctx.errors import StoreUnusable
from ctx.indexing.lock import IndexLock

if TYPE_CHECKING:
    from ctx.search.session import SearchSession

_WAITS = 1.0
"""Seconds to wait for a process that is indexing."""

_KEPT = "agents"
"""Directory kept by a removal: it is needed to restore the files that agent set-up changed."""

_ATTEMPTS, _PAUSE = 100, 0.01
"""Number of attempts to remove a directory that others write to, and seconds between them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Removal:
    """Result of `remove-index`."""

    repository_id: str
    removed_snapshots: int
    snapshots_remain: bool


def remove(session: SearchSession) -> Removal:
    """Remove all snapshots and derived data. Raises `StoreUnusable`, also while another process indexes."""
    removed = len(list(session.snapshots.trees()))
    if os.path.islink(session.store.path):
        # Remove only the link: its target is the user's.
        remove_tree(session.store.path)
    elif os.path.isdir(session.store.path):
        lock = IndexLock(session.store)
        if not lock.acquire(_WAITS):
            raise StoreUnusable(
                "another process is indexing this repository: wait until it exits, or stop it, "
                "then run the command again"
            )
        with lock:
            # Another process may have removed it while this one waited.
            names = os.listdir(session.store.path) if os.path.isdir(session.store.path) else []
            for name in ("snapshots", "views"):
                # First and atomically, so that a killed removal leaves no dangling references.
                with suppress(OSError):
                    aside = tempfile.mkdtemp(dir=os.path.join(session.store.path, "tmp"))
                    os.rename(os.path.join(session.store.path, name), os.path.join(aside, "removed"))
            for name in names:
                if name not in ("lock", _KEPT):
                    remove_tree(os.path.join(session.store.path, name))
            if _KEPT in names:
                remove_tree(os.path.join(session.store.path, "lock"))
            else:
                shutil.rmtree(session.store.path, ignore_errors=True)
    elif os.path.lexists(session.store.path):
        remove_tree(session.store.path)
    remain = os.path.exists(os.path.join(session.store.path, "snapshots"))
    return Removal(repository_id=session.repository_id, removed_snapshots=removed, snapshots_remain=remain)


def remove_tree(path: str) -> None:
    """Remove a file or a directory that others may still write to. Raises `StoreUnusable`."""
    for attempt in range(_ATTEMPTS):
        try:
            if os.path.isdir(path) and not os.path.islink(path):
                shutil.rmtree(path)
            elif os.path.lexists(path):
                os.unlink(path)
            return
        except OSError as error:
            # A concurrent search may add or remove files in the directory.
            crowded = error.errno in (errno.ENOENT, errno.ENOTEMPTY, errno.EEXIST)
            if not crowded or attempt == _ATTEMPTS - 1:
                raise StoreUnusable(
                    f"{path} cannot be removed ({error.strerror}): fix its permissions"
                ) from error
            time.sleep(_PAUSE)
