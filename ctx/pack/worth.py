"""How likely a place belongs to what a task is about, from where the ranker put it.

The weights were fitted to 395 commits of 55 projects (which rows of the tree before it a commit changed, by
logistic regression); none of these is among the projects that packs are measured on, see docs/packs.md.
"""

from __future__ import annotations

from math import log, log1p
from typing import NamedTuple

from ctx.models.logistic import logistic

LEAST = 0.002
"""Where it is less likely than this, a place adds nothing worth reading."""

_BIAS = -3.42
_GAP, _FILE_RANK, _ORDINAL = 0.3, -0.58, -0.28
_WORDS, _DISAGREES, _SIZE, _CHUNKS = 2.78, -4.9, 0.2, -0.19
_SETTINGS = -1.36
_BESIDES = -3.0
"""What tests and documentation lose where the task does not ask for them: tests come with what they test."""


class Place(NamedTuple):
    """Where a row stands in the ranking.

    `gap` from the best file's margin to its file's, at most 0; the places of its file and of the row in its
    file, from 0; its BM25 as a share of the best row's; how much less its vector agrees than the best one's
    (shares of bits); its `size` in bytes; how many `chunks` its file has; whether it is configuration or
    data, or beside what the task asks for (a test, documentation, imports).
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
    """The logarithm of the odds that a task is about a row."""
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
    """The probability for the logarithm of odds."""
    return logistic(odds)
