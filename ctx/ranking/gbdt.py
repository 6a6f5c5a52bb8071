"""The learned rankers: regression trees as plain arrays, for all candidates at once.

Each inner node that a candidate fails takes the leaves to its left away; the first leaf that remains is the
one that the candidate falls into (QuickScorer: Lucchese et al., SIGIR 2015). What a feature contributed to a
sum is read off the way to the leaf: each step changes the mean of what is below by a whole number, and
belongs to the feature that was asked there (Saabas, 2014). docs/ranker.md says what the trees learned from.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from functools import cached_property, lru_cache

import numpy as np
import numpy.typing as npt

from ctx.errors import Damaged
from ctx.ranking.features import FEATURES
from ctx.ranking.rows import ROW_FEATURES
from ctx.storage.arrays import Arrays, map_file

FORMAT = 1
LEAVES = 8
"""The most leaves of a tree: one bit each."""
UNIT = float(1 << 20)
"""Values of leaves are whole numbers of these parts, so that their sums are exact."""

_FOLDER = os.path.dirname(__file__)


class Trees:
    """An ensemble.

    `feature` uint8, `threshold` float32, `mask` uint8 and `mean` int32 are (trees, nodes), `value` int32
    (trees, leaves). A node is failed where the feature is above the threshold; its mask has a zero for each
    leaf on its left; its mean is that of the leaves below it, as often as they were reached in training.
    Nodes stand between the leaves that they part: node i after leaf i.
    """

    def __init__(self, arrays: Arrays, features: list[str], names: Sequence[str]) -> None:
        try:
            feature, value = arrays["feature"], arrays["value"]
            if list(names) != features or int(feature.max(initial=0)) >= len(names):
                raise Damaged("the ranker was made for other features")
            if arrays["mean"].shape != feature.shape:
                raise Damaged("the ranker's arrays do not fit each other")
            self._features = len(names)
            self._arrays = arrays
            self._shape = feature.shape
            self._feature = feature.reshape(-1).astype(np.intp)
            self._threshold = arrays["threshold"].reshape(-1, 1)
            self._mask = arrays["mask"].reshape(-1, 1)
            self._value = value.reshape(-1).astype(np.int64)
            self._first = np.arange(value.shape[0])[:, None] * value.shape[1]
        except (KeyError, ValueError) as error:
            raise Damaged("the ranker's arrays do not fit each other") from error

    def margins(self, table: npt.NDArray[np.float32]) -> npt.NDArray[np.float64]:
        """The sum over the trees for each candidate (n,), from features (n, FEATURES); higher is better."""
        summed: npt.NDArray[np.float64] = self._value.take(self._leaves(table)).sum(axis=0) / UNIT
        return summed

    def contributions(self, table: npt.NDArray[np.float32]) -> npt.NDArray[np.int64]:
        """What each feature added to each sum in parts of UNIT, (n, features + 1); the last is for all alike.

        Each row adds up to UNIT times the margin, exactly.
        """
        feature, step = self._ways
        leaf = self._leaves(table)
        found = np.zeros((len(table), self._features + 1), dtype=np.int64)
        which = np.broadcast_to(np.arange(len(table))[None, :, None], feature[leaf].shape)
        np.add.at(found, (which, feature[leaf]), step[leaf])
        return found

    def _leaves(self, table: npt.NDArray[np.float32]) -> npt.NDArray[np.int64]:
        """The leaf that each candidate falls into, (trees, n), numbered through all trees."""
        passed = table.T.take(self._feature, axis=0) <= self._threshold
        # All ones where a node is passed: arithmetic on octets is several times faster than choosing.
        left = passed.view(np.uint8)
        np.negative(left, out=left)
        np.bitwise_or(left, self._mask, out=left)
        remaining = np.bitwise_and.reduce(left.reshape(*self._shape, len(table)), axis=1)
        lowest = remaining & (~remaining + np.uint8(1))
        leaf: npt.NDArray[np.int64] = np.bitwise_count(lowest - np.uint8(1)) + self._first
        return leaf

    @cached_property
    def _ways(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """For each leaf of all trees the features asked on the way to it and the steps, (leaves, LEAVES)."""
        trees, nodes = self._shape
        feature = np.full((trees, nodes + 1, LEAVES), self._features, dtype=np.int64)
        step = np.zeros(feature.shape, dtype=np.int64)
        for tree in range(trees):
            for leaf, way in _ways(*(self._arrays[name][tree].tolist() for name in _OF_A_TREE)):
                for place, (asked, change) in enumerate(way):
                    if asked is not None:
                        feature[tree, leaf, place] = asked
                    step[tree, leaf, place] = change
        return feature.reshape(-1, LEAVES), step.reshape(-1, LEAVES)


@lru_cache(maxsize=1)
def file_ranker() -> Trees:
    """The trees inside the package that put files in order."""
    return ranker_in(os.path.join(_FOLDER, "ranker-1.bin"))


@lru_cache(maxsize=1)
def row_ranker() -> Trees:
    """The trees inside the package that put the rows of one file in order."""
    return ranker_in(os.path.join(_FOLDER, "rows-1.bin"), ROW_FEATURES)


def ranker_in(path: str, features: Sequence[str] = FEATURES) -> Trees:
    """The trees in a file. Raises `Damaged` for those of other features, OSError where there is no file."""
    arrays, meta = map_file(path)
    try:
        return Trees(arrays, list(meta["features"]), features)
    except (KeyError, TypeError) as error:
        raise Damaged(f"{path} holds no ranker") from error


_OF_A_TREE = ("feature", "mask", "mean", "value")
_Way = list[tuple[int | None, int]]


def _ways(
    feature: list[int], mask: list[int], mean: list[int], value: list[int]
) -> Iterator[tuple[int, _Way]]:
    """The leaves of one tree, each with the steps to it: the feature asked, None at first, and the change."""
    # The lowest leaf on a node's left. Nodes that are not used take no leaf away, and come last.
    first = [next((leaf for leaf in range(LEAVES) if not one >> leaf & 1), LEAVES) for one in mask]

    def root(start: int, end: int) -> int:
        # Of the nodes whose left reaches down to the first leaf the last one holds the others on its left.
        return max(node for node in range(start, end) if first[node] == start)

    def visit(start: int, end: int, total: int, way: _Way) -> Iterator[tuple[int, _Way]]:
        if start == end:
            yield start, way
            return
        node = root(start, end)
        for low, high in ((start, node), (node + 1, end)):
            below = value[low] if low == high else mean[root(low, high)]
            yield from visit(low, high, below, [*way, (feature[node], below - total)])

    used = sum(leaf <= node for node, leaf in enumerate(first))
    total = mean[root(0, used)] if used else value[0]
    yield from visit(0, used, total, [(None, total)])
