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
    usable = corpus.file_document >= 0
    if allowed is not None:
        usable &= allowed
    files = np.flatnonzero(usable)
    if not len(files):
        return []
    shown = _shown_file(corpus, files)
    open_documents = shown >= 0
    open_rows = open_documents[corpus.document_of]
    pool = max(POOL, limit)
    candidates = _candidates(corpus, evidence, open_documents, open_rows, pool)
    if not len(candidates):
        return []
    scores = _file_scores(corpus, query, evidence, candidates, shown)
    return _rows(corpus, evidence, candidates, scores, shown, limit)


def _shown_file(corpus: Corpus, files: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """For each document the file that stands for it: fewest flags, then path; -1 where none may be shown."""
    shown = np.full(corpus.documents, -1, dtype=np.int64)
    documents = corpus.file_document[files]
    flags = corpus.view.file_flags[files]
    # Paths are compared only where a document has several files.
    order = np.lexsort((files, np.bitwise_count(flags), documents))
    documents, files = documents[order], files[order]
    first = np.flatnonzero(np.diff(documents, prepend=-1))
    shown[documents[first]] = files[first]
    for start, end in zip(first.tolist(), [*first[1:].tolist(), len(files)], strict=True):
        if end - start > 1:
            same = files[start:end].tolist()
            shown[documents[start]] = min(
                same,
                key=lambda file: (int(corpus.view.file_flags[file]).bit_count(), corpus.view.path(file)),
            )
    return shown


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
    return np.unique(np.concatenate(found)).astype(np.int64)


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
    start, count = corpus.document_start[candidates], corpus.document_rows[candidates]
    rows, owner = _rows_of(start, count)
    mean_agreement = np.bincount(owner, evidence.row_agreement[rows], len(candidates)) / np.maximum(count, 1)
    defines = evidence.row_defines * _IS_TYPE[corpus.kinds & (TEST - 1)]
    path_bits = corpus.view.path_vectors[shown[candidates]]
    path_agreement = (2.0 * np.unpackbits(path_bits, axis=1) - 1.0) @ query.vector
    features = {
        "three_rows": _best_three(evidence.row_words[rows], owner, len(candidates)),
        "best_row": _best(evidence.row_words[rows], owner, len(candidates)),
        "whole_file": evidence.document_words[candidates],
        "coverage": evidence.document_coverage[candidates],
        "path": evidence.file_path[shown[candidates]],
        "names": evidence.document_names[candidates],
        "best_names": _best(evidence.row_names[rows], owner, len(candidates)),
        "agreement": _best_three(evidence.row_agreement[rows], owner, len(candidates)),
        "mean_agreement": mean_agreement,
        "path_agreement": path_agreement,
        "defines": _best(defines[rows], owner, len(candidates)),
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
    rows, owner = _rows_of(corpus.document_start[candidates], corpus.document_rows[candidates])
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


def _rows_of(
    start: npt.NDArray[np.int64], count: npt.NDArray[np.int64]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """The rows of some documents and for each the place of its document."""
    owner = np.repeat(np.arange(len(start)), count)
    return np.arange(int(count.sum())) + np.repeat(start - (np.cumsum(count) - count), count), owner


def _best(values: Floats, owner: npt.NDArray[np.int64], owners: int) -> Floats:
    best = np.zeros(owners)
    np.maximum.at(best, owner, values)
    return best


def _best_three(values: Floats, owner: npt.NDArray[np.int64], owners: int) -> Floats:
    order = np.lexsort((-values, owner))
    values, owner = values[order], owner[order]
    first = np.flatnonzero(np.diff(owner, prepend=-1))
    ordinal = np.arange(len(values)) - np.repeat(first, np.diff(first, append=len(values)))
    return np.bincount(owner[ordinal < 3], values[ordinal < 3], owners)


def _scaled(values: Floats) -> Floats:
    high = float(values.max(initial=0.0))
    return values / high if high else values
