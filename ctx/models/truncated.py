"""Hashes of texts that were truncated because they were too long for a remote model."""

from __future__ import annotations

import os
from collections.abc import Collection
from contextlib import suppress

import numpy as np

from ctx.errors import Damaged, StoreUnusable
from ctx.models.file_names import CUT
from ctx.storage.arrays import decode, encode, expect
from ctx.storage.clusters import HASH_BYTES
from ctx.storage.regular_files import open_regular
from ctx.storage.store import Store

REASON = "cut"
"""Key of the count of such texts in the `skipped` totals of a remote model's nodes."""


class CutTexts:
    """The truncated texts of one descriptor."""

    def __init__(self, store: Store, folder: str) -> None:
        self._store = store
        self._path = os.path.join(folder, CUT)

    def read(self) -> set[bytes]:
        """Return their hashes."""
        try:
            with open_regular(self._path) as file:
                arrays, _ = decode(file.read())
            expect(arrays, {"text": ("|u1", (HASH_BYTES,))})
        except (OSError, Damaged):
            return set()
        return {row.tobytes() for row in arrays["text"]}

    def add(self, hashes: Collection[bytes]) -> None:
        """Add hashes; do nothing if the store is not writable."""
        known = self.read()
        if known.issuperset(hashes):
            return
        every = sorted(known.union(hashes))
        arrays = {"text": np.frombuffer(b"".join(every), dtype=np.uint8).reshape(-1, HASH_BYTES)}
        with suppress(StoreUnusable):
            self._store.write_file(self._path, encode(arrays, {"format": 1}))
