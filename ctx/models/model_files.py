"""Files beside the vectors of a model service; docs/format.md describes them.

The names, or prefixes of names, are used by their writers and by the inventory of the store.
"""

from __future__ import annotations

import os
import threading
import zlib
from collections.abc import Collection, Sequence
from contextlib import suppress

import numpy as np
import numpy.typing as npt

from ctx.errors import Damaged, StoreUnusable
from ctx.storage.arrays import decode, encode, expect
from ctx.storage.clusters import HASH_BYTES
from ctx.storage.regular_files import discard_file, read_regular
from ctx.storage.store import Store

PROBE = "probe-0"
"""Answer of the model to fixed texts."""
MODEL = "model-0"
"""Settings of requests to the model."""
TRUNCATED = "cut-0"
"""Hashes of truncated texts."""
CONFIRMED = "confirmed-"
"""Prefix: the modification time is that of the last successful check of an address."""
JOURNAL = "arrived-"
"""Prefix: journal of vectors whose clusters are not complete."""
TRUNCATED_TEXTS = "cut"
"""Key of the count of truncated texts in the `skipped` totals of nodes."""

_LARGEST = 8 << 20
"""Bytes of a journal file after which the other one is started."""
_CHECKSUM_BYTES = 4


class Journal:
    """Vectors of one descriptor whose clusters are not complete, so that a killed run does not lose them.

    Two files are used in turn, which bounds their size: old vectors are in clusters by then. A record is the
    hash of a text, its vector and a checksum; the file is truncated at the first damaged record. Only the
    process that holds the lock of `ctx.indexing.vectors.indexing.alone` changes them. `add` may be called by
    several threads.
    """

    def __init__(self, store: Store, folder: str, vector_bytes: int) -> None:
        self._store = store
        self._paths = [os.path.join(folder, f"{JOURNAL}{number}") for number in (0, 1)]
        self._width = vector_bytes
        self._current = 0
        self._lock = threading.Lock()

    def read(self, *, repair: bool) -> dict[bytes, bytes]:
        """Return the vectors by the hashes of their texts; `repair` truncates at the first damaged record."""
        found: dict[bytes, bytes] = {}
        size = HASH_BYTES + self._width
        for path in self._paths:
            data = read_regular(path) or b""
            end = 0
            for at in range(0, len(data) - size - _CHECKSUM_BYTES + 1, size + _CHECKSUM_BYTES):
                record, checksum = data[at : at + size], data[at + size : at + size + _CHECKSUM_BYTES]
                if zlib.crc32(record) != int.from_bytes(checksum, "little"):
                    break
                found[record[:HASH_BYTES]] = record[HASH_BYTES:]
                end = at + size + _CHECKSUM_BYTES
            if repair and end < len(data):
                with suppress(OSError):
                    os.truncate(path, end)
        return found

    def add(self, hashes: Sequence[bytes], vectors: npt.NDArray[np.uint8]) -> None:
        """Append vectors (n, vector bytes); do nothing if the store is not writable."""
        records = []
        for hashed, vector in zip(hashes, vectors, strict=True):
            record = hashed + vector.tobytes()
            records.append(record + zlib.crc32(record).to_bytes(_CHECKSUM_BYTES, "little"))
        with self._lock, suppress(OSError):
            path = self._paths[self._current]
            if os.path.exists(path) and os.path.getsize(path) > _LARGEST:
                self._current = 1 - self._current
                path = self._paths[self._current]
                discard_file(path)
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
            discard_file(path)


class TruncatedTexts:
    """Hashes of the texts of one descriptor that were truncated because they were too long for the model."""

    def __init__(self, store: Store, folder: str) -> None:
        self._store = store
        self._path = os.path.join(folder, TRUNCATED)

    def read(self) -> set[bytes]:
        """Return the hashes."""
        with suppress(Damaged):
            arrays, _ = decode(read_regular(self._path) or b"")
            expect(arrays, {"text": ("|u1", (HASH_BYTES,))})
            return {row.tobytes() for row in arrays["text"]}
        return set()

    def add(self, hashes: Collection[bytes]) -> None:
        """Add hashes; do nothing if the store is not writable."""
        known = self.read()
        if known.issuperset(hashes):
            return
        every = sorted(known.union(hashes))
        arrays = {"text": np.frombuffer(b"".join(every), dtype=np.uint8).reshape(-1, HASH_BYTES)}
        with suppress(StoreUnusable):
            self._store.write_file(self._path, encode(arrays, {"format": 1}))
