"""Postings: the rows of a segment that contain a term, and the frequency in each.

The rows of a term are stored as gaps shifted left by two bits, with a frequency code in these bits, in LEB128
(seven bits per byte, lowest first, the top bit set on all but the last byte). Terms are sorted by hash. The
first bits of a hash select its bucket; only the remaining bytes are stored.
"""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ctx.errors import Damaged
from ctx.storage.arrays import Arrays, are_ends
from ctx.text.runs import HASH_BITS

ROW_BITS = 16
COUNT_BITS = 8
MAX_ROWS = 1 << ROW_BITS

_MAX_COUNT = (1 << COUNT_BITS) - 1
_CODE_BITS = 2
_FREQUENCIES = np.array([1, 2, 3, 6], dtype=np.int64)
"""Frequency of each code; a count is rounded down to one of these."""
_CODE_MASK = (1 << _CODE_BITS) - 1
_CODES = (np.searchsorted(_FREQUENCIES, np.arange(_MAX_COUNT + 1), side="right") - 1).clip(0).astype(np.int64)

_FEW_BUCKETS, _MANY_BUCKETS = 4, 12
"""Number of hash bits that select the bucket; the remaining bits are whole bytes."""
_MANY_TERMS = 1 << 15
_LONG = 255
_MORE = 0x80
"""Continuation bit of a byte."""
_NONE = np.zeros(0, dtype=np.int64)


