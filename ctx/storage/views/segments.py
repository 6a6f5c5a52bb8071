"""Segments: immutable arrays over the chunks of documents.

A document is a blob parsed as one language; its chunks are consecutive rows. A segment has no paths and no
tree; a view masks the documents that its tree does not contain.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from itertools import accumulate, chain
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ctx.errors import Damaged, Decoding
from ctx.storage.arrays import ANY, Arrays, are_ends, expect
from ctx.storage.records import KIND
from ctx.storage.views import postings
from ctx.storage.views.postings import Postings
from ctx.types import KINDS

FORMAT = 1
TARGET_ROWS = 32_000
"""Target number of rows per segment; the limit is `postings.MAX_ROWS`."""

_ID_BYTES = (20, 32)
_ARRAYS = {
    "document_id": ("|u1", (ANY,)),
    "document_language": ("|u1", ()),
    "document_end": ("<u4", ()),
    "document_order": ("<u4", ()),
    "row_bits": ("|u1", (ANY,)),
    "row_length": ("<u2", ()),
    "row_kind": ("|u1", ()),
    "term_bucket": ("<u4", ()),
    "term_rest": ("|u1", (ANY,)),
    "term_length": ("|u1", ()),
    "term_long_length": ("<u4", ()),
    "postings": ("|u1", ()),
}

Key = tuple[bytes, str]
Records = Callable[[bytes, Key], bytes]
"""Return the encoded record of a document of a cluster. Raises `Damaged`."""
"""Key of a document: object id and language, "" if the text is chunked by lines."""


class SegmentPart(NamedTuple):
    """Documents to be added to a segment; all arrays are in row order.

    `bits` is (rows, vector bytes) uint8, `lengths` (rows,) in tokens, `kinds` (rows,) uint8 as in records,
    `packed` (postings,) uint64, unsorted, see `postings.pack`.
    """

    documents: list[Key]
    rows: list[int]
    bits: npt.NDArray[np.uint8]
    lengths: npt.NDArray[np.int64]
    kinds: npt.NDArray[np.uint8]
    packed: npt.NDArray[np.uint64]


def build(parts: Sequence[SegmentPart]) -> tuple[Arrays, dict[str, Any]]:
    """Return the arrays and metadata of a segment; the parts have at most MAX_ROWS rows in all."""
    languages: dict[str, int] = {}
    documents = list(chain.from_iterable(part.documents for part in parts))
    numbers = [languages.setdefault(language, len(languages)) for _, language in documents]
    ends = list(accumulate(chain.from_iterable(part.rows for part in parts)))
    starts = np.cumsum([0] + [len(part.lengths) for part in parts])
    packed = np.concatenate(
        [
            part.packed + np.uint64(int(start) << postings.COUNT_BITS)
            for part, start in zip(parts, starts, strict=False)
        ]
    )
    packed.sort()
    width = len(documents[0][0])
    ids = np.frombuffer(b"".join(oid for oid, _ in documents), dtype=np.uint8).reshape(-1, width)
    arrays: Arrays = {
        "document_id": ids,
        "document_language": np.array(numbers, dtype=np.uint8),
        "document_end": np.array(ends, dtype="<u4"),
        "document_order": np.argsort(_sortable(ids), kind="stable").astype("<u4"),
        "row_bits": np.concatenate([part.bits for part in parts]),
        "row_length": np.minimum(np.concatenate([part.lengths for part in parts]), 0xFFFF).astype("<u2"),
        "row_kind": np.concatenate([part.kinds for part in parts]),
        **postings.encode(postings.merge_counts(packed)),
    }
    return arrays, {"format": FORMAT, "languages": list(languages)}


class Segment:
    """A searchable segment over arrays in memory or mapped from a file."""

    @Decoding("a segment")
    def __init__(self, arrays: Arrays, meta: dict[str, Any]) -> None:
        expect(arrays, _ARRAYS)
        self.languages: list[str] = meta["languages"]
        self.document_end = arrays["document_end"]
        self.document_language: npt.NDArray[np.uint8] = arrays["document_language"]
        self.bits: npt.NDArray[np.uint8] = arrays["row_bits"]
        self.lengths: npt.NDArray[np.uint16] = arrays["row_length"]
        self.kinds: npt.NDArray[np.uint8] = arrays["row_kind"]
        self.postings = Postings(arrays, len(self.lengths))
        self._ids = arrays["document_id"]
        self._order = arrays["document_order"]
        if not isinstance(self.languages, list) or not all(isinstance(name, str) for name in self.languages):
            raise Damaged("the languages of a segment are not a list of strings")
        self.documents = len(self.document_end)
        self.rows = len(self.lengths)
        if (
            meta.get("format") != FORMAT
            or not self.documents
            or not are_ends(self.document_end, self.rows)
            or not len(self._ids) == len(self._order) == len(self.document_language) == self.documents
            or int(self._order.max()) >= self.documents
            or int(self.document_language.max()) >= len(self.languages)
            or self._ids.shape[1] not in _ID_BYTES
            or self.bits.shape[1] % 8
            or not len(self.bits) == len(self.kinds) == self.rows <= postings.MAX_ROWS
            or int((self.kinds & np.uint8(KIND)).max(initial=0)) >= len(KINDS)
        ):
            raise Damaged("the arrays of a segment are inconsistent")

    @cached_property
    def document_start(self) -> npt.NDArray[np.int64]:
        """First row of each document, (documents,)."""
        return np.concatenate([[0], self.document_end[:-1]]).astype(np.int64)

    @cached_property
    def document_of(self) -> npt.NDArray[np.int32]:
        """Document of each row, (rows,)."""
        return np.repeat(np.arange(self.documents, dtype=np.int32), np.diff(self.document_end, prepend=0))

    @property
    def blob_prefix(self) -> npt.NDArray[np.void]:
        """First eight bytes of each document's object id as a number, (documents,)."""
        return _sortable(self._ids)

    @cached_property
    def words(self) -> npt.NDArray[np.uint64]:
        """Vectors as machine words, (rows, vector bytes / 8) uint64."""
        return np.ascontiguousarray(self.bits).view("<u8")

    def key(self, document: int) -> Key:
        """Return the key of a document."""
        return self._ids[document].tobytes(), self.languages[int(self.document_language[document])]

    def find(self, keys: Sequence[Key]) -> npt.NDArray[np.int64]:
        """Return the document of each key, (n,), -1 if the segment does not contain it."""
        found = np.full(len(keys), -1, dtype=np.int64)
        width = self._ids.shape[1]
        if not keys or len(keys[0][0]) != width:
            return found
        wanted = np.frombuffer(b"".join(oid for oid, _ in keys), dtype=np.uint8).reshape(-1, width)
        numbers = {language: number for number, language in enumerate(self.languages)}
        language = np.array([numbers.get(language, -1) for _, language in keys], dtype=np.int64)
        prefix = _sortable(wanted)
        place = np.searchsorted(self._sorted, prefix)
        left = np.flatnonzero((language >= 0) & (place < self.documents))
        # Equal blobs with different languages are adjacent.
        while len(left):
            left = left[self._sorted[place[left]] == prefix[left]]
            document = self._order[place[left]].astype(np.int64)
            same = (self._ids[document] == wanted[left]).all(axis=1)
            same &= self.document_language[document] == language[left]
            found[left[same]] = document[same]
            left = left[~same]
            place[left] += 1
            left = left[place[left] < self.documents]
        return found

    @cached_property
    def _sorted(self) -> npt.NDArray[np.void]:
        return _sortable(self._ids[self._order])

    def part(self, wanted: Iterable[int]) -> SegmentPart:
        """Return some documents as a part of another segment."""
        documents = sorted(set(wanted))
        starts = self.document_start[documents]
        counts = self.document_end[documents].astype(np.int64) - starts
        first = np.cumsum(counts) - counts
        rows = np.arange(int(counts.sum())) + np.repeat(starts - first, counts)
        renumbered = np.full(self.rows, -1, dtype=np.int64)
        renumbered[rows] = np.arange(len(rows))
        packed = postings.decode_all(self.postings)
        row = renumbered[
            (packed >> np.uint64(postings.COUNT_BITS)).astype(np.int64) & (postings.MAX_ROWS - 1)
        ]
        packed, row = packed[row >= 0], row[row >= 0]
        bits = postings.ROW_BITS + postings.COUNT_BITS
        terms = (packed >> np.uint64(bits)).astype(np.int64)
        return SegmentPart(
            [self.key(document) for document in documents],
            counts.tolist(),
            self.bits[rows],
            self.lengths[rows].astype(np.int64),
            self.kinds[rows],
            postings.pack(terms, row, (packed & np.uint64(0xFF)).astype(np.int64)),
        )


def _sortable(ids: npt.NDArray[np.uint8]) -> npt.NDArray[np.void]:
    # Eight bytes of an object id are enough to sort; `find` compares the whole ids.
    sortable: npt.NDArray[Any] = np.ascontiguousarray(ids[:, :8]).view(">u8").reshape(-1)
    return sortable
