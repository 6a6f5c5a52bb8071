"""Grades of replayed searches, overall and by groups of commits."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from ctx.search.evaluation import measures
from ctx.search.evaluation.replay import DEPTH, Graded
from ctx.search.evaluation.tasks import Task

CUTS = (1, 5, 10, DEPTH)
CUT = 10
_RESAMPLES = 2000
_SEED = 4
_CODE = re.compile(r"[`_$]|[a-z][A-Z]|\w\(|\w::\w|\w[./#]\w|[A-Z]{2}[a-z]")
"""Marks of identifiers that plain words do not have."""


class Grade(NamedTuple):
    """Measures of one setting over commits.

    `found` is the number of commits with a changed file in the first ten results, `first` the number with one
    in first place. `recall` has one value per cutoff of CUTS. The others are means; `right_place` is over the
    commits with a file found, or None if there are none.
    """

    commits: int
    found: int
    first: int
    recall: tuple[float, ...]
    ndcg: float
    mrr: float
    chunk_ndcg: float
    right_place: float | None


class Difference(NamedTuple):
    """Gain of the second setting in file NDCG@10, with the 95% bootstrap interval over commits."""

    mean: float
    low: float
    high: float


def grade(graded: Sequence[Graded], setting: int = 0) -> Grade:
    """Return the grade of one setting over at least one commit."""
    files = [measures.ranks(one.shown[setting], one.task.files) for one in graded]
    places = [measures.ranks(one.shown[setting], one.task.places) for one in graded if one.task.places]
    right = [measures.right_place_first(one.shown[setting], one.task.places) for one in graded]
    known = [value for value in right if value is not None]
    return Grade(
        len(graded),
        sum(measures.any_within(ranks, CUT) for ranks in files),
        sum(measures.any_within(ranks, 1) for ranks in files),
        tuple(_mean([measures.recall(ranks, cut) for ranks in files]) for cut in CUTS),
        _mean([measures.ndcg(ranks, CUT) for ranks in files]),
        _mean([measures.reciprocal_rank(ranks) for ranks in files]),
        _mean([measures.ndcg(ranks, CUT) for ranks in places]),
        _mean(known) if known else None,
    )


def difference(graded: Sequence[Graded], one: int, other: int) -> Difference:
    """Return the gain of setting `other` over setting `one` (indices) on the same commits."""
    before, after = (
        np.array(
            [measures.ndcg(measures.ranks(each.shown[setting], each.task.files), CUT) for each in graded]
        )
        for setting in (one, other)
    )
    values = after - before
    chosen = np.random.default_rng(_SEED).integers(0, len(values), (_RESAMPLES, len(values)))
    low, high = np.percentile(values[chosen].mean(axis=1), [2.5, 97.5])
    return Difference(float(values.mean()), float(low), float(high))


def groups(graded: Sequence[Graded]) -> dict[str, dict[str, list[Graded]]]:
    """Return the commits grouped by kind of file, kind of query, size and directory."""
    by: dict[str, Callable[[Task], Sequence[str]]] = {
        "kind": lambda task: [task.kind],
        "query": lambda task: ["names code" if _CODE.search(task.query) else "only words"],
        "size": lambda task: [_size(len(task.files))],
        "directory": directories,
    }
    found: dict[str, dict[str, list[Graded]]] = {}
    for name, keys in by.items():
        parts: dict[str, list[Graded]] = {}
        for one in graded:
            for key in dict.fromkeys(keys(one.task)):
                parts.setdefault(key, []).append(one)
        found[name] = dict(sorted(parts.items(), key=lambda part: (-len(part[1]), part[0])))
    return found


def directories(task: Task) -> list[str]:
    """Return the directories of a task's files, two levels deep; `.` is the root."""
    folders = [target.path.split(b"/")[:-1][:2] for target in task.files]
    return [b"/".join(folder).decode("utf-8", "replace") or "." for folder in folders]


def _size(files: int) -> str:
    if files == 1:
        return "1 file"
    return "2 or 3 files" if files < 4 else "4 files and more"


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0
