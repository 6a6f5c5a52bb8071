"""The learned ranker: regression trees as plain arrays, for all candidates at once.

Each inner node that a candidate fails takes the leaves to its left away; the first leaf that remains is the
one that the candidate falls into (QuickScorer: Lucchese et al., SIGIR 2015). docs/ranker.md says what the
trees learned from.
"""

from __future__ import annotations

import os
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from ctx.arrays import Arrays, map_file
from ctx.errors import Damaged
from ctx.rank.features import FEATURES

FORMAT = 1
LEAVES = 8
"""The most leaves of a tree: one bit each."""
UNIT = float(1 << 20)
"""Values of leaves are whole numbers of these parts, so that their sums are exact."""

_FILE = os.path.join(os.path.dirname(__file__), "ranker-1.bin")


class Trees:
    """An ensemble.

    `feature` uint8, `threshold` float32 and `mask` uint8 are (trees, nodes), `value` int32 (trees, leaves).
    A node is failed where the feature is above the threshold; its mask has a zero for each leaf on its left.
    """

    def __init__(self, arrays: Arrays, features: list[str]) -> None:
        try:
            feature, value = arrays["feature"], arrays["value"]
            if list(FEATURES) != features or int(feature.max(initial=0)) >= len(FEATURES):
                raise Damaged("the ranker was made for other features")
            self._shape = feature.shape
            self._feature = feature.reshape(-1).astype(np.intp)
            self._threshold = arrays["threshold"].reshape(-1, 1)
            self._mask = arrays["mask"].reshape(-1, 1)
            self._value = value.reshape(-1)
            self._first = np.arange(value.shape[0], dtype=np.int32)[:, None] * value.shape[1]
        except (KeyError, ValueError) as error:
            raise Damaged("the ranker's arrays do not fit each other") from error

    def margins(self, table: npt.NDArray[np.float32]) -> npt.NDArray[np.float64]:
        """The sum over the trees for each candidate (n,), from features (n, FEATURES); higher is better."""
        failed = table.T[self._feature] > self._threshold
        left = np.where(failed, self._mask, np.uint8(0xFF)).reshape(*self._shape, len(table))
        remaining = np.bitwise_and.reduce(left, axis=1)
        lowest = remaining & (~remaining + np.uint8(1))
        leaf = np.bitwise_count(lowest - np.uint8(1)) + self._first
        summed: npt.NDArray[np.float64] = self._value[leaf].sum(axis=0, dtype=np.int64) / UNIT
        return summed


@lru_cache(maxsize=1)
def file_ranker() -> Trees:
    """The trees inside the package."""
    return ranker_in(_FILE)


def ranker_in(path: str) -> Trees:
    """The trees in a file. Raises `Damaged` for those of other features, OSError where there is no file."""
    arrays, meta = map_file(path)
    try:
        return Trees(arrays, list(meta["features"]))
    except (KeyError, TypeError) as error:
        raise Damaged(f"{path} holds no ranker") from error
