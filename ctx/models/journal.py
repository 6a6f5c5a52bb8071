"""Journal of received vectors whose clusters are not complete, so that a killed run does not lose them.

Two files are used in turn, which bounds their size: old vectors are in clusters by then. A record is the hash
of a text, its vector and a checksum; the file is truncated at the first damaged record. Only the process that
holds the lock of `ctx.indexing.vectors.indexing.alone` changes them.
"""

from __future__ import annotations

import os
import threading
import zlib
from collections.abc import Sequence
from contextlib import suppress

import numpy as np
import numpy.typing as npt

from ctx.errors import StoreUnusable
from ctx.models.file_names import ARRIVED
from ctx.storage.clusters import HASH_BYTES
from ctx.storage.regular_files import open_regular
from ctx.storage.store import Store

_TURN = 8 << 20
"""Bytes after which the other file is started."""
_SUM = 4


class Journal:
    """Journal of one descriptor; `add` may be called by several threads."""

    def __init__(self, store: Store, folder: str, vector_bytes: int) -> None:
        self._store = store
        self._paths = [os.path.join(folder, f"{ARRIVED}{number}") for number in (0, 1)]
        self._width = vector_bytes
        self._turn = 0
        self._lock = threading.Lock()

    def read(self, *, repair: bool) -> dict[bytes, bytes]:
        """Return the vectors by the hashes of their texts; `repair` truncates at the first damaged record."""
        found: dict[bytes, bytes] = {}
        size = HASH_BYTES + self._width
        for path in self._paths:
            try:
                with open_regular(path) as file:
                    data = file.read()
            except OSError:
                continue
            whole = 0
            for at in range(0, len(data) - size - _SUM + 1, size + _SUM):
                record = data[at : at + size]
                if zlib.crc32(record) != int.from_bytes(data[at + size : at + size + _SUM], "little"):
                    break
                found[record[:HASH_BYTES]] = record[HASH_BYTES:]
                whole = at + size + _SUM
            if repair and whole < len(data):
                with suppress(OSError):
                    os.truncate(path, whole)
        return found

    def add(self, hashes: Sequence[bytes], vectors: npt.NDArray[np.uint8]) -> None:
        """Append vectors (n, vector bytes); do nothing if the store is not writable."""
        records = []
        for hashed, vector in zip(hashes, vectors, strict=True):
            record = hashed + vector.tobytes()
            records.append(record + zlib.crc32(record).to_bytes(_SUM, "little"))
        with self._lock, suppress(OSError):
            path = self._paths[self._turn]
            if os.path.exists(path) and os.path.getsize(path) > _TURN:
                self._turn = 1 - self._turn
                path = self._paths[self._turn]
                with suppress(FileNotFoundError):
                    os.unlink(path)
            if not os.path.exists(path):
                with suppress(StoreUnusable):
                    self._store.write_file(path, b"")
            handle = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC | os.O_NONBLOCK)
            try:
                os.write(handle, b"".join(records))
            finally:
                os.close(handle)

    def clear(self) -> None:
        """Remove the journal; all vectors are in clusters."""
        for path in self._paths:
            with suppress(OSError):
                os.unlink(path)
