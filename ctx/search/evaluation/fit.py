"""Learning of a repository's correction from its older commits, for a test on newer ones.

The weights are learned on the older half of the commits, each with a history that ends before it. They are
tested on the newer half, with a history that ends before that half. The stored correction has the same
weights and the whole history. The objective is the listwise softmax (ListNet top one, Cao et al., ICML 2007).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ctx.ranking.correction import USUAL, Correction
from ctx.ranking.file_history import CommitHistory
from ctx.ranking.query import Query
from ctx.search.evaluation.tasks import Task
from ctx.storage.arrays import Bools, Floats, Ints
from ctx.storage.views.view import View

FEWEST = 20
"""Minimum number of commits to learn from, and to test on."""
_BLOCK = 20
"""Number of tasks that share a history, which ends before the oldest of them."""
_PENALTY = 5.0
"""Penalty on deviation from the default weights, relative to the loss of one task."""
_ROUNDS = 300


class Sample(NamedTuple):
    """Candidates of one task: paths, path flags and scores, all (n,), and the query."""

    task: Task
    paths: list[bytes]
    flags: npt.NDArray[np.uint8]
    scores: Floats
    query: Query


class Recorder:
    """A correction that changes nothing and records the candidates of the last search."""

    def __init__(self) -> None:
        self.last: tuple[list[bytes], npt.NDArray[np.uint8], Floats, Query] | None = None

    def __call__(self, view: View, query: Query, files: Ints, scores: Floats) -> Floats:
        paths = [view.path(file) for file in files.tolist()]
        self.last = (paths, view.file_flags[files].copy(), scores.copy(), query)
        return scores


def learn(samples: Sequence[Sample], history: CommitHistory) -> Floats:
    """Return the feature weights, (FEATURES,), learned from tasks in the order of their commits."""
    lists: list[tuple[Floats, Floats, Bools]] = []
    for start in range(0, len(samples), _BLOCK):
        block = samples[start : start + _BLOCK]
        past = history.before([sample.task.commit.oid for sample in block])
        for sample in block:
            wanted = {target.path for target in sample.task.files}
            label = np.array([path in wanted for path in sample.paths])
            if label.any() and not label.all():
                features = past.features(sample.paths, sample.flags, sample.query)
                lists.append((features, sample.scores, label))
    return _minimize(lists)


def _minimize(lists: Sequence[tuple[Floats, Floats, Bools]]) -> Floats:
    """Minimize the penalised loss by gradient descent, which is enough for five weights."""
    weights = USUAL
    if not lists:
        return weights
    rate = 1.0
    loss, gradient = _loss(lists, weights)
    for _ in range(_ROUNDS):
        step = weights - rate * gradient
        new_loss, new_gradient = _loss(lists, step)
        if new_loss < loss:
            weights, loss, gradient, rate = step, new_loss, new_gradient, rate * 1.5
        else:
            rate /= 3
    return weights


def _loss(lists: Sequence[tuple[Floats, Floats, Bools]], weights: Floats) -> tuple[float, Floats]:
    penalty = _PENALTY / len(lists)
    deviation = weights - USUAL
    loss = penalty * float(deviation @ deviation)
    gradient = 2 * penalty * deviation
    for features, scores, label in lists:
        margins = scores + features @ weights
        shares = np.exp(margins - margins.max())
        shares /= shares.sum()
        wanted = np.where(label, shares, 0.0)
        loss -= float(np.log(max(wanted.sum(), 1e-12))) / len(lists)
        gradient += (shares - wanted / max(wanted.sum(), 1e-12)) @ features / len(lists)
    return loss, gradient


def fit(
    samples: Sequence[Sample], history: CommitHistory, start: bytes
) -> tuple[Correction, Correction] | None:
    """Return the correction to test on the newer half of the tasks, and the one to store.

    `samples` are ordered by commit, newest first. The history of the stored one ends at `start`. Return None
    if there are fewer than FEWEST samples in a half.
    """
    half = len(samples) // 2
    newer, older = samples[:half], samples[half:]
    if half < FEWEST:
        return None
    weights = np.round(learn(older, history), 6)
    before = history.before([sample.task.commit.oid for sample in newer])
    oldest = newer[-1].task.commit.parent
    return (
        Correction(before, weights, oldest, len(older)),
        Correction(history.whole(), weights, start, len(older)),
    )
