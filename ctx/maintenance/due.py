"""Automatic garbage collection. Every background run checks whether it is due, so imports are few."""

from __future__ import annotations

import json
import os
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from ctx.errors import Damaged, Decoding, StoreUnusable
from ctx.storage.regular_files import read_regular

if TYPE_CHECKING:
    from ctx.maintenance.gc import Report
    from ctx.search.session import SearchSession

_SECONDS = 86_400.0
_SNAPSHOTS = 100
"""A collection is due after a day, or after more than this many new snapshots."""
_STAMP = "collected"


def collect_if_due(session: SearchSession) -> Report | None:
    """Collect at the end of a background run if due; skipped if the index is in use or read-only."""
    if not _is_due(session):
        return None
    from ctx.maintenance.gc import collect

    try:
        return collect(session, wait=0.0)
    except StoreUnusable:
        return None


def stamp(session: SearchSession) -> None:
    """Record the time of a finished collection. Raises `StoreUnusable`."""
    snapshots = sum(1 for _ in session.snapshots.trees())
    text = json.dumps({"time": int(time.time()), "snapshots": snapshots})
    session.store.write_file(os.path.join(session.store.path, _STAMP), text.encode("ascii") + b"\n")


def _is_due(session: SearchSession) -> bool:
    if not os.path.isdir(session.store.path):
        return False
    with suppress(Damaged), Decoding("a stamp"):
        found = json.loads(read_regular(os.path.join(session.store.path, _STAMP)) or b"")
        if 0 <= time.time() - float(found["time"]) < _SECONDS:
            return sum(1 for _ in session.snapshots.trees()) > int(found["snapshots"]) + _SNAPSHOTS
    return True
