"""Ranking of commits for a query: BM25 over message, paths and changes, plus similarity of vectors.

Statistics cover all commits of the history, so filters do not change them (BM25: Robertson and Zaragoza
2009). The age of a commit has no influence.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ctx.history.block import ADDED, MESSAGE, PATHS, REMOVED
from ctx.history.view import Postings, View
from ctx.models.static_embedding import StaticEmbedding
from ctx.storage.vectors import DIMENSIONS
from ctx.text.query import read_query

_K1 = 1.2
_B = 0.4
_WEIGHTS = {MESSAGE: 1.0, PATHS: 0.35, ADDED: 0.7, REMOVED: 0.6}
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

Scores = npt.NDArray[np.float64]
Numbers = npt.NDArray[np.int64]


class Ranking(NamedTuple):
    """Scores in 0..1 of commits, `commit` (commits,), and rows, `row` (rows,); 0 for unrelated ones.

    A score is a share of the maximum evidence, so 1 is an upper bound.
    `gained` and `lost` (commits,) are the shares of the query, 0..1, that each commit added or removed.
    """

    commit: Scores
    row: Scores
    gained: Scores
    lost: Scores


def rank(
    view: View, query: str, embedder: StaticEmbedding, wanted: npt.NDArray[np.bool_] | None = None
) -> Ranking:
    """Score all commits and rows; rows that are not `wanted` only count for statistics."""
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
    row /= _MOST
    if wanted is not None:
        row *= wanted
    commit = _of_commits(view, kinds, row)
    return Ranking(commit, row, gained / (mass or 1.0), lost / (mass or 1.0))


def _distinct(ascending: Numbers) -> int:
    """Count distinct values (`np.unique` imports masked arrays, which takes longer than a query)."""
    return int(np.count_nonzero(np.diff(ascending, prepend=-1)))


def _mean_lengths(kinds: npt.NDArray[np.uint8], lengths: npt.NDArray[np.uint16]) -> Scores:
    """Return the mean tokens of a row of each kind, at least 1."""
    total = np.bincount(kinds, weights=lengths, minlength=len(_WEIGHTS))
    return np.maximum(total / np.maximum(np.bincount(kinds, minlength=len(_WEIGHTS)), 1), 1.0)


def _of_commits(view: View, kinds: npt.NDArray[np.uint8], row: Scores) -> Scores:
    """Return the sum of each commit's best scores: message, paths, and the better of added and removed."""
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
    """Return the commits in `among`, oldest first, whose share of the query is near the best of them."""
    best = float(share[among].max(initial=0.0))
    if best < _WHOLE:
        return np.zeros(0, dtype=np.int64)
    return np.flatnonzero(among & (share >= max(_WHOLE, _NEARLY * best)))


def _net(
    view: View, kinds: npt.NDArray[np.uint8], found: Postings, wanted: npt.NDArray[np.bool_] | None
) -> Numbers:
    """Return for each commit the occurrences of a term added minus those removed."""
    sign = np.where(kinds[found.rows] == ADDED, 1, np.where(kinds[found.rows] == REMOVED, -1, 0))
    if wanted is not None:
        sign = sign * wanted[found.rows]
    return np.bincount(
        view.commit_of_row[found.rows], weights=sign * found.times, minlength=view.commits
    ).astype(np.int64)


def _idf(commits: int, having: int) -> float:
    return float(np.log1p((commits - having + 0.5) / (having + 0.5)))


def _agreement(view: View, query: str, embedder: StaticEmbedding) -> Scores:
    """Return the share of sign bits that each row shares with the query; 0 for a query without words."""
    vector = embedder.embed_query(query)
    bits = np.ascontiguousarray(view.arrays["row_bits"]).view("<u8")
    if not vector.any() or not len(bits):
        return np.zeros(len(bits))
    own = np.packbits(vector >= 0).view("<u8")
    differing = np.bitwise_count(bits ^ own).sum(axis=1, dtype=np.int64)
    agreement: Scores = 1.0 - differing / DIMENSIONS
    # The vector of a text without words is meaningless.
    agreement[view.arrays["row_length"] == 0] = 0.0
    return agreement
