"""Taking files out of a store while other processes read it and write into it.

A file is first moved aside and then looked at once more: whoever uses it from that moment on finds that it is
not there and makes it anew; whoever used it just before has made it young (`Store.touch`), and it is moved
back. So nobody is left with something that is gone. What is moved aside lies in `tmp/`, where it is garbage.
"""

from __future__ import annotations

import os

from ctx.maintenance.inventory import CLUSTER, HISTORY, NODE, OBJECTS, PACKS, SNAPSHOTS, TMP, VIEWS, Stored
from ctx.maintenance.mark import Condemned, reach
from ctx.storage.snapshots import Snapshots
from ctx.storage.store import Store, unusable


def sweep(store: Store, condemned: Condemned) -> list[Stored]:
    """Remove what was condemned unless it has been used since; gives what is gone.

    Raises `StoreUnusable` where nothing may be removed.
    """
    gone: list[Stored] = []
    spared: set[tuple[str, str, str]] = set()
    for file in condemned.all():
        if (file.kind, file.group, file.name) in spared:
            continue
        if _take_out(store, file):
            gone.append(file)
        elif file.kind == NODE:
            # Somebody has found it and relies on all that is below it.
            nodes, clusters, _ = reach(Snapshots(store, file.group), [bytes.fromhex(file.name)])
            spared.update((NODE, file.group, key.hex()) for key in nodes)
            spared.update((CLUSTER, file.group, key.hex()) for key in clusters)
    remove_empty_directories(store)
    return gone


def remove_empty_directories(store: Store) -> None:
    """Remove the directories that names are spread over where they are empty."""
    for area in (OBJECTS, SNAPSHOTS, VIEWS, HISTORY, PACKS, TMP):
        top = os.path.join(store.path, area)
        for folder, _, _ in os.walk(top, topdown=False):
            # A log is opened for appending right after its directory was made.
            if folder == os.path.join(store.path, TMP) or os.path.basename(folder) == "log":
                continue
            try:
                os.rmdir(folder)
            except OSError:
                continue


def _take_out(store: Store, file: Stored) -> bool:
    """Remove a file unless it has become younger than it was when it was condemned."""
    aside = os.path.join(store.path, TMP, f"gc-{os.getpid()}")
    try:
        if os.lstat(file.path).st_mtime > file.mtime:
            return False
        os.rename(file.path, aside)
        if os.lstat(aside).st_mtime > file.mtime:
            os.rename(aside, file.path)
            return False
        os.unlink(aside)
    except FileNotFoundError:
        # Gone already, or taken away by somebody who tidies the directory of temporary files.
        return not os.path.lexists(file.path)
    except OSError as error:
        raise unusable(store.path, error) from error
    return True
