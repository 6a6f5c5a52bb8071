"""Ensembles as arrays equal a walk through their trees, and fit the features of the program."""

from __future__ import annotations

import random

import numpy as np
import pytest

from ctx.errors import Damaged
from ctx.ranking.definitions import DEFINITION_FEATURES
from ctx.ranking.features import FEATURES
from ctx.ranking.gbdt import LEAVES, UNIT, Ensemble, definition_ranker, file_ranker
from ctx.storage import arrays

Split = tuple[int, float, "Node", "Node"]
Node = float | Split


def grow(chance: random.Random, leaves: int) -> Node:
    """A random tree: a leaf's value, or (feature, threshold, left, right)."""
    if leaves == 1:
        return round(chance.uniform(-1, 1) * UNIT) / UNIT
    left = chance.randrange(1, leaves)
    threshold = float(np.float32(chance.uniform(0, 1)))
    return (
        chance.randrange(len(FEATURES)),
        threshold,
        grow(chance, left),
        grow(chance, leaves - left),
    )


def walk(node: Node, row: np.ndarray) -> float:
    """Value of a tree for one candidate, by a walk from the root."""
    while not isinstance(node, float):
        feature, threshold, left, right = node
        node = right if row[feature] > threshold else left
    return node


def packed(trees: list[Node]) -> arrays.Arrays:
    """The trees as arrays of a ranker file."""
    feature = np.zeros((len(trees), LEAVES - 1), dtype=np.uint8)
    threshold = np.full(feature.shape, np.inf, dtype=np.float32)
    mask = np.full(feature.shape, (1 << LEAVES) - 1, dtype=np.uint8)
    mean = np.zeros(feature.shape, dtype=np.int32)
    value = np.zeros((len(trees), LEAVES), dtype=np.int32)

    def visit(tree: int, node: Node, nodes: list[tuple[int, float, int]], leaves: list[float]) -> None:
        if isinstance(node, float):
            leaves.append(node)
            return
        first = len(leaves)
        visit(tree, node[2], nodes, leaves)
        gone = ((1 << len(leaves)) - 1) ^ ((1 << first) - 1)
        nodes.append((node[0], node[1], ((1 << LEAVES) - 1) & ~gone))
        visit(tree, node[3], nodes, leaves)

    for number, tree in enumerate(trees):
        nodes: list[tuple[int, float, int]] = []
        leaves: list[float] = []
        visit(number, tree, nodes, leaves)
        for place, (column, limit, left) in enumerate(nodes):
            feature[number, place], threshold[number, place], mask[number, place] = column, limit, left
            mean[number, place] = 1000 * number + place  # any whole number: the steps add up nevertheless
        value[number, : len(leaves)] = np.rint(np.array(leaves) * UNIT)
    return {"feature": feature, "threshold": threshold, "mask": mask, "mean": mean, "value": value}


@pytest.mark.parametrize("seed", range(8))
def test_a_batch_of_candidates_equals_single_candidates(seed: int) -> None:
    chance = random.Random(seed)
    trees = [grow(chance, chance.randint(1, LEAVES)) for _ in range(20)]
    table = np.random.default_rng(seed).random((50, len(FEATURES)), dtype=np.float32)
    found = Ensemble(packed(trees), list(FEATURES), FEATURES).margins(table)
    assert found.tolist() == [sum(walk(tree, row) for tree in trees) for row in table]


@pytest.mark.parametrize("seed", range(8))
def test_contributions_add_up_and_name_only_tested_features(seed: int) -> None:
    chance = random.Random(seed)
    trees = [grow(chance, chance.randint(1, LEAVES)) for _ in range(20)]
    table = np.random.default_rng(seed).random((50, len(FEATURES)), dtype=np.float32)
    ensemble = Ensemble(packed(trees), list(FEATURES), FEATURES)
    steps = ensemble.contributions(table)
    assert (steps.sum(axis=1) == np.rint(ensemble.margins(table) * UNIT)).all()
    for row, own in zip(table, steps, strict=True):
        asked = set().union(*(features_on_the_path(tree, row) for tree in trees))
        assert set(np.flatnonzero(own[:-1]).tolist()) <= asked


def features_on_the_path(node: Node, row: np.ndarray) -> set[int]:
    """Features tested between the root and the leaf of one candidate."""
    asked = set()
    while not isinstance(node, float):
        feature, threshold, left, right = node
        asked.add(feature)
        node = right if row[feature] > threshold else left
    return asked


@pytest.mark.parametrize(
    ("ranker", "features"), [(file_ranker, FEATURES), (definition_ranker, DEFINITION_FEATURES)]
)
def test_the_packaged_rankers_fit_the_features(ranker, features) -> None:
    table = np.zeros((3, len(features)), dtype=np.float32)
    table[1] = 1.0
    margins = ranker().margins(table)
    assert margins[0] == margins[2]
    assert np.isfinite(margins).all()
    assert (ranker().contributions(table).sum(axis=1) == np.rint(margins * UNIT)).all()


def test_a_ranker_made_for_other_features_is_refused() -> None:
    made = packed([0.5])
    with pytest.raises(Damaged):
        Ensemble(made, [*FEATURES[1:], FEATURES[0]], FEATURES)
    made["feature"][0, 0] = len(FEATURES)
    with pytest.raises(Damaged):
        Ensemble(made, list(FEATURES), FEATURES)