class Postings:
    """All postings of a segment, terms sorted by hash.

    `bucket` (2**b + 1,) uint32 is the first term of each bucket. `rest` (terms, bytes) uint8 is the rest of
    each hash, highest byte first. `length` (terms,) uint8 is the number of bytes of each term in `data`
    uint8; 255 refers to the next value of `long_length` uint32. Raises `Damaged` if the arrays are
    inconsistent.
    """

    def __init__(self, arrays: Arrays, rows: int) -> None:
        self._rows_of_segment = rows
        self._bucket: npt.NDArray[np.uint32] = arrays["term_bucket"]
        self._rest: npt.NDArray[np.uint8] = arrays["term_rest"]
        self._length: npt.NDArray[np.uint8] = arrays["term_length"]
        self._long_length: npt.NDArray[np.uint32] = arrays["term_long_length"]
        self.data: npt.NDArray[np.uint8] = arrays["postings"]
        self.terms = len(self._length)
        self._bits = (len(self._bucket) - 1).bit_length() - 1
        if (
            len(self._bucket) != (1 << self._bits) + 1
            or self._rest.shape != (self.terms, (HASH_BITS - self._bits) // 8)
            or not are_ends(self._bucket, self.terms)
        ):
            raise Damaged("the term arrays of a segment are inconsistent")

    @cached_property
    def ends(self) -> npt.NDArray[np.int64]:
        """End of each term in `data`, (terms,). Raises `Damaged` if the lengths do not match the data."""
        lengths = self._length.astype(np.int64)
        long = lengths == _LONG
        if int(long.sum()) != len(self._long_length):
            raise Damaged("the postings of a segment do not match their lengths")
        lengths[long] = self._long_length
        ends = np.cumsum(lengths)
        if int(ends[-1] if len(ends) else 0) != len(self.data) or not bool(
            (lengths > 0).all() and (self.data[ends - 1] < _MORE).all()
        ):
            raise Damaged("the postings of a segment do not match their lengths")
        return ends

    def hashes(self) -> npt.NDArray[np.int64]:
        """Return the hash of each term, (terms,)."""
        width = self._rest.shape[1]
        padded = np.zeros((self.terms, 8), dtype=np.uint8)
        padded[:, 8 - width :] = self._rest
        bucket = np.repeat(np.arange(1 << self._bits, dtype=np.int64), np.diff(self._bucket))
        return (bucket << (HASH_BITS - self._bits)) | padded.view(">i8").reshape(-1).astype(np.int64)

    def check(self, rows: npt.NDArray[np.int64]) -> None:
        """Raise `Damaged` unless all are rows of the segment."""
        if len(rows) and not 0 <= int(rows.min()) <= int(rows.max()) < self._rows_of_segment:
            raise Damaged("the postings of a segment contain an invalid row")

    def find(self, terms: npt.NDArray[np.int64]) -> tuple[npt.NDArray[np.int64], ...]:
        """Return all postings of `terms` (t,), in the order of the terms, then by row.

        The arrays are the index into `terms`, the row and the frequency, each (n,).
        """
        rest = HASH_BITS - self._bits
        bucket = terms >> rest
        first = self._bucket[bucket].astype(np.int64)
        sizes = self._bucket[bucket + 1] - first
        start = np.cumsum(sizes) - sizes
        owner = np.repeat(np.arange(len(terms)), sizes)
        place = np.arange(int(sizes.sum())) + np.repeat(first - start, sizes)
        shifts = np.arange(rest - 8, -1, -8)
        wanted = ((terms[:, None] >> shifts) & 0xFF).astype(np.uint8)
        equal = (self._rest.take(place, axis=0) == wanted.take(owner, axis=0)).all(axis=1).nonzero()[0]
        if not len(equal):
            return _NONE, _NONE, _NONE
        found, place = owner[equal], place[equal]
        ends = self.ends[place]
        starts = np.where(place > 0, self.ends[place - 1], 0)
        data = np.concatenate([self.data[a:b] for a, b in zip(starts.tolist(), ends.tolist(), strict=True)])
        values, last = _values(data)
        until = np.searchsorted(last, np.cumsum(ends - starts))
        per_term = until.copy()
        per_term[1:] -= until[:-1]
        rows = _rows(values, per_term)
        self.check(rows)
        return np.repeat(found, per_term), rows, _FREQUENCIES[values & _CODE_MASK]


def pack(
    terms: npt.NDArray[np.int64], rows: npt.NDArray[np.int64], counts: npt.NDArray[np.int64]
) -> npt.NDArray[np.uint64]:
    """Pack each posting into a uint64 that sorts by term, then row: term, 16 bits of row, 8 of count."""
    key = terms.astype(np.uint64) << np.uint64(ROW_BITS + COUNT_BITS)
    key |= rows.astype(np.uint64) << np.uint64(COUNT_BITS)
    key |= np.minimum(counts, _MAX_COUNT).astype(np.uint64)
    return key


def merge_counts(packed: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """Merge equal (term, row) pairs of sorted packed values by summing their counts."""
    place = packed >> np.uint64(COUNT_BITS)
    first = np.flatnonzero(np.diff(place, prepend=~place[:1]))
    if len(first) == len(packed):
        return packed
    counts = np.add.reduceat(packed & np.uint64(_MAX_COUNT), first)
    return (place[first] << np.uint64(COUNT_BITS)) | np.minimum(counts, np.uint64(_MAX_COUNT))


class Lists(NamedTuple):
    """Postings as columns: terms (t,) ascending, the number of rows of each (t,), and values (n,).

    A value is the gap to the previous row of the same term, times four, plus the frequency code.
    """

    terms: npt.NDArray[np.int64]
    counts: npt.NDArray[np.int64]
    values: npt.NDArray[np.int64]


def to_lists(packed: npt.NDArray[np.uint64]) -> Lists:
    """Return the columns of sorted packed values with unique (term, row) pairs."""
    terms = (packed >> np.uint64(ROW_BITS + COUNT_BITS)).astype(np.int64)
    rows = (packed >> np.uint64(COUNT_BITS)).astype(np.int64) & (MAX_ROWS - 1)
    codes = _CODES[(packed & np.uint64(_MAX_COUNT)).astype(np.intp)]
    first = np.flatnonzero(np.diff(terms, prepend=~terms[:1]))
    gaps = np.diff(rows, prepend=0)
    gaps[first] = rows[first]
    return Lists(terms[first], np.diff(first, append=len(terms)), (gaps << _CODE_BITS) | codes)


def from_lists(columns: Lists) -> npt.NDArray[np.uint64]:
    """Return the sorted packed values of columns, with rounded counts. Each term must have a row."""
    rows = _rows(columns.values, columns.counts)
    times = _FREQUENCIES[columns.values & _CODE_MASK]
    return pack(np.repeat(columns.terms, columns.counts), rows, times)


def encode(packed: npt.NDArray[np.uint64]) -> Arrays:
    """Return the arrays of `Postings` for sorted packed values with unique (term, row) pairs."""
    terms, counts, values = to_lists(packed)
    data, sizes = encode_leb128(values)
    lengths = np.add.reduceat(sizes, np.cumsum(counts) - counts) if len(terms) else sizes
    bits = _MANY_BUCKETS if len(terms) >= _MANY_TERMS else _FEW_BUCKETS
    bounds = np.arange((1 << bits) + 1) << (HASH_BITS - bits)
    octets = terms.astype(">u8").view(np.uint8).reshape(-1, 8)
    return {
        "term_bucket": np.searchsorted(terms, bounds).astype("<u4"),
        "term_rest": octets[:, 8 - (HASH_BITS - bits) // 8 :],
        "term_length": np.minimum(lengths, _LONG).astype(np.uint8),
        "term_long_length": lengths[lengths >= _LONG].astype("<u4"),
        "postings": data,
    }


def decode_all(postings: Postings) -> npt.NDArray[np.uint64]:
    """Return the sorted packed values of a whole segment, with rounded counts."""
    ends = postings.ends
    values, last = _values(postings.data)
    per_term = np.diff(np.searchsorted(last, ends), prepend=0)
    rows = _rows(values, per_term)
    postings.check(rows)
    return pack(np.repeat(postings.hashes(), per_term), rows, _FREQUENCIES[values & _CODE_MASK])


def decode_leb128(data: bytes) -> npt.NDArray[np.int64]:
    """Decode numbers written by `encode_leb128`. Raises `Damaged` if the last one is truncated."""
    octets = np.frombuffer(data, dtype=np.uint8)
    if len(octets) and octets[-1] >= _MORE:
        raise Damaged("a list of numbers is truncated")
    return _values(octets)[0]


def _values(data: npt.NDArray[np.uint8]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return the numbers in LEB128 bytes, and the index of the last byte of each."""
    last = np.flatnonzero(data < _MORE)
    starts = np.empty_like(last)
    starts[:1] = 0
    starts[1:] = last[:-1] + 1
    place = np.arange(len(data)) - np.repeat(starts, last - starts + 1)
    values = np.add.reduceat((data & 0x7F).astype(np.int64) << (7 * place), starts) if len(starts) else _NONE
    return values, last


def _rows(values: npt.NDArray[np.int64], per_term: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Return the rows of several terms from their values; each term has at least one."""
    first = np.cumsum(per_term) - per_term
    rows = np.cumsum(values >> _CODE_BITS)
    rows -= np.repeat(rows[first] - (values[first] >> _CODE_BITS), per_term)
    return rows


def encode_leb128(values: npt.NDArray[np.int64]) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64]]:
    """Encode numbers below 2**28; also return the number of bytes of each."""
    lengths = 1 + (values >= 1 << 7).astype(np.int64) + (values >= 1 << 14) + (values >= 1 << 21)
    ends = np.cumsum(lengths)
    data = np.empty(int(ends[-1]) if len(ends) else 0, dtype=np.uint8)
    starts = ends - lengths
    for place in range(4):
        has = np.flatnonzero(lengths > place)
        more = (lengths[has] > place + 1).astype(np.int64) << 7
        data[starts[has] + place] = ((values[has] >> (7 * place)) & 0x7F) | more
    return data, lengths
