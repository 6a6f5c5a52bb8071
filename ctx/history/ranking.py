"""Ranking of commits for a query: BM25 over message, paths and changes, plus similarity of vectors.

Statistics cover all commits of the history, so filters do not change them (BM25: Robertson and Zaragoza
2009). The age of a commit has no influence.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ctx.history.block import ADDED, MESSAGE, PATHS, REMOVED
from ctx.history.view import View
from ctx.models.static_embedding import sign_bits, static_embedding
from ctx.storage.arrays import Bools, Floats, Ints, begins
from ctx.storage.vectors import DIMENSIONS
from ctx.text.query import read_query

_K1 = 1.2
_B = 0.4
_WEIGHTS = np.array([1.0, 0.35, 0.7, 0.6])
"""Weight of each kind of row: MESSAGE, PATHS, ADDED, REMOVED."""
_MEANING = 0.5
"""Weight of full agreement of the vectors, relative to a match of all query terms."""
_MOST = (1.0 + _MEANING) * (_WEIGHTS[MESSAGE] + _WEIGHTS[PATHS] + max(_WEIGHTS[ADDED], _WEIGHTS[REMOVED]))
"""Upper bound of the evidence: message, paths and changes all match the query fully."""
_MOST_TERMS = 32
_FAR = 0.62
"""Agreement of sign bits below which a vector counts as unrelated; random vectors agree in 0.5."""
_WHOLE = 0.5
"""Minimum share of the query, by weight, that a change must concern for FIRST and LAST."""
_NEARLY = 0.75
_NEIGHBOUR = 1.0
"""Terms with a lower weight are guessed compounds and do not count for shares."""


class CommitScores(NamedTuple):
    """Scores in 0..1 of commits, `commit` (commits,), and rows, `row` (rows,); 0 for unrelated ones.

    A score is a share of the maximum evidence, so 1 is an upper bound.
    `gained` and `lost` (commits,) are the shares of the query, 0..1, that each commit added or removed.
    """

    commit: Floats
    row: Floats
    gained: Floats
    lost: Floats


def rank(view: View, query: str, among: Bools | None = None) -> CommitScores:
    """Score all commits and rows; rows that are not `among` these (rows,) only count for statistics."""
    kinds = view.arrays["row_kind"]
    lengths = view.arrays["row_length"]
    weight = _WEIGHTS[kinds]
    totals = np.bincount(kinds, weights=lengths, minlength=len(_WEIGHTS))
    mean = np.maximum(totals / np.maximum(np.bincount(kinds, minlength=len(_WEIGHTS)), 1), 1.0)
    sign = (kinds == ADDED).astype(np.int64) - (kinds == REMOVED)
    if among is not None:
        sign = sign * among
    row = np.zeros(len(kinds))
    gained, lost = np.zeros(view.commits), np.zeros(view.commits)
    best, mass = 0.0, 0.0
    for idf, is_word, rows, times in terms_of(view, query):
        mass += idf * is_word
        if not len(rows):
            best += idf * is_word
            continue
        norm = 1 - _B + _B * lengths[rows].astype(np.float64) / mean[kinds[rows]]
        row[rows] += idf * times * (_K1 + 1) / (times + _K1 * norm)
        best += idf * (_K1 + 1)
        if is_word:
            # Occurrences added minus those removed.
            net = np.bincount(view.commit_of_row[rows], weights=sign[rows] * times, minlength=view.commits)
            gained += idf * (net > 0)
            lost += idf * (net < 0)
    row *= weight / (best or 1.0)
    near = np.maximum(agreement(view, query) - _FAR, 0.0) / (1 - _FAR)
    row += _MEANING * weight * near
    row /= _MOST
    if among is not None:
        row *= among
    commit = _of_commits(view, kinds, row)
    return CommitScores(commit, row, gained / (mass or 1.0), lost / (mass or 1.0))


def _of_commits(view: View, kinds: npt.NDArray[np.uint8], row: Floats) -> Floats:
    """Return the sum of each commit's best scores: message, paths, and the better of added and removed."""
    own = np.flatnonzero(row)
    best = np.zeros(len(_WEIGHTS) * view.commits)
    np.maximum.at(best, kinds[own].astype(np.int64) * view.commits + view.commit_of_row[own], row[own])
    message, paths, added, removed = best.reshape(len(_WEIGHTS), -1)
    total: Floats = message + paths + np.maximum(added, removed)
    return total


def strongest(share: Floats, among: Bools) -> Ints:
    """Return the commits in `among`, oldest first, whose share of the query is near the best of them."""
    best = float(share[among].max(initial=0.0))
    if best < _WHOLE:
        return np.zeros(0, dtype=np.int64)
    return np.flatnonzero(among & (share >= max(_WHOLE, _NEARLY * best)))


def terms_of(view: View, query: str) -> Iterator[tuple[float, bool, Ints, Ints]]:
    """Yield for each term of a query its idf by weight, True for a word, and its rows and counts in them.

    Guessed compounds of neighbouring words are no words.
    """
    for term in read_query(query)[:_MOST_TERMS]:
        rows, times = view.postings(term.hash)
        having = int(np.count_nonzero(begins(view.commit_of_row[rows])))
        idf = term.weight * float(np.log1p((view.commits - having + 0.5) / (having + 0.5)))
        yield idf, term.weight >= _NEIGHBOUR, rows, times


def agreement(view: View, query: str) -> Floats:
    """Return the share of sign bits that each row shares with the query; 0 for a query without words."""
    vector = static_embedding().embed_query(query)
    bits = np.ascontiguousarray(view.arrays["row_bits"]).view("<u8")
    if not vector.any() or not len(bits):
        return np.zeros(len(bits))
    own = sign_bits(vector).view("<u8")
    differing = np.bitwise_count(bits ^ own).sum(axis=1, dtype=np.int64)
    shares: Floats = 1.0 - differing / DIMENSIONS
    # The vector of a text without words is meaningless.
    shares[view.arrays["row_length"] == 0] = 0.0
    return shares
