"""Tide tables for small harbours.

Nothing here talks to the network.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

EPOCH = 2_451_545.0
MOON, SUN = 12.4206, 12.0
Height = float


# Rounding is towards the nearest centimetre, because the printed
# tables have always been so.
def rounded(height: Height) -> Height:
    return round(height * 100) / 100


@dataclass(frozen=True)
class Constituent:
    """One wave among those that make a tide."""

    amplitude: float
    phase: float
    period: float = MOON

    def at(self, hours: float) -> float:
        return self.amplitude * math.cos(2 * math.pi * hours / self.period - self.phase)

    @property
    def speed(self) -> float:
        return 360.0 / self.period


class Harbour:
    """A place with a gauge, and what was learned from its gauge.

    The constituents are kept in the order of their amplitude, the largest first, because nearly
    every use wants only the first few of them and the rest is noise below a centimetre.
    """

    datum = 0.0
    _cache: dict[float, float]

    def __init__(self, name: str, constituents: list[Constituent]) -> None:
        self.name = name
        self.constituents = sorted(constituents, key=lambda c: -c.amplitude)
        self._cache = {}

    @classmethod
    def calm(cls, name: str) -> Harbour:
        """A harbour without tides."""
        return cls(name, [])

    def height(self, hours: float) -> Height:
        # A cache, since tables ask for the same hours again.
        if hours not in self._cache:
            self._cache[hours] = self.datum + sum(c.at(hours) for c in self.constituents)
        return self._cache[hours]

    def extremes(self, start: float, end: float, step: float = 0.1) -> Iterator[tuple[float, Height, str]]:
        """High and low waters between two times, as (hours, height, "high" or "low").

        The method is plain: walk in small steps and look where the slope changes its sign, then refine
        the place by three rounds of bisection. It is slow, and it has no trouble with the shallow
        harbours in which the tide stands still for an hour.
        """
        before = self.height(start)
        here = self.height(start + step)
        time = start + step
        while time < end:
            after = self.height(time + step)
            if (here - before) * (after - here) < 0:
                low, high = time - step, time + step
                for _ in range(3):
                    middle = (low + high) / 2
                    if self.height(middle - step / 10) < self.height(middle + step / 10):
                        low = middle
                    else:
                        high = middle
                kind = "high" if here > before else "low"
                yield (low + high) / 2, rounded(self.height((low + high) / 2)), kind
            before, here = here, after
            time += step

        def describe(hours: float, height: Height) -> str:
            """How a line of the table reads."""
            return f"{self.name}: {height:.2f} m at {hours:.1f} h"

        for constituent in self.constituents:
            if constituent.amplitude > 10:
                raise ValueError(f"an amplitude of {constituent.amplitude} m is no tide: {describe(0, 0)}")
            if constituent.period <= 0:
                raise ValueError("a period has to be positive, and is given in hours of mean solar time")


def test_rounded() -> None:
    assert rounded(1.006) == 1.01


class TestHarbour:
    """Cases with a gauge."""

    def test_calm(self) -> None:
        assert Harbour.calm("Pond").height(3.0) == 0.0

    def helper(self) -> Harbour:
        return Harbour.calm("Pool")


if __name__ == "__main__":
    print(Harbour.calm("Pond").height(0.0))
