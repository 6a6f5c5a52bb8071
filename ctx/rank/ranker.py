"""Ranking: the learned trees decide which files, evidence of rows decides the place in them."""

from __future__ import annotations

from math import exp
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ctx.rank.corpus import Corpus
from ctx.rank.evidence import Evidence, Floats, gather
from ctx.rank.features import IS_TYPE, file_features
from ctx.rank.groups import Groups
from ctx.rank.query import Query
from ctx.rank.trees import Trees, file_ranker
from ctx.rank.tuning import PLAIN, Tuning
from ctx.records import TEST
from ctx.views import paths

POOL = 50
"""Candidates of each kind that are looked at, at least."""

# What a file loses where the query did not ask for such files, in units of the trees' sums.
_PRIORS = {
    paths.TEST: 2.0,
    paths.EXAMPLE: 1.5,
    paths.VENDORED: 1.5,
    paths.DOCS: 1.5,
    paths.CONFIG: 1.5,
    paths.DATA: 1.5,
    paths.DECLARATIONS: 0.5,
    paths.LEGACY: 0.75,
}

_NEXT_ROW = 4.0
"""What each further row of the same file loses, in the same units."""


class Ranked(NamedTuple):
    """One row of the answer: score in 0..1, agreement of the vectors in 0..1."""

    row: int
    file: int
    score: float
    agreement: float


def rank(
    corpus: Corpus,
    query: Query,
    allowed: npt.NDArray[np.bool_] | None,
    limit: int,
    only: npt.NDArray[np.bool_] | None = None,
    tuning: Tuning = PLAIN,
) -> list[Ranked]:
    """The best rows. `allowed` (files,) and `only` (rows,) bool restrict the answer, never the statistics.

    Each file that is allowed has a row of `only`.
    """
    query = tuning.read(query)
    evidence = gather(corpus, query)
    if only is not None:
        evidence = evidence.among(only)
    if allowed is None:
        shown = corpus.shown
    else:
        shown = corpus.shown_among(np.flatnonzero(allowed & (corpus.file_document >= 0)))
    open_documents = shown >= 0
    candidates = candidates_of(corpus, evidence, open_documents, max(POOL, limit))
    if not len(candidates):
        return []
    scores = _file_scores(corpus, query, evidence, candidates, shown, tuning.trees or file_ranker())
    if tuning.correct is not None:
        scores = tuning.correct(corpus.view, query, shown[candidates], scores)
    return _rows(corpus, evidence, candidates, scores, shown, limit, only)


def candidates_of(
    corpus: Corpus, evidence: Evidence, open_documents: npt.NDArray[np.bool_], pool: int = POOL
) -> npt.NDArray[np.int64]:
    """Documents that are among the best by any kind of evidence."""
    best = [
        corpus.best_of_documents(values)
        for values in (
            evidence.row_words,
            evidence.row_names,
            evidence.row_defines,
            # Half of the bits agree by chance.
            np.maximum(evidence.row_agreement - 0.5, 0.0),
        )
    ]
    documents = (evidence.document_words, evidence.document_path, evidence.document_names)
    candidate = np.zeros(corpus.documents, dtype=bool)
    candidate[np.concatenate([_top(values, open_documents, pool) for values in (*best, *documents)])] = True
    return np.flatnonzero(candidate & (corpus.document_rows > 0))


def _top(values: Floats, open_: npt.NDArray[np.bool_], count: int) -> npt.NDArray[np.int64]:
    """The places of the largest positive values, all that tie with the last one included."""
    places = np.flatnonzero(open_ & (values > 0))
    if len(places) > count:
        least = np.partition(values[places], len(places) - count)[len(places) - count]
        places = places[values[places] >= least]
        # A flood of equal values (a word that is everywhere) says nothing, and paths must not decide.
        if len(places) > 4 * count:
            places = places[values[places] > least]
    return places


def _file_scores(
    corpus: Corpus,
    query: Query,
    evidence: Evidence,
    candidates: npt.NDArray[np.int64],
    shown: npt.NDArray[np.int64],
    trees: Trees,
) -> Floats:
    files = shown[candidates]
    margins = trees.margins(file_features(corpus, query, evidence, candidates, files))
    flags = corpus.view.file_flags[files]
    for flag, prior in _PRIORS.items():
        if not query.asked & flag:
            margins[(flags & flag) > 0] -= prior
    return margins


def _rows(
    corpus: Corpus,
    evidence: Evidence,
    candidates: npt.NDArray[np.int64],
    scores: Floats,
    shown: npt.NDArray[np.int64],
    limit: int,
    only: npt.NDArray[np.bool_] | None,
) -> list[Ranked]:
    if len(candidates) > limit:
        # The best row of a file has the file's score, so no other file can have a place in the answer.
        enough = scores >= np.partition(scores, len(scores) - limit)[len(scores) - limit]
        candidates, scores = candidates[enough], scores[enough]
    groups = Groups.of(corpus, candidates)
    rows, owner = groups.rows, groups.owner
    if only is not None:
        rows, owner = rows[only[rows]], owner[only[rows]]
    value = (
        _scaled(evidence.row_words[rows])
        + 0.7 * _scaled(evidence.row_names[rows])
        + 1.0 * _scaled(evidence.row_defines[rows] * IS_TYPE[corpus.kinds[rows] & (TEST - 1)])
        + 0.6 * _scaled(np.maximum(evidence.row_agreement[rows] - 0.5, 0.0))
    )
    # Within a file the best row comes first and has the file's score; each further one less of it.
    order = np.lexsort((rows, -value, owner))
    rows, owner, value = rows[order], owner[order], value[order]
    first = np.flatnonzero(np.diff(owner, prepend=-1))
    ordinal = np.arange(len(rows)) - np.repeat(first, np.diff(first, append=len(rows)))
    best = np.repeat(value[first], np.diff(first, append=len(rows)))
    score = scores[owner] - _NEXT_ROW * ordinal - (1.0 - value / np.maximum(best, 1e-9)) * (ordinal > 0)
    # What found a file may be its path alone: then its first row stands for it, and no other.
    shown_rows = (value > 0) | (ordinal == 0)
    rows, owner, score = rows[shown_rows], owner[shown_rows], score[shown_rows]
    if len(score) > limit:
        # All that tie with the last one are compared by path, whatever their place in the segments.
        enough = score >= np.partition(score, len(score) - limit)[len(score) - limit]
        rows, owner, score = rows[enough], owner[enough], score[enough]
    answer = [
        Ranked(
            int(row),
            int(shown[candidates[own]]),
            round(1.0 / (1.0 + exp(-one)), 6),
            float(evidence.row_agreement[row]),
        )
        for row, own, one in zip(rows.tolist(), owner.tolist(), score.tolist(), strict=True)
    ]
    answer.sort(key=lambda hit: (-hit.score, corpus.view.path(hit.file), hit.row))
    return answer[:limit]


def _scaled(values: Floats) -> Floats:
    high = float(values.max(initial=0.0))
    return values / high if high else values
