"""The logistic function."""

from __future__ import annotations

from math import exp

_ENOUGH = 60.0
"""Input is clamped to this range: beyond it the value is practically 0 or 1, and exp could overflow."""


def logistic(value: float) -> float:
    """Return the logistic function of a score, in 0..1."""
    return 1.0 / (1.0 + exp(-max(-_ENOUGH, min(_ENOUGH, value))))
