"""How good a ranking is: NDCG, recall, reciprocal rank, and whether the right place of a file came first.

Places of a tree are compared by path and by lines, so that programs with other chunks can be graded the same
way. Relevance is binary; a target counts at the rank of the first result that shows it.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import log2
from typing import NamedTuple

Lines = tuple[int, int]
"""First and last line, from 1, both inclusive."""


class Shown(NamedTuple):
    """One result: the paths that it stands for, and its first and last line."""

    paths: tuple[bytes, ...]
    first: int
    last: int


class Target(NamedTuple):
    """A place that answers: a file, or of a file the lines that were meant; no lines mean all of it."""

    path: bytes
    lines: tuple[Lines, ...] = ()

    def shown_by(self, result: Shown) -> bool:
        """Whether a result shows this place, or a part of it."""
        if self.path not in result.paths:
            return False
        return not self.lines or any(
            result.first <= last and result.last >= first for first, last in self.lines
        )


Ranks = Sequence["int | None"]
"""For each target the rank of the first result that shows it, from 1; None where none does."""


def ranks(results: Sequence[Shown], targets: Sequence[Target]) -> list[int | None]:
    """Where each target was found."""
    return [
        next((rank for rank, result in enumerate(results, 1) if target.shown_by(result)), None)
        for target in targets
    ]


def ndcg(found: Ranks, cut: int = 10) -> float:
    """Normalised discounted cumulative gain (Järvelin and Kekäläinen, 2002); best is all targets on top."""
    gain = sum(1 / log2(rank + 1) for rank in found if rank is not None and rank <= cut)
    return gain / sum(1 / log2(rank + 1) for rank in range(1, min(cut, len(found)) + 1))


def recall(found: Ranks, cut: int) -> float:
    """The share of targets among the first `cut` results."""
    return sum(rank is not None and rank <= cut for rank in found) / len(found)


def any_within(found: Ranks, cut: int) -> bool:
    """Whether one target at least is among the first `cut` results."""
    return any(rank is not None and rank <= cut for rank in found)


def reciprocal_rank(found: Ranks) -> float:
    """One over the rank of the first target, 0 where there is none."""
    return 1 / min((rank for rank in found if rank is not None), default=float("inf"))


def right_place_first(results: Sequence[Shown], targets: Sequence[Target]) -> float | None:
    """Of the files found, the share whose first result shows lines that were meant; None where none was."""
    right: list[bool] = []
    for path in dict.fromkeys(target.path for target in targets):
        first = next((result for result in results if path in result.paths), None)
        if first is not None:
            right.append(any(target.shown_by(first) for target in targets if target.path == path))
    return sum(right) / len(right) if right else None
