"""The time of the last garbage collection. Every background run reads it, so imports are few."""

from __future__ import annotations

import json
import os
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from ctx.errors import Damaged, Decoding
from ctx.storage.regular_files import read_regular

if TYPE_CHECKING:
    from ctx.search.session import SearchSession

_SECONDS = 86_400.0
_SNAPSHOTS = 100
"""A collection is due after a day, or after more than this many new snapshots."""
_STAMP = "collected"


def stamp(session: SearchSession) -> None:
    """Record the time of a finished collection. Raises `StoreUnusable`."""
    snapshots = sum(1 for _ in session.snapshots.trees())
    text = json.dumps({"time": int(time.time()), "snapshots": snapshots})
    session.store.write_file(os.path.join(session.store.path, _STAMP), text.encode("ascii") + b"\n")


def is_due(session: SearchSession) -> bool:
    """Return True if a day has passed since the last collection, or many snapshots were made."""
    if not os.path.isdir(session.store.path):
        return False
    with suppress(Damaged), Decoding("a stamp"):
        found = json.loads(read_regular(os.path.join(session.store.path, _STAMP)) or b"")
        if 0 <= time.time() - float(found["time"]) < _SECONDS:
            return sum(1 for _ in session.snapshots.trees()) > int(found["snapshots"]) + _SNAPSHOTS
    return True
