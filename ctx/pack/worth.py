"""Probability that a task is about a chunk, estimated from its place in the ranking.

The weights were fitted by logistic regression to 395 commits of 55 projects (the rows of the parent tree that
a commit changed); none of these projects is used to evaluate packs, see docs/packs.md.
"""

from __future__ import annotations

from math import log, log1p
from typing import NamedTuple

from ctx.models.logistic import logistic

LEAST = 0.002
"""Minimum probability of a chunk to be shown."""

_BIAS = -3.42
_GAP, _FILE_RANK, _ORDINAL = 0.3, -0.58, -0.28
_WORDS, _DISAGREES, _SIZE, _CHUNKS = 2.78, -4.9, 0.2, -0.19
_SETTINGS = -1.36
_BESIDES = -3.0
"""Log-odds for tests and documentation if the task does not ask for them: tests come with their subject."""


class Place(NamedTuple):
    """Features of a row in the ranking.

    `gap` is the margin of its file minus that of the best file, at most 0; `file_rank` and `ordinal` are the
    ranks of its file and of the row in its file, from 0; `words` is its BM25 as a share of the best row's;
    `disagrees` is the agreement of the best vector minus its own (shares of bits); `size` is in bytes;
    `chunks` is the number of chunks of its file; `settings` is True for configuration and data, `beside` for
    what the task does not ask for (a test, documentation, imports).
    """

    gap: float
    file_rank: int
    ordinal: int
    words: float
    disagrees: float
    size: int
    chunks: int
    settings: bool
    beside: bool


def log_odds(place: Place) -> float:
    """Return the log-odds that a task is about a row."""
    return (
        _BIAS
        + _GAP * place.gap
        + _FILE_RANK * log1p(place.file_rank)
        + _ORDINAL * log1p(place.ordinal)
        + _WORDS * place.words
        + _DISAGREES * place.disagrees
        + _SIZE * log(place.size / 3.8 + 5.0)
        + _CHUNKS * log(place.chunks)
        + (_SETTINGS if place.settings else 0.0)
        + (_BESIDES if place.beside else 0.0)
    )


def chance(odds: float) -> float:
    """Return the probability for log-odds."""
    return logistic(odds)
