"""A hash table from 64-bit hashes to small numbers, read in bulk (open addressing, linear probing)."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Hashes = npt.NDArray[np.uint64]


class HashTable:
    """A numbering of distinct hashes in order of insertion."""

    def __init__(self, bits: int = 16) -> None:
        self.count = 0
        self._make(bits)

    def _make(self, bits: int) -> None:
        self._bits = bits
        self._hashes = np.zeros(1 << bits, dtype=np.uint64)
        self._numbers = np.full(1 << bits, -1, dtype=np.int32)

    def look_up(self, hashes: Hashes) -> npt.NDArray[np.int32]:
        """Return the number of each hash (n,) int32, -1 for those never added."""
        slots = self._slots(hashes)
        found = self._numbers[slots]
        # If the slot holds another hash, try the next one; few are left after each round.
        left = np.flatnonzero((found >= 0) & (self._hashes[slots] != hashes))
        while len(left):
            slots[left] = self._next(slots[left])
            found[left] = self._numbers[slots[left]]
            left = left[(found[left] >= 0) & (self._hashes[slots[left]] != hashes[left])]
        return found

    def add(self, hashes: Hashes) -> None:
        """Assign numbers to distinct hashes that are not in the table, continuing from `count`."""
        while (self.count + len(hashes)) * 3 > len(self._hashes):
            used = self._numbers >= 0
            known, numbers = self._hashes[used], self._numbers[used]
            self._make(self._bits + 2)
            self._place(known, numbers)
        self._place(hashes, np.arange(self.count, self.count + len(hashes), dtype=np.int32))
        self.count += len(hashes)

    def _place(self, hashes: Hashes, numbers: npt.NDArray[np.int32]) -> None:
        slots = self._slots(hashes)
        left = np.arange(len(hashes))
        while len(left):
            candidates = left[self._numbers[slots[left]] < 0]
            # If several hashes need one free slot, the first gets it.
            _, first = np.unique(slots[candidates], return_index=True)
            winners = candidates[first]
            self._numbers[slots[winners]] = numbers[winners]
            self._hashes[slots[winners]] = hashes[winners]
            left = np.setdiff1d(left, winners, assume_unique=True)
            slots[left] = self._next(slots[left])

    def _next(self, slots: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        return (slots + 1) & ((1 << self._bits) - 1)

    def _slots(self, hashes: Hashes) -> npt.NDArray[np.int64]:
        mixed = (hashes ^ (hashes >> np.uint64(32))) * np.uint64(0x94D049BB133111EB)
        return (mixed >> np.uint64(64 - self._bits)).astype(np.int64)
