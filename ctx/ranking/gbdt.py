"""The learned rankers: regression trees as arrays, evaluated for all candidates at once.

Each inner node that a candidate fails removes the leaves to its left; the candidate falls into the first leaf
that remains (QuickScorer: Lucchese et al., SIGIR 2015). The contribution of a feature to a sum follows the
path to the leaf: each step changes the mean of the subtree by an integer, attributed to the feature tested
there (Saabas, 2014). docs/ranker.md describes the training.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from functools import cached_property, lru_cache

import numpy as np
import numpy.typing as npt

from ctx.errors import Damaged, Decoding
from ctx.ranking.definitions import DEFINITION_FEATURES
from ctx.ranking.features import FEATURES
from ctx.storage.arrays import Arrays, Floats, Ints, map_file

FORMAT = 1
LEAVES = 8
"""Maximum number of leaves of a tree: one bit each."""
UNIT = float(1 << 20)
"""Leaf values are integers in this unit, so that their sums are exact."""

_FOLDER = os.path.dirname(__file__)


class Ensemble:
    """An ensemble of regression trees.

    `feature` uint8, `threshold` float32, `mask` uint8 and `mean` int32 are (trees, nodes), `value` int32
    (trees, leaves). A node is failed if the feature is above the threshold; its mask has a zero for each leaf
    on its left; its mean is that of the leaves below it, weighted by training samples. Nodes are ordered
    between the leaves that they separate: node i after leaf i.
    """

    @Decoding("a ranker")
    def __init__(self, arrays: Arrays, features: list[str], names: Sequence[str]) -> None:
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

    def margins(self, table: npt.NDArray[np.float32]) -> Floats:
        """Return the sum over the trees for each candidate (n,).

        `table` has the features (n, FEATURES); a higher sum is better.
        """
        summed: Floats = self._value.take(self._leaves(table)).sum(axis=0) / UNIT
        return summed

    def contributions(self, table: npt.NDArray[np.float32]) -> Ints:
        """Return each feature's contribution to each sum in UNIT, (n, features + 1); the last is the bias.

        Each row adds up to UNIT times the margin, exactly.
        """
        feature, step = self._paths
        leaf = self._leaves(table)
        found = np.zeros((len(table), self._features + 1), dtype=np.int64)
        which = np.broadcast_to(np.arange(len(table))[None, :, None], feature[leaf].shape)
        np.add.at(found, (which, feature[leaf]), step[leaf])
        return found

    def _leaves(self, table: npt.NDArray[np.float32]) -> Ints:
        """Return the leaf that each candidate falls into, (trees, n), numbered across all trees."""
        passed = table.T.take(self._feature, axis=0) <= self._threshold
        # All ones if a node is passed: arithmetic on octets is several times faster than `np.where`.
        left = passed.view(np.uint8)
        np.negative(left, out=left)
        np.bitwise_or(left, self._mask, out=left)
        remaining = np.bitwise_and.reduce(left.reshape(*self._shape, len(table)), axis=1)
        lowest = remaining & (~remaining + np.uint8(1))
        leaf: Ints = np.bitwise_count(lowest - np.uint8(1)) + self._first
        return leaf

    @cached_property
    def _paths(self) -> tuple[Ints, Ints]:
        """For each leaf of all trees, the features tested on its path and the steps, (leaves, LEAVES)."""
        trees, nodes = self._shape
        feature = np.full((trees, nodes + 1, LEAVES), self._features, dtype=np.int64)
        step = np.zeros(feature.shape, dtype=np.int64)
        for tree in range(trees):
            arrays = (self._arrays[name][tree].tolist() for name in ("feature", "mask", "mean", "value"))
            for leaf, path in _paths(self._features, *arrays):
                feature[tree, leaf, : len(path)], step[tree, leaf, : len(path)] = zip(*path, strict=True)
        return feature.reshape(-1, LEAVES), step.reshape(-1, LEAVES)


@lru_cache(maxsize=1)
def file_ranker() -> Ensemble:
    """Return the packaged ranker of files."""
    return ranker_in(os.path.join(_FOLDER, "ranker-1.bin"))


@lru_cache(maxsize=1)
def definition_ranker() -> Ensemble:
    """Return the packaged ranker of definitions."""
    return ranker_in(os.path.join(_FOLDER, "definitions-1.bin"), DEFINITION_FEATURES)


def ranker_in(path: str, features: Sequence[str] = FEATURES) -> Ensemble:
    """Read the trees in a file. Raises `Damaged` if their features differ, OSError if there is no file."""
    arrays, meta = map_file(path)
    with Decoding(f"the ranker in {path}"):
        return Ensemble(arrays, list(meta["features"]), features)


_Path = list[tuple[int, int]]


def _paths(
    bias: int, feature: list[int], mask: list[int], mean: list[int], value: list[int]
) -> Iterator[tuple[int, _Path]]:
    """Yield the leaves of one tree with the steps of their path.

    A step is the feature tested, `bias` at first, and the change of the mean.
    """
    # The lowest leaf on a node's left. Unused nodes remove no leaf, and come last.
    first = [next((leaf for leaf in range(LEAVES) if not one >> leaf & 1), LEAVES) for one in mask]

    def root(start: int, end: int) -> int:
        # The last node whose left side starts at the first leaf has the others on its left.
        return max(node for node in range(start, end) if first[node] == start)

    def visit(start: int, end: int, total: int, path: _Path) -> Iterator[tuple[int, _Path]]:
        if start == end:
            yield start, path
            return
        node = root(start, end)
        for low, high in ((start, node), (node + 1, end)):
            below = value[low] if low == high else mean[root(low, high)]
            yield from visit(low, high, below, [*path, (feature[node], below - total)])

    used = sum(leaf <= node for node, leaf in enumerate(first))
    total = mean[root(0, used)] if used else value[0]
    yield from visit(0, used, total, [(bias, total)])
