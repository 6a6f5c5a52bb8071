"""Shared words of a cluster: the terms of each chunk with their counts (docs/format.md).

They are a function of the cluster and of the version of the words layer, so they can be recounted from the
blobs. Words from a remote are checked to fit their cluster; only recounting shows that they are right.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import msgpack
import numpy as np
import numpy.typing as npt

from ctx.errors import Damaged, Decoding
from ctx.storage.clusters import StoredCluster
from ctx.storage.records import summarize
from ctx.storage.views import postings
from ctx.storage.views.postings import COUNT_BITS, MAX_ROWS
from ctx.storage.views.segments import Segment, SegmentPart
from ctx.text.runs import HASH_BITS

if TYPE_CHECKING:
    from ctx.search.session import SearchSession

_TERM_BYTES = -(-HASH_BITS // 8)
_LONGEST = 0xFFFF
"""Maximum token count of a chunk, as in a segment."""
_OPEN = 4
"""Number of segments whose postings are kept sorted by row: about 15 MB each."""


def encode_words(group: str, parts: Sequence[SegmentPart]) -> bytes | None:
    """Return the payload of the words of a cluster; `parts` are its documents in order.

    None if there are no chunks, or more than a segment may have.
    """
    lengths = np.concatenate([part.lengths for part in parts] or [np.zeros(0, np.int64)])
    if not 0 < len(lengths) <= MAX_ROWS:
        return None
    starts = np.cumsum([0] + [len(part.lengths) for part in parts])
    packed = np.concatenate(
        [
            part.packed + np.uint64(int(start) << COUNT_BITS)
            for part, start in zip(parts, starts, strict=False)
        ]
    )
    packed.sort()
    return _payload(group, np.minimum(lengths, _LONGEST), postings.to_lists(postings.merge_counts(packed)))


def _payload(group: str, lengths: npt.NDArray[np.int64], lists: postings.Lists) -> bytes:
    gaps = np.diff(lists.terms, prepend=0).astype("<u8").view(np.uint8).reshape(-1, 8)
    payload: bytes = msgpack.packb(
        (
            group,
            lengths.astype("<u2").tobytes(),
            # Transposed into byte planes: high bytes are alike, low ones are noise.
            np.ascontiguousarray(gaps[:, :_TERM_BYTES].T).tobytes(),
            postings.encode_leb128(lists.counts)[0].tobytes(),
            postings.encode_leb128(lists.values)[0].tobytes(),
        )
    )
    return payload


@Decoding("the words of a cluster")
def decode_words(payload: bytes, group: str, stored: StoredCluster, vector_bytes: int) -> SegmentPart:
    """Return the documents of a cluster with the words of a remote payload, as a part of a segment.

    Raises `Damaged` unless it is of this group, has the chunks of this cluster, and is in canonical form.
    """
    kinds = [summarize(document.record).kinds for document in stored.documents.values()]
    rows = sum(map(len, kinds))
    name, lengths, gaps, counts, values = msgpack.unpackb(payload)
    if name != group or not all(isinstance(one, bytes) for one in (lengths, gaps, counts, values)):
        raise Damaged("its words are of another version")
    if not 0 < rows <= MAX_ROWS or len(lengths) != 2 * rows or len(gaps) % _TERM_BYTES:
        raise Damaged("its words do not match its chunks")
    length = np.frombuffer(lengths, dtype="<u2").astype(np.int64)
    lists = postings.Lists(_terms(gaps), postings.decode_leb128(counts), postings.decode_leb128(values))
    packed = _packed(lists, rows)
    # The encoding is canonical: equal words are equal bytes.
    if _payload(group, length, postings.to_lists(packed)) != payload:
        raise Damaged("its words are not in canonical form")
    vectors = b"".join(document.vectors for document in stored.documents.values())
    return SegmentPart(
        list(stored.documents),
        list(map(len, kinds)),
        np.frombuffer(vectors, dtype=np.uint8).reshape(rows, vector_bytes),
        length,
        np.frombuffer(b"".join(kinds), dtype=np.uint8),
        packed,
    )


def _terms(gaps: bytes) -> npt.NDArray[np.int64]:
    planes = np.frombuffer(gaps, dtype=np.uint8).reshape(_TERM_BYTES, -1)
    wide = np.zeros((planes.shape[1], 8), dtype=np.uint8)
    wide[:, :_TERM_BYTES] = planes.T
    return np.cumsum(wide.view("<i8").reshape(-1))


def _packed(lists: postings.Lists, rows: int) -> npt.NDArray[np.uint64]:
    """Return the sorted postings. Raises `Damaged` for terms or rows out of range."""
    if len(lists.counts) != len(lists.terms) or (
        (len(lists.counts) and not (int(lists.counts.min()) > 0 and int(lists.counts.max()) <= rows))
        or int(lists.counts.sum()) != len(lists.values)
        or int(lists.terms.max(initial=0)) >> HASH_BITS
        or not 0 <= int(lists.values.min(initial=0)) <= int(lists.values.max(initial=0)) < rows << 2
    ):
        raise Damaged("its words name unknown terms or chunks")
    packed = postings.from_lists(lists)
    found = (packed >> np.uint64(COUNT_BITS)).astype(np.int64) & (MAX_ROWS - 1)
    if len(packed) and (int(found.max()) >= rows or not bool((packed[:-1] < packed[1:]).all())):
        raise Damaged("its words name unknown terms or chunks")
    return packed


class Words:
    """The words of stored clusters, from segments or recounted from blobs."""

    def __init__(self, session: SearchSession, segments: Iterable[Segment]) -> None:
        self._session = session
        self.group = session.catalog.group
        self._segments = list(segments)
        self._by_row: dict[int, tuple[npt.NDArray[np.uint64], npt.NDArray[np.int64]]] = {}

    def known(self, key: bytes) -> bytes | None:
        """Return the payload from the segments, else from the blobs; None if there are no words.

        Raises `Damaged` and `BlobsMissing`.
        """
        found = self.own(key)
        return self.recounted(key) if found is None else found

    def own(self, key: bytes) -> bytes | None:
        """Return the payload from the segments; None if they lack a document or are damaged.

        Raises `Damaged` if the cluster cannot be read.
        """
        keys = list(self._session.clusters.stored(key).documents)
        places: list[tuple[int, int] | None] = [None] * len(keys)
        for number, segment in enumerate(self._segments):
            for place, document in enumerate(segment.find(keys).tolist()):
                if document >= 0 and places[place] is None:
                    places[place] = (number, document)
        found = [place for place in places if place is not None]
        if len(found) < len(keys):
            return None
        try:
            return encode_words(self.group, [self._part(*place) for place in found])
        except Damaged:
            return None

    def recounted(self, key: bytes) -> bytes | None:
        """Return the payload counted from the blobs; None if there are no words.

        Raises `BlobsMissing` if a blob is not in this clone, and `Damaged`.
        """
        documents = self._session.clusters.stored(key).documents
        if not documents:
            return None
        builder = self._session.indexer.builder
        sources = builder.rechunked(documents)
        return encode_words(
            self.group, [builder.part([source], documents) for source in sources if source.chunks]
        )

    def _part(self, number: int, document: int) -> SegmentPart:
        segment = self._segments[number]
        if number not in self._by_row:
            if len(self._by_row) >= _OPEN:
                del self._by_row[next(iter(self._by_row))]
            packed = postings.decode_all(segment.postings)
            row = (packed >> np.uint64(COUNT_BITS)).astype(np.int64) & (MAX_ROWS - 1)
            order = np.argsort(row, kind="stable")
            bounds = np.searchsorted(row[order], np.arange(segment.rows + 1))
            self._by_row[number] = packed[order], bounds
        packed, bounds = self._by_row[number]
        start, end = int(segment.document_start[document]), int(segment.document_end[document])
        return SegmentPart(
            [segment.key(document)],
            [end - start],
            segment.bits[start:end],
            segment.lengths[start:end].astype(np.int64),
            segment.kinds[start:end],
            packed[int(bounds[start]) : int(bounds[end])] - np.uint64(start << COUNT_BITS),
        )
