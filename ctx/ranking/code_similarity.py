"""Similarity of two pieces of code: by shared words, by vectors, and by identity.

Words are weighted by their idf in the searched tree and counted by frequency (the weighted Jaccard index,
Ruzicka 1958): 1 for the same words, 0 for none in common. Vector agreement is the share of equal sign bits,
of which half agree by chance.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ctx.chunking.normalise import embedded_text
from ctx.models.static_embedding import sign_bits, static_embedding
from ctx.ranking.corpus import Corpus
from ctx.ranking.signals import idf
from ctx.storage.arrays import Floats, Ints, highest
from ctx.text.query import tokens, words_of
from ctx.text.terms import is_term, term_hash

CANDIDATES = 40
"""Number of candidates by words, and by vectors, whose text is compared."""


class Sample(NamedTuple):
    """A piece of code prepared for comparison: normalised text, frequency of each term, sign bits."""

    text: str
    terms: Mapping[int, int]
    bits: npt.NDArray[np.uint64]


class Similarity(NamedTuple):
    """Similarity of two pieces: `words` and `agreement` in 0..1; `same` if the normalised texts are equal."""

    words: float
    agreement: float
    same: bool

    @property
    def score(self) -> float:
        """Combined score of words and vectors, 0..1."""
        return round(0.5 * self.words + max(0.0, self.agreement - 0.5), 6)


def read_sample(text: str, language: str | None) -> Sample:
    """Read a piece of code as indexed text is read."""
    plain = embedded_text(text, language)
    found: Counter[int] = Counter()
    for token in tokens(plain):
        for word in words_of(token):
            if is_term(word):
                found[term_hash(word)] += 1
    vector = static_embedding().embed_text(plain)
    return Sample(plain, found, sign_bits(vector).view("<u8"))


def rarity(corpus: Corpus, terms: Ints) -> Floats:
    """Return the weight of each term (n,) in a tree: its idf over live rows."""
    found = corpus.find(terms)
    return idf(corpus.live_rows, np.bincount(found.term, minlength=len(terms)))


def candidates(corpus: Corpus, sample: Sample) -> list[int]:
    """Return live rows that may be similar, in ascending order."""
    terms = np.array(sorted(sample.terms), dtype=np.int64)
    rows = np.flatnonzero(corpus.live)
    if not len(rows) or not len(terms):
        return []
    found = corpus.find(terms)
    weights = idf(corpus.live_rows, np.bincount(found.term, minlength=len(terms)))
    shared = np.bincount(found.row, weights[found.term], corpus.rows)[rows]
    # Approximation: each word of the chunk has the mean weight of the sample's words.
    shares = shared / (weights.sum() + weights.mean() * corpus.lengths[rows])
    agreement = -np.bitwise_count(corpus.bits[rows] ^ sample.bits).sum(axis=1, dtype=np.int64)
    chosen: set[int] = set()
    for values in (shares, agreement):
        chosen.update(rows[highest(values, CANDIDATES)].tolist()[: 4 * CANDIDATES])
    return sorted(chosen)


def compare(
    sample: Sample, other: Sample, other_bits: npt.NDArray[np.uint64], weights: Mapping[int, float]
) -> Similarity:
    """Compare a sample and a chunk of the tree; `weights` has the idf of every term of both."""
    shared = total = 0.0
    for term in sample.terms.keys() | other.terms.keys():
        a, b = sample.terms.get(term, 0), other.terms.get(term, 0)
        shared += weights[term] * min(a, b)
        total += weights[term] * max(a, b)
    different = int(np.bitwise_count(sample.bits ^ other_bits).sum())
    agreement = 1.0 - different / (64 * len(sample.bits))
    same = bool(sample.text) and sample.text == other.text
    return Similarity(round(shared / total, 6) if total else 0.0, agreement, same)
