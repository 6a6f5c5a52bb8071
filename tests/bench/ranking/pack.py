"""From a LightGBM model to the arrays that `ctx.rank.trees` evaluates."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ctx.arrays import encode
from ctx.rank.trees import LEAVES, UNIT


def pack(model: Any, features: list[str], meta: dict[str, Any]) -> bytes:
    """The bytes of a ranker file. `features` are the names of the model's columns."""
    trees = [tree["tree_structure"] for tree in model.dump_model()["tree_info"]]
    feature = np.zeros((len(trees), LEAVES - 1), dtype=np.uint8)
    threshold = np.full(feature.shape, np.inf, dtype="<f4")
    mask = np.full(feature.shape, 0xFF, dtype=np.uint8)
    value = np.zeros((len(trees), LEAVES), dtype="<i4")
    for number, tree in enumerate(trees):
        nodes: list[tuple[int, float, int, int]] = []
        leaves: list[float] = []
        _walk(tree, nodes, leaves)
        for place, (column, limit, first, middle) in enumerate(nodes):
            feature[number, place] = column
            threshold[number, place] = _below(limit)
            mask[number, place] = 0xFF & ~(((1 << (middle - first)) - 1) << first)
        value[number, : len(leaves)] = np.rint(np.array(leaves) * UNIT)
    arrays: dict[str, npt.NDArray[Any]] = {
        "feature": feature, "threshold": threshold, "mask": mask, "value": value,
    }  # fmt: skip
    return encode(arrays, meta | {"features": features})


def _walk(node: dict[str, Any], nodes: list[tuple[int, float, int, int]], leaves: list[float]) -> None:
    """Number the leaves from left to right; a node is (column, threshold, first leaf, first on its right)."""
    if "leaf_value" in node:
        leaves.append(node["leaf_value"])
        return
    first = len(leaves)
    _walk(node["left_child"], nodes, leaves)
    nodes.append((node["split_feature"], node["threshold"], first, len(leaves)))
    _walk(node["right_child"], nodes, leaves)


def _below(limit: float) -> np.float32:
    """The largest float32 that is not above a threshold: features are float32."""
    rounded = np.float32(limit)
    return rounded if float(rounded) <= limit else np.nextafter(rounded, np.float32(-np.inf))
