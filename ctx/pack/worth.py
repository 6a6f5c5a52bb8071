"""How likely a place belongs to what a task is about, from where the ranker put it.

The weights were fitted to 200 commits of five projects (which rows of the tree before it a commit changed, by
logistic regression); none of these is among the projects that packs are measured on, see docs/packs.md.
"""

from __future__ import annotations

from math import exp, log, log1p
from typing import NamedTuple

LEAST = 0.002
"""Where it is less likely than this, a place adds nothing worth reading."""

FAR = 12.0
"""How much worse than the best row of its file a row is at most, in units of the ranker's sums."""
LOSS_OF_A_ROW = 4.0
"""What the ranker takes off for each further row of a file, see `ctx.rank.ranker`."""
_MOST_HELP = 8.0

_BIAS = -2.72
_GAP, _FILE_RANK, _ORDINAL, _FIT, _SIZE = 0.58, -0.71, -0.69, -0.39, 0.45
_SAME_SYMBOL = 0.16
_BESIDES = -3.0
"""What tests and documentation lose where the task does not ask for them: tests come with what they test."""


class Place(NamedTuple):
    """Where a row stands in the ranking.

    `gap` from the best file's margin to its file's, at most 0; the places of its file and of the row in its
    file, from 0; how much worse it fits than the best row there; its `size` in bytes; how much better another
    piece of the same definition fits; whether it is beside what the task asks for (a test, documentation,
    imports).
    """

    gap: float
    file_rank: int
    ordinal: int
    worse: float
    size: int
    piece_better: float
    beside: bool


def log_odds(place: Place) -> float:
    """The logarithm of the odds that a task is about a row."""
    return (
        _BIAS
        + _GAP * place.gap
        + _FILE_RANK * log1p(place.file_rank)
        + _ORDINAL * log1p(place.ordinal)
        + _FIT * min(FAR, place.worse)
        + _SIZE * log(place.size / 3.8 + 5.0)
        + _SAME_SYMBOL * min(_MOST_HELP, place.piece_better)
        + (_BESIDES if place.beside else 0.0)
    )


def chance(odds: float) -> float:
    """The probability for the logarithm of odds."""
    return 1.0 / (1.0 + exp(-max(-60.0, min(60.0, odds))))
