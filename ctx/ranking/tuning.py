"""What can be changed about the ranking of one query: evidence left out, other trees, a correction.

Searches use none of it, unless `ctx.fit` asks for the correction by the past of a repository.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from ctx.ranking.corpus import Corpus
from ctx.ranking.gbdt import Trees
from ctx.ranking.query import Query
from ctx.storage.views.view import View

WORDS, NAMES, VECTORS = "words", "names", "vectors"
"""Kinds of evidence that a query can do without."""


class Correct(Protocol):
    """Gives new scores for candidate files, all (n,)."""

    def __call__(
        self,
        view: View,
        query: Query,
        files: npt.NDArray[np.int64],
        scores: npt.NDArray[np.float64],
        /,
    ) -> npt.NDArray[np.float64]: ...


class TextOf(Protocol):
    """Gives the text of a row, None where it cannot be read."""

    def __call__(self, corpus: Corpus, row: int, /) -> str | None: ...


class Tuning(NamedTuple):
    """`trees` of None are those of the package; `name` is what the answer says it was ranked with. Without
    `text_of` nothing is read.
    """

    without: frozenset[str] = frozenset()
    trees: Trees | None = None
    correct: Correct | None = None
    name: str | None = None
    text_of: TextOf | None = None

    @property
    def ranked_with(self) -> tuple[str, ...]:
        """What an answer names of it."""
        return () if self.name is None else (self.name,)

    def read(self, query: Query) -> Query:
        """The query without what it is to do without."""
        if VECTORS in self.without:
            none = np.zeros_like(query.vector)
            query = query._replace(vector=none, bits=np.packbits(none >= 0).view("<u8"))
        if WORDS in self.without:
            # Where no term is left, no word counts, and no name that is made of words.
            query = query._replace(
                terms=[],
                hashes=query.hashes[:0],
                weights=query.weights[:0],
                words=[],
                wholes=[],
                alternatives=[],
                pasted=[],
            )
        if NAMES in self.without:
            query = query._replace(names=[], wholes=[])
        return query


PLAIN = Tuning()
