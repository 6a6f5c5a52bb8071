"""Removing an index with everything that belongs to it."""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
import time
from typing import TYPE_CHECKING

from ctx.errors import StoreUnusable
from ctx.indexing.lock import IndexLock
from ctx.types import Removal

if TYPE_CHECKING:
    from ctx.search.open_index import OpenIndex

_WAITS = 1.0
"""Seconds that a removal waits for a process that indexes."""

_KEPT = "agents"
"""What set-up of agents wrote in their files: no index, and needed to restore them."""

_ATTEMPTS, _PAUSE = 100, 0.01
"""How often a directory that others still write in is removed, and the seconds between."""


def remove(index: OpenIndex) -> Removal:
    """Remove all snapshots and derived data. Raises `StoreUnusable`, also while somebody indexes."""
    removed = len(list(index.snapshots.trees()))
    if os.path.islink(index.store.path):
        # What it leads to may be anything, and is the user's.
        remove_tree(index.store.path)
    elif os.path.isdir(index.store.path):
        lock = IndexLock(index.store)
        if not lock.acquire(_WAITS):
            raise StoreUnusable(
                "another process is indexing this repository: wait until it has ended, or end it, "
                "then run the command again"
            )
        with lock:
            # Another process may have removed it while this one waited.
            names = os.listdir(index.store.path) if os.path.isdir(index.store.path) else []
            for name in ("snapshots", "views"):
                # First and at once: a removal that is killed leaves nothing that names what is gone.
                _move_aside(os.path.join(index.store.path, name), index.store.path)
            for name in names:
                if name not in ("lock", _KEPT):
                    remove_tree(os.path.join(index.store.path, name))
            if _KEPT in names:
                remove_tree(os.path.join(index.store.path, "lock"))
            else:
                shutil.rmtree(index.store.path, ignore_errors=True)
    elif os.path.lexists(index.store.path):
        remove_tree(index.store.path)
    remain = os.path.exists(os.path.join(index.store.path, "snapshots"))
    return Removal(index.repository_id, removed, remain)


def _move_aside(path: str, store: str) -> None:
    """Put a directory among what is temporary; it stays where it is if that cannot be."""
    try:
        os.rename(path, os.path.join(tempfile.mkdtemp(dir=os.path.join(store, "tmp")), "removed"))
    except OSError:
        pass


def remove_tree(path: str) -> None:
    """Remove a file or a directory that others may still write in. Raises `StoreUnusable`."""
    for attempt in range(_ATTEMPTS):
        try:
            if os.path.isdir(path) and not os.path.islink(path):
                shutil.rmtree(path)
            elif os.path.lexists(path):
                os.unlink(path)
            return
        except OSError as error:
            # A search beside this one may put a file into a directory as it goes, or take one away.
            crowded = error.errno in (errno.ENOENT, errno.ENOTEMPTY, errno.EEXIST)
            if not crowded or attempt == _ATTEMPTS - 1:
                raise StoreUnusable(
                    f"{path} cannot be removed ({error.strerror}): mend its permissions"
                ) from error
            time.sleep(_PAUSE)
