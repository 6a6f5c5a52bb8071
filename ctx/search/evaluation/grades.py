"""What the answers to replayed commits are worth, in all and by what the commits are."""

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
"""What names in code have, and words have not."""


class Grade(NamedTuple):
    """The measures of some commits, by one way to search.

    `found` is the number of commits of which a changed file was among the first ten results, `first` of which
    one came first; `recall` is by CUTS; the others are means, `right_place` over the commits of which a file
    was found, None where there are none.
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
    """How much better the second way is, in NDCG@10 of files, with its 95% interval over commits."""

    mean: float
    low: float
    high: float


def grade(graded: Sequence[Graded], way: int = 0) -> Grade:
    """The measures of one way to search over some commits, of which there is one at least."""
    files = [measures.ranks(one.shown[way], one.task.files) for one in graded]
    places = [measures.ranks(one.shown[way], one.task.places) for one in graded if one.task.places]
    right = [measures.right_place_first(one.shown[way], one.task.places) for one in graded]
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
    """How much better `other` is than `one`, both places of ways to search; the same commits for both."""
    values = np.array(
        [
            measures.ndcg(measures.ranks(each.shown[other], each.task.files), CUT)
            - measures.ndcg(measures.ranks(each.shown[one], each.task.files), CUT)
            for each in graded
        ]
    )
    chosen = np.random.default_rng(_SEED).integers(0, len(values), (_RESAMPLES, len(values)))
    low, high = np.percentile(values[chosen].mean(axis=1), [2.5, 97.5])
    return Difference(float(values.mean()), float(low), float(high))


def groups(graded: Sequence[Graded]) -> dict[str, dict[str, list[Graded]]]:
    """The commits by what they changed, what their query says, their size and their directories."""
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
    """The directories that a task lies in, two levels deep; `.` is the root."""
    folders = [target.path.split(b"/")[:-1][:2] for target in task.files]
    return [b"/".join(folder).decode("utf-8", "replace") or "." for folder in folders]


def _size(files: int) -> str:
    if files == 1:
        return "1 file"
    return "2 or 3 files" if files < 4 else "4 files and more"


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0
