"""Numbers of rows brought together by the document that the rows belong to."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ctx.ranking.corpus import Corpus, begins

Floats = npt.NDArray[np.float64]


class Groups(NamedTuple):
    """The rows of some documents: `rows`, for each its document's place `owner`; for each document
    its first place in them `start`, and their number `counts`.
    """

    rows: npt.NDArray[np.int64]
    owner: npt.NDArray[np.int64]
    start: npt.NDArray[np.int64]
    counts: npt.NDArray[np.int64]

    @classmethod
    def of(cls, corpus: Corpus, documents: npt.NDArray[np.int64]) -> Groups:
        """The rows of documents, each of which has some."""
        counts = corpus.document_rows[documents]
        rows, start = _ranges(corpus.document_start[documents], counts)
        return cls(rows, np.arange(len(documents)).repeat(counts), start, counts)

    def among(self, documents: npt.NDArray[np.int64]) -> tuple[Groups, npt.NDArray[np.int64]]:
        """The rows of some of the documents, by their places, and where these rows are here."""
        counts = self.counts[documents]
        places, start = _ranges(self.start[documents], counts)
        owner = np.arange(len(documents)).repeat(counts)
        return Groups(self.rows[places], owner, start, counts), places

    def where(self, chosen: npt.NDArray[np.bool_]) -> tuple[Groups, npt.NDArray[np.int64]]:
        """The chosen rows, (rows,), at least one of each document, and where they are here."""
        places = chosen.nonzero()[0]
        owner = self.owner[places]
        counts = np.bincount(owner, minlength=len(self.start))
        return Groups(self.rows[places], owner, counts.cumsum() - counts, counts), places

    def total(self, values: Floats) -> Floats:
        """The sum for each document."""
        total: Floats = np.add.reduceat(values, self.start)
        return total

    def best(self, values: Floats) -> Floats:
        """The largest value of each document, of (rows,) or (kinds, rows)."""
        best: Floats = np.maximum.reduceat(values, self.start, axis=-1)
        return best

    def best_three(self, values: Floats) -> Floats:
        """The sum of the three largest values of each document; values are at or above zero."""
        best = self.best(values)
        left, total = values.copy(), best.copy()
        for _ in range(2):
            left[self.first_at(left == best.repeat(self.counts))] = -1.0
            best = self.best(left)
            total += np.maximum(best, 0.0)
        return total

    def first_at(self, chosen: npt.NDArray[np.bool_]) -> npt.NDArray[np.int64]:
        """The place of the first chosen row of each document that has one, of `chosen` (rows,)."""
        places = chosen.nonzero()[0]
        return places[begins(self.owner[places])]


def _ranges(
    first: npt.NDArray[np.int64], counts: npt.NDArray[np.int64]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """So many numbers from each first one on, one range after the other, and where each range begins."""
    start = counts.cumsum() - counts
    return np.arange(int(counts.sum())) + (first - start).repeat(counts), start
