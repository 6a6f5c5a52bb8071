"""Learning the correction of one repository from its own commits, and trying it on later ones.

The weights come from the older half of the commits, each with a past that ends before it; whether they help
is seen on the newer half, with a past that ends before that. What is stored has the same weights and the
whole past. The objective is the listwise softmax (ListNet's top one, Cao et al., ICML 2007).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ctx.evaluation.subjects import query_of
from ctx.evaluation.tasks import Task
from ctx.git.repository import Repository
from ctx.rank.correction import FEATURES, Correction, Past, folder_of, path_hash
from ctx.rank.query import Query
from ctx.views.view import View
from ctx.words.query import terms_in

FEWEST = 20
"""Commits to learn from, and to try on: with fewer of either, nothing can be said."""
_HISTORY = 3000
"""Commits that the past looks back on."""
_MOST_FILES = 20
_HALF_LIFE = 300.0
"""Commits after which a change counts half."""
_BLOCK = 20
"""So many tasks share a past, which ends before the oldest of them."""
_PENALTY = 5.0
"""How dear large weights are, against the loss of one task."""
_ROUNDS = 300

Floats = npt.NDArray[np.float64]


class Sample(NamedTuple):
    """The candidates of one task: paths, flags of paths and scores, all (n,), and the query."""

    task: Task
    paths: list[bytes]
    flags: npt.NDArray[np.uint8]
    scores: Floats
    query: Query


class _Entry(NamedTuple):
    """One commit of the past."""

    paths: list[bytes]
    terms: set[int]


class Recorder:
    """Corrects nothing, but keeps the candidates of what was searched last."""

    def __init__(self) -> None:
        self.last: tuple[list[bytes], npt.NDArray[np.uint8], Floats, Query] | None = None

    def __call__(self, view: View, query: Query, files: npt.NDArray[np.int64], scores: Floats) -> Floats:
        paths = [view.path(file) for file in files.tolist()]
        self.last = (paths, view.file_flags[files].copy(), scores.copy(), query)
        return scores


class History:
    """What the commits that lead to one changed and said, the newest first."""

    def __init__(self, repository: Repository, start: bytes) -> None:
        listing = repository.git(
            "-c", "log.showSignature=false", "log", "-z", "--no-merges", f"--max-count={_HISTORY}",
            "--name-only", "--no-renames", "--encoding=UTF-8", "--format=%x01%H%x02%s%x02", start.hex(), "--",
        )  # fmt: skip
        self._entries: list[_Entry] = []
        self._place: dict[bytes, int] = {}
        for record in listing.split(b"\x01")[1:]:
            oid, _, rest = record.partition(b"\x02")
            subject, _, names = rest.rpartition(b"\x02")
            paths = [name for name in names.lstrip(b"\0\n").split(b"\0") if name]
            said = query_of(subject.decode("utf-8", "replace"))
            self._place[bytes.fromhex(oid.decode())] = len(self._entries)
            many = len(paths) > _MOST_FILES
            self._entries.append(_Entry([] if many else paths, terms_in(said) if said else set()))

    def before(self, commits: Sequence[bytes]) -> Past:
        """The past that ends before the oldest of some commits, itself left out."""
        return self._past(max((self._place.get(oid, len(self._entries)) for oid in commits), default=-1) + 1)

    def whole(self) -> Past:
        """All of it."""
        return self._past(0)

    def _past(self, start: int) -> Past:
        changed: Counter[bytes] = Counter()
        folders: Counter[bytes] = Counter()
        said: Counter[tuple[int, bytes]] = Counter()
        for age, entry in enumerate(self._entries[start:]):
            weight = 0.5 ** (age / _HALF_LIFE)
            for path in entry.paths:
                changed[path] += weight
                said.update((term, path) for term in entry.terms)
            for folder in {folder_of(path) for path in entry.paths}:
                folders[folder] += weight
        hashed = sorted((path_hash(path), path) for path in changed)
        number = {path: place for place, (_, path) in enumerate(hashed)}
        postings = sorted((term, number[path], times) for (term, path), times in said.items())
        by_folder = sorted((path_hash(folder), count) for folder, count in folders.items())
        return Past(
            np.array([one for one, _ in hashed], dtype=np.uint64),
            np.array([changed[path] for _, path in hashed], dtype=np.float32),
            np.array([one for one, _ in by_folder], dtype=np.uint64),
            np.array([count for _, count in by_folder], dtype=np.float32),
            np.array([term for term, _, _ in postings], dtype=np.int64),
            np.array([place for _, place, _ in postings], dtype=np.uint32),
            np.array([times for _, _, times in postings], dtype=np.float32),
        )


def learn(samples: Sequence[Sample], history: History) -> Floats:
    """The weights of the features, (FEATURES,), from tasks in the order of their commits."""
    lists: list[tuple[Floats, Floats, npt.NDArray[np.bool_]]] = []
    for start in range(0, len(samples), _BLOCK):
        block = samples[start : start + _BLOCK]
        past = history.before([sample.task.commit.oid for sample in block])
        for sample in block:
            wanted = {target.path for target in sample.task.files}
            label = np.array([path in wanted for path in sample.paths])
            if label.any() and not label.all():
                features = past.features(sample.paths, sample.flags, sample.query)
                lists.append((features, sample.scores, label))
    return _descended(lists)


def _descended(lists: Sequence[tuple[Floats, Floats, npt.NDArray[np.bool_]]]) -> Floats:
    """The minimum of the penalised loss by gradient descent; five numbers, so nothing cleverer is needed."""
    weights = np.zeros(len(FEATURES))
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


def _loss(
    lists: Sequence[tuple[Floats, Floats, npt.NDArray[np.bool_]]], weights: Floats
) -> tuple[float, Floats]:
    penalty = _PENALTY / len(lists)
    loss = penalty * float(weights @ weights)
    gradient = 2 * penalty * weights
    for features, scores, label in lists:
        margins = scores + features @ weights
        shares = np.exp(margins - margins.max())
        shares /= shares.sum()
        wanted = np.where(label, shares, 0.0)
        loss -= float(np.log(max(wanted.sum(), 1e-12))) / len(lists)
        gradient += (shares - wanted / max(wanted.sum(), 1e-12)) @ features / len(lists)
    return loss, gradient


def fit(samples: Sequence[Sample], history: History, start: bytes) -> tuple[Correction, Correction] | None:
    """The correction to try on the newer half of the tasks, and the one to keep, whose past ends at `start`.

    `samples` are in the order of their commits, the newest first. None where there are too few of them.
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
