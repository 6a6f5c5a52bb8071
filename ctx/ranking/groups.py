"""Rows grouped by the document that they belong to."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ctx.ranking.corpus import Corpus
from ctx.storage.arrays import Bools, Floats, Ints, begins


class Groups(NamedTuple):
    """The rows of some documents.

    `rows` and the index `owner` of the document of each; per document, its first index in them `start`, and
    the number `counts`.
    """

    rows: Ints
    owner: Ints
    start: Ints
    counts: Ints

    @classmethod
    def of(cls, corpus: Corpus, documents: Ints) -> Groups:
        """Return the rows of documents, each of which has at least one."""
        counts = corpus.document_rows[documents]
        rows, start = ranges(corpus.document_start[documents], counts)
        return cls(rows, np.arange(len(documents)).repeat(counts), start, counts)

    def among(self, documents: Ints) -> tuple[Groups, Ints]:
        """Return the rows of some of the documents, by index, and the indices of these rows here."""
        counts = self.counts[documents]
        places, start = ranges(self.start[documents], counts)
        owner = np.arange(len(documents)).repeat(counts)
        return Groups(self.rows[places], owner, start, counts), places

    def where(self, chosen: Bools) -> tuple[Groups, Ints]:
        """Return the chosen rows, (rows,), at least one of each document, and their indices here."""
        places = chosen.nonzero()[0]
        owner = self.owner[places]
        counts = np.bincount(owner, minlength=len(self.start))
        return Groups(self.rows[places], owner, counts.cumsum() - counts, counts), places

    def total(self, values: Floats) -> Floats:
        """Return the sum for each document."""
        total: Floats = np.add.reduceat(values, self.start)
        return total

    def best(self, values: Floats) -> Floats:
        """Return the largest value of each document, from (rows,) or (kinds, rows)."""
        best: Floats = np.maximum.reduceat(values, self.start, axis=-1)
        return best

    def best_three(self, values: Floats) -> Floats:
        """Return the sum of the three largest values of each document; values must be at or above zero."""
        best = self.best(values)
        left, total = values.copy(), best.copy()
        for _ in range(2):
            left[self.first_at(left == best.repeat(self.counts))] = -1.0
            best = self.best(left)
            total += np.maximum(best, 0.0)
        return total

    def first_at(self, chosen: Bools) -> Ints:
        """Return the index of the first chosen row, `chosen` (rows,), of each document that has one."""
        places = chosen.nonzero()[0]
        return places[begins(self.owner[places])]


def ranges(first: Ints, counts: Ints) -> tuple[Ints, Ints]:
    """Return the concatenated ranges of `counts` numbers from each of `first`, and where each begins."""
    start = counts.cumsum() - counts
    return np.arange(int(counts.sum())) + (first - start).repeat(counts), start
