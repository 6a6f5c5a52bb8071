"""Where the vectors of a view's chunks are, and which of them lie near a query.

The places are worked out once for a view; a query touches the vectors, and the chunks that it finds.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ctx.embed.precision import BIT, nearest, similarities
from ctx.errors import Damaged
from ctx.rank.corpus import Corpus
from ctx.views.view import NO_SEGMENT, View

_BITS_MORE = 4
"""So many times more candidates are taken where bits alone choose them, since they choose roughly."""

Vectors = npt.NDArray[np.uint8]
Numbers = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]


class Span(NamedTuple):
    """The vectors of one cluster: rows `start` to `end` of some that lie together."""

    rows: Vectors
    start: int
    end: int


class Near(NamedTuple):
    """A chunk that lies near the query: its row in the corpus, its file, the similarity in -1..1."""

    row: int
    file: int
    similarity: float


class _Part(NamedTuple):
    """Vectors that lie together: which of them count (None: all), the file and the corpus row of each."""

    rows: Vectors
    chosen: Numbers | None
    file: Numbers
    row: Numbers


class Nearness:
    """The vectors of a view; of clusters without any, no chunk is ever near."""

    def __init__(self, corpus: Corpus, where: Sequence[Span | None], precision: str) -> None:
        """`where` has the vectors of each cluster of the view. Raises `Damaged` where they do not fit it."""
        self._view = corpus.view
        self._precision = precision
        file_of, row_of = _places(self._view, corpus)
        starts = _cluster_starts(self._view, corpus)
        ends = np.append(starts[1:], len(file_of))
        if len(where) != len(starts):
            raise Damaged("there are vectors of other clusters than those of this tree")
        together: dict[int, list[tuple[Span, int]]] = {}
        for span, start, end in zip(where, starts.tolist(), ends.tolist(), strict=True):
            if span is None:
                continue
            if span.end - span.start != end - start:
                raise Damaged("the vectors do not fit the chunks of this tree")
            if end > start:
                together.setdefault(id(span.rows), []).append((span, start))
        self._parts = []
        for spans in together.values():
            chosen = np.concatenate([np.arange(span.start, span.end) for span, _ in spans])
            placed = np.concatenate([np.arange(at, at + span.end - span.start) for span, at in spans])
            rows = spans[0][0].rows
            whole = len(chosen) == len(rows) and bool((np.diff(chosen) == 1).all())
            self._parts.append(_Part(rows, None if whole else chosen, file_of[placed], row_of[placed]))

    def find(
        self, query: npt.NDArray[np.float32], allowed: Mask | None, count: int, only: Mask | None = None
    ) -> list[Near]:
        """The chunks that lie nearest to a query (dimensions,), best first; among these files, these rows.

        Of a blob at several paths the path that lies nearest stands for it.
        """
        best: dict[int, Near] = {}
        for rows, chosen, file, row in self._parts:
            if allowed is not None or only is not None:
                open_ = np.ones(len(row), dtype=bool) if allowed is None else allowed[file]
                open_ = open_ if only is None else open_ & only[row]
                chosen = np.flatnonzero(open_) if chosen is None else chosen[open_]
                file, row = file[open_], row[open_]
            vectors = rows if chosen is None else rows[chosen]
            most = _BITS_MORE * count if self._precision == BIT else count
            found = nearest(vectors, query, self._precision, most)
            values = similarities(vectors[found], query, self._precision)
            # Only what can be among the best is told apart by its path.
            if len(values) > count:
                kept = values >= np.partition(values, len(values) - count)[len(values) - count]
                found, values = found[kept], values[kept]
            for at, value in zip(found.tolist(), values.tolist(), strict=True):
                one = Near(int(row[at]), int(file[at]), float(value))
                known = best.get(one.row)
                if known is None or self._order(one) < self._order(known):
                    best[one.row] = one
        return sorted(best.values(), key=lambda one: (*self._order(one), one.row))[:count]

    def _order(self, near: Near) -> tuple[float, bytes]:
        return -near.similarity, self._view.path(near.file)


def _places(view: View, corpus: Corpus) -> tuple[Numbers, Numbers]:
    """For each chunk of each file of a view, in order: its file, and its row in the corpus."""
    files = np.flatnonzero(view.file_segment != NO_SEGMENT)
    documents = corpus.file_document[files]
    counts = corpus.document_rows[documents]
    file_of = np.repeat(files, counts)
    first = np.cumsum(counts) - counts
    chunk = np.arange(int(counts.sum())) - np.repeat(first, counts)
    return file_of, np.repeat(corpus.document_start[documents], counts) + chunk


def _cluster_starts(view: View, corpus: Corpus) -> Numbers:
    """Where in that order each cluster of a view begins."""
    counts = np.zeros(view.files + 1, dtype=np.int64)
    live = np.flatnonzero(view.file_segment != NO_SEGMENT)
    counts[live + 1] = corpus.document_rows[corpus.file_document[live]]
    until = np.cumsum(counts)
    ends = view.cluster_end.astype(np.int64)
    starts: Numbers = until[np.concatenate([[0], ends[:-1]])] if len(ends) else until[:0]
    return starts
