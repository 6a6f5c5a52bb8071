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
from ctx.ranking.groups import ranges
from ctx.storage.arrays import Bools, Ints, highest
from ctx.storage.views.vectors import VectorRange

_BITS_MORE = 4
"""Factor for the number of candidates chosen by bits alone, which is approximate."""

Vectors = npt.NDArray[np.uint8]


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
        files = np.flatnonzero(corpus.file_document >= 0)
        documents = corpus.file_document[files]
        counts = corpus.document_rows[documents]
        # The file and the row of each chunk, in the order of the clusters, and the end of each cluster.
        file_of, (row_of, _) = files.repeat(counts), ranges(corpus.document_start[documents], counts)
        ends = np.append(0, counts.cumsum())[np.searchsorted(files, corpus.view.cluster_end)].tolist()
        if len(where) != len(ends):
            raise Damaged("there are vectors of other clusters than those of this tree")
        by_array: dict[int, list[tuple[VectorRange, int]]] = {}
        for vectors, start, end in zip(where, [0, *ends], ends, strict=False):
            if vectors is None:
                continue
            if vectors.end - vectors.start != end - start:
                raise Damaged("the vectors do not fit the chunks of this tree")
            if end > start:
                by_array.setdefault(id(vectors.rows), []).append((vectors, start))
        self._parts = []
        for own in by_array.values():
            chosen = np.concatenate([np.arange(vectors.start, vectors.end) for vectors, _ in own])
            placed = np.concatenate([np.arange(at, at + vectors.end - vectors.start) for vectors, at in own])
            rows = own[0][0].rows
            whole = len(chosen) == len(rows) and bool((np.diff(chosen) == 1).all())
            self._parts.append(_Part(rows, None if whole else chosen, file_of[placed], row_of[placed]))

    def find(
        self, query: npt.NDArray[np.float32], allowed: Bools | None, count: int, only: Bools | None = None
    ) -> list[VectorMatch]:
        """Return the chunks nearest to a query (dimensions,), best first, among some files and rows.

        A blob at several paths is represented by the nearest path.
        """
        parts = [_restricted(part, allowed, only) for part in self._parts]
        if not parts:
            return []
        rough = np.concatenate([roughly(_rows(part), query, self._precision) for part in parts])
        chosen = highest(rough, _BITS_MORE * count if self._precision == BIT else count)
        best: dict[int, VectorMatch] = {}
        start = 0
        for part in parts:
            end = start + len(part.row)
            here = chosen[(chosen >= start) & (chosen < end)] - start
            start = end
            rows = part.rows[here if part.chosen is None else part.chosen[here]]
            similar = similarities(rows, query, self._precision).tolist()
            for one in map(VectorMatch, part.row[here].tolist(), part.file[here].tolist(), similar):
                best[one.row] = min(best.get(one.row, one), one, key=self._order)
        return sorted(best.values(), key=self._order)[:count]

    def _order(self, match: VectorMatch) -> tuple[float, bytes, int]:
        return -match.similarity, self._view.path(match.file), match.row


def _restricted(part: _Part, allowed: Bools | None, only: Bools | None) -> _Part:
    """Return the vectors restricted to some files and rows of the corpus."""
    if allowed is None and only is None:
        return part
    left = np.ones(len(part.row), dtype=bool) if allowed is None else allowed[part.file]
    left = left if only is None else left & only[part.row]
    chosen = np.flatnonzero(left) if part.chosen is None else part.chosen[left]
    return _Part(part.rows, chosen, part.file[left], part.row[left])


def _rows(part: _Part) -> Vectors:
    return part.rows if part.chosen is None else part.rows[part.chosen]
