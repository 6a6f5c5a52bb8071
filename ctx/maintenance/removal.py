"""Removing an index with everything that belongs to it."""

from __future__ import annotations

import os
import shutil
import tempfile
from typing import TYPE_CHECKING

from ctx.errors import StoreUnusable
from ctx.indexing.lock import IndexLock
from ctx.values import Removal

if TYPE_CHECKING:
    from ctx.engine import RepositoryIndex

_WAITS = 1.0
"""Seconds that a removal waits for a process that indexes."""


def remove(index: RepositoryIndex) -> Removal:
    """Remove all snapshots and derived data. Raises `StoreUnusable`, also while somebody indexes."""
    removed = len(list(index.snapshots.trees()))
    if os.path.islink(index.store.path):
        # What it leads to may be anything, and is the user's.
        _remove_tree(index.store.path)
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
                if name != "lock":
                    _remove_tree(os.path.join(index.store.path, name))
            shutil.rmtree(index.store.path, ignore_errors=True)
    elif os.path.lexists(index.store.path):
        _remove_tree(index.store.path)
    remain = os.path.exists(os.path.join(index.store.path, "snapshots"))
    return Removal(index.repository_id, removed, remain)


def _move_aside(path: str, store: str) -> None:
    """Put a directory among what is temporary; it stays where it is if that cannot be."""
    try:
        os.rename(path, os.path.join(tempfile.mkdtemp(dir=os.path.join(store, "tmp")), "removed"))
    except OSError:
        pass


def _remove_tree(path: str) -> None:
    try:
        if os.path.isdir(path) and not os.path.islink(path):
            shutil.rmtree(path)
        else:
            os.unlink(path)
    except FileNotFoundError:
        pass
    except OSError as error:
        raise StoreUnusable(f"{path} cannot be removed ({error.strerror}): mend its permissions") from error
