"""The logistic function."""

from __future__ import annotations

from math import exp

_ENOUGH = 60.0
"""Beyond this the value is 0 or 1 as far as anybody can see, and far beyond it has no number."""


def logistic(value: float) -> float:
    """What a sum of evidence makes of itself in 0..1."""
    return 1.0 / (1.0 + exp(-max(-_ENOUGH, min(_ENOUGH, value))))
