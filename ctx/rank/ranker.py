"""The first ranker: a weighted sum of file evidence decides the file, row evidence the place in it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ctx.rank.corpus import Corpus
from ctx.rank.evidence import Evidence, Floats, gather
from ctx.rank.query import Query
from ctx.records import TEST
from ctx.values import KINDS
from ctx.views import paths

POOL = 50
"""Candidates of each kind that are looked at, at least."""

# What each piece of evidence, scaled to 0..1 within the pool, adds to a file's score.
_WEIGHTS = {
    "three_rows": 1.0,
    "best_row": 0.4,
    "whole_file": 0.8,
    "coverage": 0.5,
    "path": 0.7,
    "names": 0.5,
    "best_names": 0.3,
    "agreement": 0.5,
    "mean_agreement": 0.3,
    "path_agreement": 0.4,
    "defines": 0.6,
}
_SYMBOL_WEIGHTS = _WEIGHTS | {"names": 1.0, "best_names": 1.0, "defines": 3.0}

_TYPES = {"class", "interface", "struct", "enum", "trait", "object", "module", "type"}

# What remains of a score where the query did not ask for such files.
_PRIORS = {
    paths.TEST: 0.45,
    paths.EXAMPLE: 0.5,
    paths.VENDORED: 0.5,
    paths.DOCS: 0.6,
    paths.CONFIG: 0.6,
    paths.DATA: 0.5,
    paths.DECLARATIONS: 0.8,
    paths.LEGACY: 0.7,
}
_IS_TYPE = np.array([1.0 if kind in _TYPES else 0.8 for kind in KINDS])
"""A name is more likely to be meant as the type than as one of the functions called the same."""

_NEXT_ROW = 0.6
"""What remains of a file's score for each further row of the same file."""


class Ranked(NamedTuple):
    """One row of the answer: score in 0..1, agreement of the vectors in 0..1."""

    row: int
    file: int
    score: float
    agreement: float


def rank(corpus: Corpus, query: Query, allowed: npt.NDArray[np.bool_] | None, limit: int) -> list[Ranked]:
    """The best rows. `allowed` (files,) bool restricts the answer, never the statistics."""
    evidence = gather(corpus, query)
    if allowed is None:
        shown = corpus.shown
    else:
        shown = corpus.shown_among(np.flatnonzero(allowed & (corpus.file_document >= 0)))
    open_documents = shown >= 0
    open_rows = open_documents[corpus.document_of]
    pool = max(POOL, limit)
    candidates = _candidates(corpus, evidence, open_documents, open_rows, pool)
    if not len(candidates):
        return []
    scores = _file_scores(corpus, query, evidence, candidates, shown)
    return _rows(corpus, evidence, candidates, scores, shown, limit)


def _candidates(
    corpus: Corpus,
    evidence: Evidence,
    open_documents: npt.NDArray[np.bool_],
    open_rows: npt.NDArray[np.bool_],
    pool: int,
) -> npt.NDArray[np.int64]:
    """Documents that are among the best by any kind of evidence."""
    found = [
        corpus.document_of[_top(values, open_rows, 2 * pool)]
        for values in (evidence.row_words, evidence.row_names, evidence.row_defines, evidence.row_agreement)
    ]
    found += [
        _top(values, open_documents, pool)
        for values in (evidence.document_words, evidence.document_path, evidence.document_names)
    ]
    candidate = np.zeros(corpus.documents, dtype=bool)
    candidate[np.concatenate(found)] = True
    return np.flatnonzero(candidate & (corpus.document_rows > 0))


def _top(values: Floats, open_: npt.NDArray[np.bool_], count: int) -> npt.NDArray[np.int64]:
    """The places of the largest positive values, all that tie with the last one included."""
    places = np.flatnonzero(open_ & (values > 0))
    if len(places) > count:
        least = np.partition(values[places], len(places) - count)[len(places) - count]
        places = places[values[places] >= least]
        # A flood of equal values (a word that is everywhere) says nothing; the order of paths must not decide.
        if len(places) > 4 * count:
            places = places[values[places] > least]
    return places


