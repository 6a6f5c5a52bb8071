"""The measures have values computed by hand."""

from __future__ import annotations

from math import log2

import pytest

from ctx.search.evaluation.measures import (
    Shown,
    Target,
    any_within,
    ndcg,
    ranks,
    recall,
    reciprocal_rank,
    right_place_first,
)

RESULTS = [
    Shown((b"a.py",), 1, 9),
    Shown((b"b.py", b"copy/b.py"), 10, 20),
    Shown((b"a.py",), 30, 40),
]


@pytest.mark.parametrize(
    ("target", "rank"),
    [
        (Target(b"a.py"), 1),
        (Target(b"a.py", ((9, 12),)), 1),
        (Target(b"a.py", ((10, 12), (40, 41))), 3),
        (Target(b"a.py", ((41, 50),)), None),
        (Target(b"copy/b.py", ((20, 20),)), 2),
        (Target(b"c.py"), None),
    ],
)
def test_a_target_counts_at_its_first_rank(target, rank):
    assert ranks(RESULTS, [target]) == [rank]


def test_ndcg_is_the_gain_over_the_best_possible_gain():
    assert ndcg([1, 2]) == 1.0
    assert ndcg([2, None]) == pytest.approx((1 / log2(3)) / (1 + 1 / log2(3)))
    assert ndcg([11], cut=10) == 0.0
    assert ndcg([1] + [None] * 30) == pytest.approx(1 / sum(1 / log2(rank + 1) for rank in range(1, 11)))


def test_recall_and_reciprocal_rank():
    assert recall([1, 5, 11, None], 10) == 0.5
    assert any_within([None, 11], 10) is False
    assert any_within([None, 10], 10) is True
    assert reciprocal_rank([None, 4, 2]) == 0.5
    assert reciprocal_rank([None]) == 0.0


def test_right_place_first_counts_found_files_only():
    assert right_place_first(RESULTS, [Target(b"a.py", ((5, 5),)), Target(b"c.py", ((1, 1),))]) == 1.0
    assert right_place_first(RESULTS, [Target(b"a.py", ((35, 35),)), Target(b"b.py", ((15, 15),))]) == 0.5
    assert right_place_first(RESULTS, [Target(b"c.py", ((1, 1),))]) is None
