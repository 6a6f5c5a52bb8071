"""Numbers of rows brought together by the document that the rows belong to."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ctx.rank.corpus import Corpus

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
        first, count = corpus.document_start[documents], corpus.document_rows[documents]
        start = np.cumsum(count) - count
        rows = np.arange(int(count.sum())) + np.repeat(first - start, count)
        return cls(rows, np.repeat(np.arange(len(documents)), count), start, count)

    def total(self, values: Floats) -> Floats:
        """The sum for each document."""
        total: Floats = np.add.reduceat(values, self.start)
        return total

    def best(self, values: Floats) -> Floats:
        """The largest value of each document."""
        best: Floats = np.maximum.reduceat(values, self.start)
        return best

    def best_three(self, values: Floats) -> Floats:
        """The sum of the three largest values of each document; values are at or above zero."""
        left, total = values.copy(), np.zeros(len(self.start))
        for _ in range(3):
            best = np.maximum(self.best(left), 0.0)
            total += best
            left[self.first_at(left == best[self.owner])] = -1.0
        return total

    def first_at(self, chosen: npt.NDArray[np.bool_]) -> npt.NDArray[np.int64]:
        """The place of the first chosen row of each document that has one, of `chosen` (rows,)."""
        places = np.flatnonzero(chosen)
        owner = self.owner[places]
        is_first = np.ones(len(places), dtype=bool)
        np.not_equal(owner[1:], owner[:-1], out=is_first[1:])
        return places[is_first]
