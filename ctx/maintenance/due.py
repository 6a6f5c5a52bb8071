"""When a collection is due that nobody asked for. Every background run asks, so little is loaded here."""

from __future__ import annotations

import json
import os
import time
from typing import TYPE_CHECKING

from ctx.errors import Damaged, Decoding, StoreUnusable

if TYPE_CHECKING:
    from ctx.maintenance.gc import Report
    from ctx.search.open_index import OpenIndex

_SECONDS = 86_400.0
_SNAPSHOTS = 100
"""Nothing is due before a day has passed or so many snapshots were made."""
_STAMP = "collected"


def collect_if_due(index: OpenIndex) -> Report | None:
    """A collection for the end of background runs: seldom, and not where the index is in use or read-only."""
    if not _is_due(index):
        return None
    from ctx.maintenance.gc import collect

    try:
        return collect(index, wait=0.0)
    except StoreUnusable:
        return None


def stamp(index: OpenIndex) -> None:
    """Note that a collection has just ended. Raises `StoreUnusable`."""
    snapshots = sum(1 for _ in index.snapshots.trees())
    text = json.dumps({"time": int(time.time()), "snapshots": snapshots})
    index.store.write_file(os.path.join(index.store.path, _STAMP), text.encode("ascii") + b"\n")


def _is_due(index: OpenIndex) -> bool:
    if not os.path.isdir(index.store.path):
        return False
    try:
        with Decoding("a stamp"), open(os.path.join(index.store.path, _STAMP), encoding="ascii") as file:
            found = json.load(file)
            age = time.time() - float(found["time"])
            snapshots = int(found["snapshots"])
    except (OSError, Damaged):
        return True
    if not 0 <= age < _SECONDS:
        return True
    return sum(1 for _ in index.snapshots.trees()) > snapshots + _SNAPSHOTS
