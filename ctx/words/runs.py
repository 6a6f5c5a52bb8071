"""Finding the tokens of many bytes at once, and giving equal tokens equal numbers.

A run is a longest stretch of letters, digits, underscores and bytes above 127. Runs are told apart by a
polynomial hash of 64 bits taken from prefix sums (Karp and Rabin, 1987), so that no Python object is
made for a token that was seen before.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import numpy.typing as npt

_BASE = 0x9E3779B97F4A7C15 | 1
_BASE_INVERSE = pow(_BASE, -1, 1 << 64)

_IN_RUN = np.zeros(256, dtype=np.int8)
_IN_RUN[128:] = 1
for _first, _last in ("09", "AZ", "az", "__"):
    _IN_RUN[ord(_first) : ord(_last) + 1] = 1


@lru_cache(maxsize=1)
def _powers(size: int) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint64]]:
    def powers(base: int) -> npt.NDArray[np.uint64]:
        steps = np.full(size, base, dtype=np.uint64)
        steps[0] = 1
        return np.cumprod(steps, dtype=np.uint64)

    return powers(_BASE), powers(_BASE_INVERSE)


def find_runs(
    source: bytes,
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.uint64]]:
    """Start offsets, end offsets (half open) and hashes of the runs of a text, each (n,), in order."""
    octets = np.frombuffer(source, dtype=np.uint8)
    edges = np.flatnonzero(np.diff(_IN_RUN[octets], prepend=np.int8(0), append=np.int8(0)))
    starts, ends = edges[0::2], edges[1::2]
    size = 1 << max(16, len(source).bit_length())
    powers, inverse = _powers(size)
    prefix = np.zeros(len(source) + 1, dtype=np.uint64)
    np.cumsum(octets * powers[: len(source)], out=prefix[1:])
    return starts, ends, (prefix[ends] - prefix[starts]) * inverse[starts]


class RunTable:
    """A hash table from run hashes to small numbers, read in bulk (open addressing, linear probing)."""

    def __init__(self, bits: int = 16) -> None:
        self.count = 0
        self._bits = bits
        self._hashes = np.zeros(1 << bits, dtype=np.uint64)
        self._numbers = np.full(1 << bits, -1, dtype=np.int32)

    def look_up(self, hashes: npt.NDArray[np.uint64]) -> npt.NDArray[np.int32]:
        """The number of each hash (n,) int32, -1 for those never added."""
        mask = (1 << self._bits) - 1
        slots = self._slots(hashes)
        found = self._numbers[slots]
        # Where the slot holds another hash, go on to the next one; few are left after each round.
        open_ = np.flatnonzero((found >= 0) & (self._hashes[slots] != hashes))
        while len(open_):
            slots[open_] = (slots[open_] + 1) & mask
            found[open_] = self._numbers[slots[open_]]
            open_ = open_[(found[open_] >= 0) & (self._hashes[slots[open_]] != hashes[open_])]
        return found

    def add(self, hashes: npt.NDArray[np.uint64]) -> npt.NDArray[np.int32]:
        """Number distinct hashes that are not in the table; gives their numbers, counted on from `count`."""
        while (self.count + len(hashes)) * 3 > len(self._hashes):
            self._grow()
        numbers = np.arange(self.count, self.count + len(hashes), dtype=np.int32)
        self._place(hashes, numbers)
        self.count += len(hashes)
        return numbers

    def _slots(self, hashes: npt.NDArray[np.uint64]) -> npt.NDArray[np.int64]:
        # Low bits of a polynomial hash depend on few letters: mix before taking the high ones.
        mixed = (hashes ^ (hashes >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9)
        return (mixed >> np.uint64(64 - self._bits)).astype(np.int64)

    def _place(self, hashes: npt.NDArray[np.uint64], numbers: npt.NDArray[np.int32]) -> None:
        mask = (1 << self._bits) - 1
        slots = self._slots(hashes)
        left = np.arange(len(hashes))
        while len(left):
            free = self._numbers[slots[left]] < 0
            candidates = left[free]
            # Of several that want one free slot the first gets it.
            _, first = np.unique(slots[candidates], return_index=True)
            winners = candidates[first]
            self._numbers[slots[winners]] = numbers[winners]
            self._hashes[slots[winners]] = hashes[winners]
            placed = np.zeros(len(hashes), dtype=bool)
            placed[winners] = True
            left = left[~placed[left]]
            slots[left] = (slots[left] + (self._numbers[slots[left]] >= 0)) & mask

    def _grow(self) -> None:
        used = self._numbers >= 0
        hashes, numbers = self._hashes[used], self._numbers[used]
        self._bits += 2
        self._hashes = np.zeros(1 << self._bits, dtype=np.uint64)
        self._numbers = np.full(1 << self._bits, -1, dtype=np.int32)
        self._place(hashes, numbers)
