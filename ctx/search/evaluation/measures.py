"""Ranking measures: NDCG, recall, reciprocal rank, and the share of files whose first result is relevant.

Results are compared by path and lines, so tools with other chunking can be graded too. Relevance is binary; a
target counts at the rank of the first result that shows it.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import log2
from typing import NamedTuple

Lines = tuple[int, int]
"""First and last line, from 1, both inclusive."""


class Shown(NamedTuple):
    """A result: its paths, and its first and last line."""

    paths: tuple[bytes, ...]
    first: int
    last: int


class Target(NamedTuple):
    """A relevant place: line ranges of a file, or the whole file if there are none."""

    path: bytes
    lines: tuple[Lines, ...] = ()

    def shown_by(self, result: Shown) -> bool:
        """Return True if a result shows at least a part of this place."""
        if self.path not in result.paths:
            return False
        return not self.lines or any(
            result.first <= last and result.last >= first for first, last in self.lines
        )


Ranks = Sequence["int | None"]
"""Rank of the first result that shows each target, from 1, or None."""


def ranks(results: Sequence[Shown], targets: Sequence[Target]) -> list[int | None]:
    """Return the rank of each target, or None if it was not found."""
    return [
        next((rank for rank, result in enumerate(results, 1) if target.shown_by(result)), None)
        for target in targets
    ]


def ndcg(found: Ranks, cut: int = 10) -> float:
    """Return the NDCG (Järvelin and Kekäläinen, 2002) of the first `cut` results."""
    gain = sum(1 / log2(rank + 1) for rank in found if rank is not None and rank <= cut)
    return gain / sum(1 / log2(rank + 1) for rank in range(1, min(cut, len(found)) + 1))


def recall(found: Ranks, cut: int) -> float:
    """Return the share of targets in the first `cut` results."""
    return sum(rank is not None and rank <= cut for rank in found) / len(found)


def any_within(found: Ranks, cut: int) -> bool:
    """Return True if at least one target is in the first `cut` results."""
    return any(rank is not None and rank <= cut for rank in found)


def reciprocal_rank(found: Ranks) -> float:
    """Return 1 / rank of the first target found, 0 if there is none."""
    return 1 / min((rank for rank in found if rank is not None), default=float("inf"))


def right_place_first(results: Sequence[Shown], targets: Sequence[Target]) -> float | None:
    """Return the share of found files whose first result shows target lines, or None if no file was found."""
    right: list[bool] = []
    for path in dict.fromkeys(target.path for target in targets):
        first = next((result for result in results if path in result.paths), None)
        if first is not None:
            right.append(any(target.shown_by(first) for target in targets if target.path == path))
    return sum(right) / len(right) if right else None
