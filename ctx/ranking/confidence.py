"""The confidence that a tree answers a question at all.

A logistic regression learned from questions about projects, each also asked of other projects
(`tests/training/ranking/confidence.py`). It compares the best vector of the candidates with those of the
tree, and knows how rare the words of the question are.
"""

from __future__ import annotations

import numpy as np

from ctx.models.logistic import logistic
from ctx.ranking.ranker import Pool

_MEAN = (0.379, 0.5068, 0.0448, 5.0377, 2.4204, 7.3011)
_WEIGHTS = (12.0683, 23.5565, 35.8649, -0.5265, -0.014, 0.0404)
_BIAS = -0.4532
"""Means and weights of `confidence_features`, as printed by the script."""
_FEWEST_ROWS = 100
_MOST_WORDS = 25
"""Longer questions count as having this many words."""

DOUBTFUL = 0.1576
"""Confidence below which an answer is doubted: that of 3 in 100 questions about their own project."""


def confidence_features(pool: Pool) -> list[float]:
    """Return the six values for a pool with candidates, in the order of the weights."""
    signals, words = pool.signals, pool.query.words
    agreement = signals.row_agreement[pool.corpus.live]
    idf = signals.word_idf[words] if words else np.zeros(1)
    similar, count = pool.candidates.similar.max(initial=0.0), min(len(words), _MOST_WORDS)
    return [float(one) for one in (similar, agreement.mean(), agreement.std(), idf.mean(), idf.min(), count)]


def confidence(pool: Pool) -> float:
    """Return the probability, in 0..1, that a question was meant for this tree and not for another one.

    Both are taken to be equally likely before the tree is seen. A small tree is never doubted: the
    regression has not seen any.
    """
    if not len(pool.scores):
        return 0.0
    values = zip(confidence_features(pool), _MEAN, _WEIGHTS, strict=True)
    found = logistic(_BIAS + sum((value - mean) * weight for value, mean, weight in values))
    return found if pool.corpus.live_rows >= _FEWEST_ROWS else max(0.5, found)
