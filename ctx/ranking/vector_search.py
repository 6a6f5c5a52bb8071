"""Locations of the vectors of a view's chunks, and search for those nearest to a query.

The locations are computed once per view; a query reads only the vectors and the chunks that it finds.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ctx.errors import Damaged
from ctx.models.precision import BIT, roughly, similarities
from ctx.ranking.corpus import Corpus
from ctx.storage.arrays import Bools, Ints, highest
from ctx.storage.views.view import NO_SEGMENT, View

_BITS_MORE = 4
"""Factor for the number of candidates chosen by bits alone, which is approximate."""

Vectors = npt.NDArray[np.uint8]


class VectorRange(NamedTuple):
    """The vectors of one cluster: rows `start` to `end` of an array."""

    rows: Vectors
    start: int
    end: int


class VectorMatch(NamedTuple):
    """A chunk near the query: its row in the corpus, its file, the similarity in -1..1."""

    row: int
    file: int
    similarity: float


class _Part(NamedTuple):
    """An array of vectors: the selected ones (None: all), and the file and corpus row of each."""

    rows: Vectors
    chosen: Ints | None
    file: Ints
    row: Ints


class VectorSearch:
    """The vectors of a view; chunks of clusters without vectors are never found."""

    def __init__(self, corpus: Corpus, where: Sequence[VectorRange | None], precision: str) -> None:
        """Initialize; `where` has the vectors of each cluster of the view.

        Raises `Damaged` if they do not fit it.
        """
        self._view = corpus.view
        self._precision = precision
        file_of, row_of = _places(self._view, corpus)
        starts = _cluster_starts(self._view, corpus)
        ends = np.append(starts[1:], len(file_of))
        if len(where) != len(starts):
            raise Damaged("there are vectors of other clusters than those of this tree")
        together: dict[int, list[tuple[VectorRange, int]]] = {}
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
        self, query: npt.NDArray[np.float32], allowed: Bools | None, count: int, only: Bools | None = None
    ) -> list[VectorMatch]:
        """Return the chunks nearest to a query (dimensions,), best first, among some files and rows.

        A blob at several paths is represented by the nearest path.
        """
        parts = [_open(part, allowed, only) for part in self._parts]
        if not parts:
            return []
        rough = np.concatenate([roughly(_rows(part), query, self._precision) for part in parts])
        chosen = highest(rough, _BITS_MORE * count if self._precision == BIT else count)
        ends = np.cumsum([len(part.row) for part in parts])
        found: list[tuple[Ints, Ints, npt.NDArray[np.float32]]] = []
        for part, end in zip(parts, ends.tolist(), strict=True):
            here = chosen[(chosen >= end - len(part.row)) & (chosen < end)] - (end - len(part.row))
            rows = part.rows[here if part.chosen is None else part.chosen[here]]
            found.append((part.row[here], part.file[here], similarities(rows, query, self._precision)))
        rows_, files, values = (np.concatenate(arrays) for arrays in zip(*found, strict=True))
        best: dict[int, VectorMatch] = {}
        for row, file, value in zip(rows_.tolist(), files.tolist(), values.tolist(), strict=True):
            known = best.get(row)
            one = VectorMatch(row, file, value)
            if known is None or self._order(one) < self._order(known):
                best[row] = one
        return sorted(best.values(), key=lambda one: (-one.similarity, self._view.path(one.file), one.row))[
            :count
        ]

    def _order(self, near: VectorMatch) -> tuple[float, bytes]:
        return -near.similarity, self._view.path(near.file)


def _open(part: _Part, allowed: Bools | None, only: Bools | None) -> _Part:
    """Return the vectors restricted to some files and rows of the corpus."""
    if allowed is None and only is None:
        return part
    left = np.ones(len(part.row), dtype=bool) if allowed is None else allowed[part.file]
    left = left if only is None else left & only[part.row]
    chosen = np.flatnonzero(left) if part.chosen is None else part.chosen[left]
    return _Part(part.rows, chosen, part.file[left], part.row[left])


def _rows(part: _Part) -> Vectors:
    return part.rows if part.chosen is None else part.rows[part.chosen]


def _places(view: View, corpus: Corpus) -> tuple[Ints, Ints]:
    """Return for each chunk of each file of a view, in order, its file and its row in the corpus."""
    files = np.flatnonzero(view.file_segment != NO_SEGMENT)
    documents = corpus.file_document[files]
    counts = corpus.document_rows[documents]
    file_of = np.repeat(files, counts)
    first = np.cumsum(counts) - counts
    chunk = np.arange(int(counts.sum())) - np.repeat(first, counts)
    return file_of, np.repeat(corpus.document_start[documents], counts) + chunk


def _cluster_starts(view: View, corpus: Corpus) -> Ints:
    """Return the index in that order at which each cluster of a view begins."""
    counts = np.zeros(view.files + 1, dtype=np.int64)
    live = np.flatnonzero(view.file_segment != NO_SEGMENT)
    counts[live + 1] = corpus.document_rows[corpus.file_document[live]]
    until = np.cumsum(counts)
    ends = view.cluster_end.astype(np.int64)
    starts: Ints = until[np.concatenate([[0], ends[:-1]])] if len(ends) else until[:0]
    return starts
