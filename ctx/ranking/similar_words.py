"""Soft matches: words of a text that mean about the same as a word of the query.

`ctx/models/neighbours-1.bin` has the nearest words of each word of the embedded model (docs/model.md).
"""

from __future__ import annotations

import os
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from ctx.models import static_embedding as embedding
from ctx.models.static_embedding import static_embedding
from ctx.ranking.candidates import weighted
from ctx.ranking.corpus import Corpus
from ctx.ranking.query import Query
from ctx.ranking.signals import Signals, idf
from ctx.storage.arrays import Bools, Floats, Ints, map_file
from ctx.text.terms import DEFINITION, term_hash

_FILE = os.path.join(os.path.dirname(embedding.__file__), "neighbours-1.bin")
_MOST_WORDS = 16
"""Number of words of a query that are matched, the rarest first."""


@lru_cache(maxsize=1)
def _table() -> tuple[npt.NDArray[np.uint16], npt.NDArray[np.uint8]]:
    arrays, _ = map_file(_FILE)
    return arrays["nearest"], arrays["cosine"]


@lru_cache(maxsize=1 << 14)
def similar_terms(word: str) -> tuple[tuple[int, float], ...]:
    """Return the terms of the words that are near a lower-case word, with their cosines."""
    table = static_embedding()
    row = table.row(word)
    if row >= len(table.words):
        return ()
    nearest, cosine = _table()
    return tuple(
        (term_hash(table.words[other]), value / 255)
        for other, value in zip(nearest[row].tolist(), cosine[row].tolist(), strict=True)
        if value
    )


def soft_matches(
    corpus: Corpus, query: Query, signals: Signals, number: Ints, in_text: Bools, in_names: Bools
) -> Floats:
    """Return the idf share of the query's words that each row matches, each by its best match in 0..1.

    The result is (4, rows): words of text or path, the same with common similar words reduced, and both for
    the names defined there. `in_text` and `in_names` (terms, rows) are the exact matches; `number` (rows of
    the corpus,) is the index of a row, below zero for others.
    """
    words = sorted(query.words, key=lambda word: (-signals.word_idf[word], word))[:_MOST_WORDS]
    weight = signals.word_idf[words]
    total = float(weight.sum())
    found = np.zeros((4, in_text.shape[1]))
    if not total:
        return found
    own = set(query.hashes.tolist())
    sought = [
        (term, cosine, place)
        for place, word in enumerate(words)
        for term, cosine in similar_terms(query.terms[word].word)
        if term not in own
    ]
    terms = np.array([term for term, _, _ in sought], dtype=np.int64)
    cosines = np.array([cosine for _, cosine, _ in sought], dtype=np.float64)
    owner = np.array([place for _, _, place in sought], dtype=np.int64)
    for field, (exact, mask) in enumerate(((in_text, 0), (in_names, DEFINITION))):
        matches = corpus.find(terms ^ mask)
        rarity = idf(corpus.live_rows, np.bincount(matches.term, minlength=len(terms)))
        reduced = cosines * np.minimum(1.0, rarity / np.maximum(weight[owner], 1e-9))
        at = number[matches.row]
        inside = (at >= 0).nonzero()[0]
        term, at = matches.term[inside], at[inside]
        for place, values in enumerate((cosines, reduced), 2 * field):
            best = exact[words].astype(np.float64)
            np.maximum.at(best, (owner[term], at), values[term])
            found[place] = weighted(weight, best) / total
    return found
