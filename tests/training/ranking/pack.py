"""Convert a LightGBM model to the arrays that `ctx.ranking.gbdt` evaluates."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ctx.ranking.gbdt import LEAVES, UNIT
from ctx.storage.arrays import encode


def pack(model: Any, features: list[str], meta: dict[str, Any]) -> bytes:
    """The bytes of a ranker file. `features` are the names of the model's columns."""
    trees = [tree["tree_structure"] for tree in model.dump_model()["tree_info"]]
    feature = np.zeros((len(trees), LEAVES - 1), dtype=np.uint8)
    threshold = np.full(feature.shape, np.inf, dtype="<f4")
    mask = np.full(feature.shape, 0xFF, dtype=np.uint8)
    mean = np.zeros(feature.shape, dtype="<i4")
    value = np.zeros((len(trees), LEAVES), dtype="<i4")
    for number, tree in enumerate(trees):
        nodes: list[tuple[int, float, int, int, float]] = []
        leaves: list[float] = []
        _walk(tree, nodes, leaves)
        for place, (column, limit, first, middle, below) in enumerate(nodes):
            mean[number, place] = np.rint(below * UNIT)
            feature[number, place] = column
            threshold[number, place] = _below(limit)
            mask[number, place] = 0xFF & ~(((1 << (middle - first)) - 1) << first)
        value[number, : len(leaves)] = np.rint(np.array(leaves) * UNIT)
    arrays: dict[str, npt.NDArray[Any]] = {
        "feature": feature, "threshold": threshold, "mask": mask, "mean": mean, "value": value,
    }  # fmt: skip
    return encode(arrays, meta | {"features": features})


def _walk(
    node: dict[str, Any], nodes: list[tuple[int, float, int, int, float]], leaves: list[float]
) -> tuple[float, int]:
    """Number the leaves from left to right; a node is (column, threshold, leaf, first on its right, mean).

    Returns the sum of the leaves below over the examples that reached them, and the number of examples.
    """
    if "leaf_value" in node:
        leaves.append(node["leaf_value"])
        count = max(1, int(node.get("leaf_count", 1)))
        return node["leaf_value"] * count, count
    first = len(leaves)
    left = _walk(node["left_child"], nodes, leaves)
    place, middle = len(nodes), len(leaves)
    right = _walk(node["right_child"], nodes, leaves)
    total, count = left[0] + right[0], left[1] + right[1]
    nodes.insert(place, (node["split_feature"], node["threshold"], first, middle, total / count))
    return total, count


def _below(limit: float) -> np.float32:
    """The largest float32 that is not above a threshold: features are float32."""
    rounded = np.float32(limit)
    return rounded if float(rounded) <= limit else np.nextafter(rounded, np.float32(-np.inf))
