"""Adjustments of the ranking of one query: evidence left out, other decision trees, a correction.

Searches use the defaults, unless `ctx.fit` enables the correction by history.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ctx.ranking.corpus import Corpus
from ctx.ranking.gbdt import Ensemble
from ctx.ranking.query import Query
from ctx.storage.arrays import Floats, Ints
from ctx.storage.views.view import View

WORDS, NAMES, VECTORS = "words", "names", "vectors"
"""Kinds of evidence that can be left out of a query."""


Correct = Callable[[View, Query, Ints, Floats], Floats]
"""Return new scores for candidate files of a view, given the query, the files and their scores, all (n,)."""

TextOf = Callable[[Corpus, int], str | None]
"""Return the text of a row, None if it cannot be read."""


class Tuning(NamedTuple):
    """Adjustments of the ranking.

    `ensemble` of None is the packaged one; `name` is shown in the answer. Without `text_of` no text is read.
    """

    without: frozenset[str] = frozenset()
    ensemble: Ensemble | None = None
    correct: Correct | None = None
    name: str | None = None
    text_of: TextOf | None = None

    @property
    def ranked_with(self) -> tuple[str, ...]:
        """Name of the correction in an answer, as a tuple of at most one."""
        return () if self.name is None else (self.name,)

    def read(self, query: Query) -> Query:
        """Return the query without the evidence to leave out."""
        if VECTORS in self.without:
            none = np.zeros_like(query.vector)
            query = query._replace(vector=none, bits=np.packbits(none >= 0).view("<u8"))
        if WORDS in self.without:
            # Without terms neither words nor names made of words count.
            query = query._replace(
                terms=[],
                hashes=query.hashes[:0],
                weights=query.weights[:0],
                words=[],
                whole_names=[],
                alternatives=[],
                pasted=[],
            )
        if NAMES in self.without:
            query = query._replace(names=[], whole_names=[])
        return query


PLAIN = Tuning()