def _file_scores(
    corpus: Corpus,
    query: Query,
    evidence: Evidence,
    candidates: npt.NDArray[np.int64],
    shown: npt.NDArray[np.int64],
) -> Floats:
    groups = _Groups.of(corpus, candidates)
    rows = groups.rows
    path_bits = corpus.view.path_vectors[shown[candidates]]
    defines = evidence.row_defines[rows] * _IS_TYPE[corpus.kinds[rows] & (TEST - 1)]
    features = {
        "three_rows": groups.best_three(evidence.row_words[rows]),
        "best_row": groups.best(evidence.row_words[rows]),
        "whole_file": evidence.document_words[candidates],
        "coverage": evidence.document_coverage[candidates],
        "path": evidence.file_path[shown[candidates]],
        "names": evidence.document_names[candidates],
        "best_names": groups.best(evidence.row_names[rows]),
        "agreement": groups.best_three(evidence.row_agreement[rows]),
        "mean_agreement": groups.mean(evidence.row_agreement[rows]),
        "path_agreement": (2.0 * np.unpackbits(path_bits, axis=1) - 1.0) @ query.vector,
        "defines": groups.best(defines),
    }
    spread = {"agreement", "mean_agreement", "path_agreement"}
    weights = _SYMBOL_WEIGHTS if query.is_symbol else _WEIGHTS
    scores = np.zeros(len(candidates))
    for name, values in features.items():
        low = float(values.min()) if name in spread else 0.0
        high = float(values.max())
        if high > low:
            scores += weights[name] * (values - low) / (high - low)
    scores /= sum(weights.values())
    flags = corpus.view.file_flags[shown[candidates]]
    for flag, prior in _PRIORS.items():
        if not query.asked & flag:
            scores[(flags & flag) > 0] *= prior
    return scores


def _rows(
    corpus: Corpus,
    evidence: Evidence,
    candidates: npt.NDArray[np.int64],
    scores: Floats,
    shown: npt.NDArray[np.int64],
    limit: int,
) -> list[Ranked]:
    if len(candidates) > limit:
        # The best row of a file has the file's score, so no other file can have a place in the answer.
        enough = scores >= np.partition(scores, len(scores) - limit)[len(scores) - limit]
        candidates, scores = candidates[enough], scores[enough]
    groups = _Groups.of(corpus, candidates)
    rows, owner = groups.rows, groups.owner
    value = (
        _scaled(evidence.row_words[rows])
        + 0.7 * _scaled(evidence.row_names[rows])
        + 1.0 * _scaled(evidence.row_defines[rows] * _IS_TYPE[corpus.kinds[rows] & (TEST - 1)])
        + 0.6 * _scaled(np.maximum(evidence.row_agreement[rows] - 0.5, 0.0))
    )
    relevant = value > 0
    rows, owner, value = rows[relevant], owner[relevant], value[relevant]
    # Within a file the best row comes first and has the file's score; each further one less of it.
    order = np.lexsort((rows, -value, owner))
    rows, owner, value = rows[order], owner[order], value[order]
    first = np.flatnonzero(np.diff(owner, prepend=-1))
    ordinal = np.arange(len(rows)) - np.repeat(first, np.diff(first, append=len(rows)))
    best = np.repeat(value[first], np.diff(first, append=len(rows)))
    score = scores[owner] * _NEXT_ROW ** np.minimum(ordinal, 30) * (0.5 + 0.5 * value / best)
    if len(score) > limit:
        # All that tie with the last one are compared by path, whatever their place in the segments.
        enough = score >= np.partition(score, len(score) - limit)[len(score) - limit]
        rows, owner, score = rows[enough], owner[enough], score[enough]
    answer = [
        Ranked(int(row), int(shown[candidates[own]]), float(one), float(evidence.row_agreement[row]))
        for row, own, one in zip(rows, owner, score, strict=True)
    ]
    answer.sort(key=lambda hit: (-hit.score, corpus.view.path(hit.file), hit.row))
    return answer[:limit]


class _Groups(NamedTuple):
    """The rows of some documents: `rows` and for each its document's place `owner`, `start` of each document in them."""

    rows: npt.NDArray[np.int64]
    owner: npt.NDArray[np.int64]
    start: npt.NDArray[np.int64]
    count: npt.NDArray[np.int64]

    @classmethod
    def of(cls, corpus: Corpus, documents: npt.NDArray[np.int64]) -> _Groups:
        first, count = corpus.document_start[documents], corpus.document_rows[documents]
        start = np.cumsum(count) - count
        rows = np.arange(int(count.sum())) + np.repeat(first - start, count)
        return cls(rows, np.repeat(np.arange(len(documents)), count), start, count)

    def mean(self, values: Floats) -> Floats:
        return np.add.reduceat(values, self.start) / self.count

    def best(self, values: Floats) -> Floats:
        best: Floats = np.maximum.reduceat(values, self.start)
        return best

    def best_three(self, values: Floats) -> Floats:
        """The sum of the three largest values of each document; values are at or above zero."""
        left, total = values.copy(), np.zeros(len(self.start))
        for _ in range(3):
            best = np.maximum(self.best(left), 0.0)
            total += best
            equal = np.flatnonzero(left == best[self.owner])
            left[equal[np.diff(self.owner[equal], prepend=-1) != 0]] = -1.0
        return total


def _scaled(values: Floats) -> Floats:
    high = float(values.max(initial=0.0))
    return values / high if high else values
