"""How well each commit answers a query: BM25 over message, paths and changes, and the agreement of vectors.

Statistics are of all commits of the history, so that filters never change them (BM25: Robertson and Zaragoza
2009). How old a commit is has no part in it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ctx.history.block import ADDED, MESSAGE, PATHS, REMOVED
from ctx.history.view import Postings, View
from ctx.models.protocol import Embedder
from ctx.storage.vectors import DIMENSIONS
from ctx.text.query import read_query

_K1 = 1.2
_B = 0.4
_WEIGHTS = {MESSAGE: 1.0, PATHS: 0.35, ADDED: 0.7, REMOVED: 0.6}
_MEANING = 0.5
"""What full agreement of the vectors counts beside all words of the query."""
_MOST_TERMS = 32
_FAR = 0.62
"""Agreement of sign bits below which a vector says nothing; chance gives 0.5."""
_WHOLE = 0.5
"""The share of the query, by weight, that a change must concern to count for its beginning or end."""
_NEARLY = 0.75
_NEIGHBOUR = 1.0
"""Terms that weigh less are guesses at compounds and count for no share."""

Scores = npt.NDArray[np.float64]
Numbers = npt.NDArray[np.int64]


class Ranking(NamedTuple):
    """`commit` (commits,) and `row` (rows,) scores, 0 for what has nothing to do with the query.

    `gained` and `lost` (commits,) are the shares of the query, 0..1, that each commit added or took away.
    """

    commit: Scores
    row: Scores
    gained: Scores
    lost: Scores


def rank(view: View, query: str, embedder: Embedder, wanted: npt.NDArray[np.bool_] | None = None) -> Ranking:
    """Score everything; rows that are not `wanted` count for statistics alone."""
    kinds = view.arrays["row_kind"]
    lengths = view.arrays["row_length"]
    weight = np.array([_WEIGHTS[kind] for kind in range(4)])[kinds]
    mean = _mean_lengths(kinds, lengths)
    row = np.zeros(len(kinds))
    gained, lost = np.zeros(view.commits), np.zeros(view.commits)
    best, mass = 0.0, 0.0
    for term in read_query(query)[:_MOST_TERMS]:
        found = view.postings(term.hash)
        if not len(found.rows):
            if term.weight >= _NEIGHBOUR:
                best += term.weight * _idf(view.commits, 0)
                mass += term.weight * _idf(view.commits, 0)
            continue
        idf = term.weight * _idf(view.commits, _distinct(view.commit_of_row[found.rows]))
        norm = 1 - _B + _B * lengths[found.rows].astype(np.float64) / mean[kinds[found.rows]]
        row[found.rows] += idf * found.times * (_K1 + 1) / (found.times + _K1 * norm)
        best += idf * (_K1 + 1)
        if term.weight >= _NEIGHBOUR:
            mass += idf
            net = _net(view, kinds, found, wanted)
            gained += idf * (net > 0)
            lost += idf * (net < 0)
    row *= weight / (best or 1.0)
    agreement = _agreement(view, query, embedder)
    near = np.maximum(agreement - _FAR, 0.0) / (1 - _FAR)
    row += _MEANING * weight * near
    if wanted is not None:
        row *= wanted
    commit = _of_commits(view, kinds, row)
    return Ranking(commit, row, gained / (mass or 1.0), lost / (mass or 1.0))


def _distinct(ascending: Numbers) -> int:
    """How many different numbers there are (`np.unique` loads masked arrays, longer than a query takes)."""
    return int(np.count_nonzero(np.diff(ascending, prepend=-1)))


def _mean_lengths(kinds: npt.NDArray[np.uint8], lengths: npt.NDArray[np.uint16]) -> Scores:
    """Tokens of a row of each kind, on average, at least one."""
    total = np.bincount(kinds, weights=lengths, minlength=len(_WEIGHTS))
    return np.maximum(total / np.maximum(np.bincount(kinds, minlength=len(_WEIGHTS)), 1), 1.0)


def _of_commits(view: View, kinds: npt.NDArray[np.uint8], row: Scores) -> Scores:
    """The best of each kind of row of a commit, added up."""
    commit = np.zeros(view.commits)
    change = np.zeros(view.commits)
    for kind in (MESSAGE, PATHS, ADDED, REMOVED):
        own = np.flatnonzero((kinds == kind) & (row > 0))
        score = np.zeros(view.commits)
        np.maximum.at(score, view.commit_of_row[own], row[own])
        if kind in (ADDED, REMOVED):
            change = np.maximum(change, score)
        else:
            commit += score
    return commit + change


def concerned(share: Scores, among: npt.NDArray[np.bool_]) -> Numbers:
    """The commits, oldest first, whose share of the query is near the best one of those that are wanted."""
    best = float(share[among].max(initial=0.0))
    if best < _WHOLE:
        return np.zeros(0, dtype=np.int64)
    return np.flatnonzero(among & (share >= max(_WHOLE, _NEARLY * best)))


def _net(
    view: View, kinds: npt.NDArray[np.uint8], found: Postings, wanted: npt.NDArray[np.bool_] | None
) -> Numbers:
    """How many more of a term each commit has after it than before."""
    sign = np.where(kinds[found.rows] == ADDED, 1, np.where(kinds[found.rows] == REMOVED, -1, 0))
    if wanted is not None:
        sign = sign * wanted[found.rows]
    return np.bincount(
        view.commit_of_row[found.rows], weights=sign * found.times, minlength=view.commits
    ).astype(np.int64)


def _idf(commits: int, having: int) -> float:
    return float(np.log1p((commits - having + 0.5) / (having + 0.5)))


def _agreement(view: View, query: str, embedder: Embedder) -> Scores:
    """The share of sign bits that each row has in common with the query; 0 for a query without words."""
    vector = embedder.embed_query(query)
    bits = np.ascontiguousarray(view.arrays["row_bits"]).view("<u8")
    if not vector.any() or not len(bits):
        return np.zeros(len(bits))
    own = np.packbits(vector >= 0).view("<u8")
    differing = np.bitwise_count(bits ^ own).sum(axis=1, dtype=np.int64)
    agreement: Scores = 1.0 - differing / DIMENSIONS
    # A text without words has a vector that means nothing.
    agreement[view.arrays["row_length"] == 0] = 0.0
    return agreement
