"""Postings: which rows of a segment a term stands in, and how often.

The rows of a term are written as gaps from the last one, three bits of frequency below each, seven bits
a byte, the lowest first, the top bit set on all but the last byte (LEB128).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

ROW_BITS = 16
COUNT_BITS = 8
MAX_ROWS = 1 << ROW_BITS

_MAX_COUNT = (1 << COUNT_BITS) - 1
_FREQUENCIES = np.array([1, 2, 3, 4, 6, 10, 16, 32], dtype=np.int64)
"""What the three bits stand for; a count is written as the nearest one below or equal."""
_CODES = (np.searchsorted(_FREQUENCIES, np.arange(_MAX_COUNT + 1), side="right") - 1).clip(0).astype(np.uint64)


class Postings(NamedTuple):
    """All postings of a segment. Terms are in the order of their 40-bit hashes.

    `high` (t,) uint32 and `low` (t,) uint8 are the upper and lower bits of the hashes, `ends` (t,) uint32 the
    ends of the terms' bytes in `data` (b,) uint8.
    """

    high: npt.NDArray[np.uint32]
    low: npt.NDArray[np.uint8]
    ends: npt.NDArray[np.uint32]
    data: npt.NDArray[np.uint8]

    def find(self, term: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """The rows of a term, ascending, and its frequency in each; both empty for an unknown term."""
        wanted = np.uint32(term >> 8)
        place = int(np.searchsorted(self.high, wanted))
        while place < len(self.high) and self.high[place] == wanted:
            if self.low[place] == term & 0xFF:
                start = int(self.ends[place - 1]) if place else 0
                return decode(self.data[start : int(self.ends[place])])
            place += 1
        return _NONE, _NONE


_NONE = np.zeros(0, dtype=np.int64)


def pack(terms: npt.NDArray[np.int64], rows: npt.NDArray[np.int64], counts: npt.NDArray[np.int64]) -> npt.NDArray[np.uint64]:
    """One uint64 for each posting, which sorts by term, then row: 40 bits of term, 16 of row, 8 of count."""
    key = terms.astype(np.uint64) << np.uint64(ROW_BITS + COUNT_BITS)
    key |= rows.astype(np.uint64) << np.uint64(COUNT_BITS)
    key |= np.minimum(counts, _MAX_COUNT).astype(np.uint64)
    return key


def united(packed: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """Sorted packed values with the counts of equal (term, row) pairs summed, so that each stands once."""
    place = packed >> np.uint64(COUNT_BITS)
    first = np.flatnonzero(np.diff(place, prepend=~place[:1]))
    if len(first) == len(packed):
        return packed
    counts = np.add.reduceat(packed & np.uint64(_MAX_COUNT), first)
    return (place[first] << np.uint64(COUNT_BITS)) | np.minimum(counts, np.uint64(_MAX_COUNT))


def encode(packed: npt.NDArray[np.uint64]) -> Postings:
    """Postings from sorted packed values, each (term, row) once."""
    terms = packed >> np.uint64(ROW_BITS + COUNT_BITS)
    rows = (packed >> np.uint64(COUNT_BITS)) & np.uint64(MAX_ROWS - 1)
    codes = _CODES[(packed & np.uint64(_MAX_COUNT)).astype(np.intp)]
    first = np.flatnonzero(np.diff(terms, prepend=~terms[:1]))
    gaps = np.diff(rows, prepend=np.uint64(0))
    gaps[first] = rows[first]
    data, lengths = _leb128((gaps << np.uint64(3)) | codes)
    ends = np.cumsum(lengths)[np.append(first[1:], len(packed)) - 1] if len(packed) else lengths
    distinct = terms[first]
    return Postings(
        (distinct >> np.uint64(8)).astype(np.uint32),
        (distinct & np.uint64(0xFF)).astype(np.uint8),
        ends.astype(np.uint32),
        data,
    )


def decode(data: npt.NDArray[np.uint8]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Rows and frequencies of one term's bytes."""
    last = np.flatnonzero(data < 0x80)
    if len(last) == len(data):
        values = data.astype(np.int64)
    else:
        starts = np.empty_like(last)
        starts[:1] = 0
        starts[1:] = last[:-1] + 1
        place = np.arange(int(last[-1]) + 1 if len(last) else 0)
        place -= np.repeat(starts, last - starts + 1)
        shifted = (data[: len(place)] & 0x7F).astype(np.int64) << (7 * place)
        values = np.add.reduceat(shifted, starts) if len(starts) else _NONE
    return np.cumsum(values >> 3), _FREQUENCIES[values & 7]


def decode_all(postings: Postings) -> npt.NDArray[np.uint64]:
    """The packed values of a whole segment, sorted; the counts are those that the codes stand for."""
    data = postings.data
    last = np.flatnonzero(data < 0x80)
    starts = np.empty_like(last)
    starts[:1] = 0
    starts[1:] = last[:-1] + 1
    place = np.arange(len(data)) - np.repeat(starts, last - starts + 1)
    values = np.add.reduceat((data & 0x7F).astype(np.int64) << (7 * place), starts) if len(starts) else _NONE
    per_term = np.diff(np.searchsorted(last, postings.ends, side="left"), prepend=0)
    first = np.cumsum(per_term) - per_term
    rows = np.cumsum(values >> 3)
    rows -= np.repeat(rows[first] - (values[first] >> 3), per_term)
    terms = np.repeat((postings.high.astype(np.int64) << 8) | postings.low, per_term)
    return pack(terms, rows, _FREQUENCIES[values & 7])


def _leb128(values: npt.NDArray[np.uint64]) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64]]:
    lengths = 1 + (values >= 1 << 7).astype(np.int64) + (values >= 1 << 14) + (values >= 1 << 21)
    ends = np.cumsum(lengths)
    data = np.empty(int(ends[-1]) if len(ends) else 0, dtype=np.uint8)
    starts = ends - lengths
    for place in range(4):
        has = np.flatnonzero(lengths > place)
        more = (lengths[has] > place + 1).astype(np.uint64) << np.uint64(7)
        data[starts[has] + place] = ((values[has] >> np.uint64(7 * place)) & np.uint64(0x7F)) | more
    return data, lengths
