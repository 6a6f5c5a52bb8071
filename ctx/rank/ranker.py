"""Ranking: trees that learned from commits decide which files, others which place in each."""

from __future__ import annotations

from math import exp
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ctx.rank.corpus import Corpus
from ctx.rank.evidence import Evidence, Floats, gather
from ctx.rank.features import FEATURES, file_features
from ctx.rank.groups import Groups
from ctx.rank.query import Query, plain_words
from ctx.rank.rows import row_features
from ctx.rank.translated import settle
from ctx.rank.trees import file_ranker, row_ranker
from ctx.rank.tuning import PLAIN, Tuning
from ctx.views import paths

POOL = 50
"""Candidates of each kind that are looked at, at least."""

# What a file loses where the query did not ask for such files, in units of the trees' sums.
PRIORS = {
    paths.TEST: 2.0,
    paths.EXAMPLE: 1.5,
    paths.VENDORED: 1.5,
    paths.DOCS: 4.0,
    paths.CONFIG: 1.5,
    paths.DATA: 1.5,
    paths.DECLARATIONS: 0.5,
    paths.LEGACY: 0.75,
}

CALLED_SO = 3.0
"""What a file, and the row in it, gains that defines something called just what the query says in two words
or more: commits say little of that, so the trees do not know how sure it is. In the same units."""

_NEXT_ROW = 4.0
"""What each further row of the same file loses, in the same units."""


class Ranked(NamedTuple):
    """One row of the answer: score in 0..1, agreement of the vectors in 0..1."""

    row: int
    file: int
    score: float
    agreement: float


class Pool(NamedTuple):
    """The candidates of one query.

    `documents` (n,), the files (n,) that stand for them, their features (n, FEATURES); in units of the trees'
    sums, all (n,), what each file loses by what it is, what it gains by what it defines, what a correction
    adds, and its score.
    """

    evidence: Evidence
    documents: npt.NDArray[np.int64]
    files: npt.NDArray[np.int64]
    features: npt.NDArray[np.float32]
    priors: Floats
    gains: Floats
    corrections: Floats
    scores: Floats


class PlacedRows(NamedTuple):
    """Rows of the answer, best first; all (n,).

    The row, its candidate's place in the pool, what the row loses within its file, and its score.
    """

    rows: npt.NDArray[np.int64]
    candidates: npt.NDArray[np.int64]
    losses: Floats
    scores: Floats


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
    query = settled(corpus, tuning.read(query))
    pool = pool_of(corpus, query, allowed, limit, only, tuning)
    return ranked(corpus, pool, place_rows(corpus, query, pool, limit, only))


def settled(corpus: Corpus, query: Query) -> Query:
    """The query with the weights that translated words have in a tree; any other query as it is."""
    if not query.alternatives:
        return query
    occurs = np.zeros(len(query.terms), dtype=bool)
    occurs[corpus.find(query.hashes).term] = True
    weights = settle(query.weights, query.alternatives, occurs)
    return query._replace(weights=weights, words=plain_words(query.terms, weights))


def pool_of(
    corpus: Corpus,
    query: Query,
    allowed: npt.NDArray[np.bool_] | None,
    limit: int,
    only: npt.NDArray[np.bool_] | None = None,
    tuning: Tuning = PLAIN,
) -> Pool:
    """The candidates and their scores, see `rank`; the query is `settled` after the tuning has read it."""
    evidence = gather(corpus, query)
    if only is not None:
        evidence = evidence.among(only)
    if allowed is None:
        shown = corpus.shown
    else:
        shown = corpus.shown_among(np.flatnonzero(allowed & (corpus.file_document >= 0)))
    documents = candidates_of(corpus, evidence, shown >= 0, max(POOL, limit))
    files = shown[documents]
    if not len(documents):
        none = np.zeros(0)
        return Pool(
            evidence, documents, files, np.zeros((0, len(FEATURES)), np.float32), none, none, none, none
        )
    table = file_features(corpus, query, evidence, documents, files)
    flags, priors = corpus.view.file_flags[files], np.zeros(len(files))
    for flag, prior in PRIORS.items():
        if not query.asked & flag:
            priors[(flags & flag) > 0] += prior
    gains = np.zeros(len(files))
    gains[np.isin(documents, corpus.document_of[evidence.row_called])] = CALLED_SO
    plain = (tuning.trees or file_ranker()).margins(table) - priors + gains
    scores = plain if tuning.correct is None else tuning.correct(corpus.view, query, files, plain)
    return Pool(evidence, documents, files, table, priors, gains, scores - plain, scores)


def ranked(corpus: Corpus, pool: Pool, placed: PlacedRows) -> list[Ranked]:
    """The rows as they are handed on."""
    return [
        Ranked(row, int(pool.files[own]), round(1.0 / (1.0 + exp(-score)), 6), float(agreement))
        for row, own, score, agreement in zip(
            placed.rows.tolist(),
            placed.candidates.tolist(),
            placed.scores.tolist(),
            pool.evidence.row_agreement[placed.rows].tolist(),
            strict=True,
        )
    ]


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


def place_rows(
    corpus: Corpus, query: Query, pool: Pool, limit: int, only: npt.NDArray[np.bool_] | None = None
) -> PlacedRows:
    """The best rows of the best files: of each file the best first, with the score of the file."""
    kept = np.arange(len(pool.documents))
    if len(kept) > limit:
        # The best row of a file has the file's score, so no other file can have a place in the answer.
        kept = np.flatnonzero(pool.scores >= np.partition(pool.scores, len(kept) - limit)[len(kept) - limit])
    if not len(kept):
        return PlacedRows(kept, kept, np.zeros(0), np.zeros(0))
    groups = Groups.of(corpus, pool.documents[kept])
    rows, owner, evidence = groups.rows, groups.owner, pool.evidence
    fit = row_ranker().margins(row_features(corpus, query, evidence, groups, pool.files[kept]))
    fit = fit + CALLED_SO * evidence.row_called[rows]  # what gave the file its gain is what to show of it
    if only is not None:
        rows, owner, fit = rows[only[rows]], owner[only[rows]], fit[only[rows]]
    order = np.lexsort((rows, -fit, owner))
    rows, owner, fit = rows[order], owner[order], fit[order]
    first = np.flatnonzero(np.diff(owner, prepend=-1))
    ordinal = np.arange(len(rows)) - np.repeat(first, np.diff(first, append=len(rows)))
    losses = np.where(ordinal > 0, _NEXT_ROW * ordinal + fit[first][owner] - fit, 0.0)
    # What found a file may be its path alone: then its first row stands for it, and no other.
    speaks = (
        (evidence.row_words[rows] > 0)
        | (evidence.row_names[rows] > 0)
        | (evidence.row_defines[rows] > 0)
        | (evidence.row_agreement[rows] > 0.5)
    )
    shown = np.flatnonzero(speaks | (ordinal == 0))
    score = pool.scores[kept][owner[shown]] - losses[shown]
    if len(score) > limit:
        # All that tie with the last one are compared by path, whatever their place in the segments.
        enough = score >= np.partition(score, len(score) - limit)[len(score) - limit]
        shown, score = shown[enough], score[enough]
    answer = sorted(
        range(len(shown)),
        key=lambda at: (
            -round(float(score[at]), 6),
            corpus.view.path(int(pool.files[kept[owner[shown[at]]]])),
            int(rows[shown[at]]),
        ),
    )[:limit]
    at = shown[answer]
    return PlacedRows(rows[at], kept[owner[at]], losses[at], score[answer])
