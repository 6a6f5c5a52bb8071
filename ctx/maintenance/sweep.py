"""The sweep phase of garbage collection, safe while other processes read and write the store.

A file is moved to `tmp/` and then checked again: a process that looks for it after the move rebuilds it; a
process that used it just before has made it young (`Store.touch`), and it is moved back. So no process keeps
a reference to a deleted file.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress

from ctx.maintenance.inventory import AREAS, Kind, StoreFile
from ctx.maintenance.mark import reach
from ctx.storage.snapshots import Snapshots
from ctx.storage.store import Store, unusable


def sweep(store: Store, files: Iterable[StoreFile]) -> list[StoreFile]:
    """Remove files, in the order of `Garbage`, unless they were used since; return the removed ones.

    Raises `StoreUnusable` if files cannot be removed.
    """
    gone: list[StoreFile] = []
    spared: set[tuple[str, str, str]] = set()
    for file in files:
        if file.reference in spared:
            continue
        if _remove_unused(store, file):
            gone.append(file)
        elif file.kind == Kind.NODE:
            # Another process uses it and everything below it.
            nodes, clusters, _ = reach(Snapshots(store, file.group), [bytes.fromhex(file.name)])
            spared.update((Kind.NODE, file.group, key.hex()) for key in nodes)
            spared.update((Kind.CLUSTER, file.group, key.hex()) for key in clusters)
    remove_empty_directories(store)
    return gone


def remove_empty_directories(store: Store) -> None:
    """Remove empty directories of the areas."""
    for area in AREAS:
        top = os.path.join(store.path, area)
        for folder, _, _ in os.walk(top, topdown=False):
            # A log is opened for appending right after its directory is created.
            if folder != os.path.join(store.path, "tmp") and os.path.basename(folder) != "log":
                with suppress(OSError):
                    os.rmdir(folder)


def _remove_unused(store: Store, file: StoreFile) -> bool:
    """Remove a file unless it was used since it was listed; return True if it is gone."""
    aside = os.path.join(store.path, "tmp", f"gc-{os.getpid()}")
    try:
        if os.lstat(file.path).st_mtime > file.mtime:
            return False
        os.rename(file.path, aside)
        if os.lstat(aside).st_mtime > file.mtime:
            os.rename(aside, file.path)
            return False
        os.unlink(aside)
    except FileNotFoundError:
        # Removed by another process, perhaps from tmp/.
        return not os.path.lexists(file.path)
    except OSError as error:
        raise unusable(store.path, error) from error
    return True
