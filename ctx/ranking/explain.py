"""Explaining the score of a hit by kind of evidence.

The parts of a hit add up to its margin exactly, and its score is the logistic function of the margin. They
are read from the decision trees, see `ctx.ranking.gbdt`; nothing is fitted afterwards.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ctx.ranking.corpus import Corpus
from ctx.ranking.features import GROUPS
from ctx.ranking.gbdt import UNIT, file_ranker
from ctx.ranking.query import Query
from ctx.ranking.ranker import PlacedRows, Pool, RankedRow, place_rows, pool_of, priors_of, ranked, settled
from ctx.ranking.tuning import PLAIN, Tuning
from ctx.storage.views import paths

COMMON = "common"
"""Part that all candidates share: the mean of the trees."""
CORRECTION = "correction"
"""Part from the correction fitted to the repository, if the user enabled it."""
VERBATIM = "to the letter"
"""Part from text of the file that matches the query verbatim."""
NAMES = "names"
"""Feature group of the `ranker.NAME_GAIN` gain."""
_LEAST_SCORE = -500.0
"""Scores below this are clamped: their logistic function underflows."""
FURTHER_ROW = "further chunk of the file"
_PARTS = (COMMON, *dict.fromkeys(GROUPS.values()))
_KINDS = {
    paths.TEST: "a test",
    paths.EXAMPLE: "an example",
    paths.VENDORED: "vendored",
    paths.DOCS: "documentation",
    paths.CONFIG: "configuration",
    paths.DATA: "data",
    paths.DECLARATIONS: "declarations only",
    paths.LEGACY: "legacy",
}


class Explained(NamedTuple):
    """A hit, its margin and the parts of the margin.

    `parts` maps a group of features (`features.GROUPS`), `COMMON`, `CORRECTION`, `VERBATIM`,
    `FURTHER_ROW` or the kind of file ("a test") to its contribution; `features` maps features to their
    contributions, and to their values. `words` is the BM25 of the row's text.
    """

    hit: RankedRow
    margin: float
    parts: dict[str, float]
    features: dict[str, tuple[float, float]]
    words: float


def explain(
    corpus: Corpus,
    query: Query,
    allowed: npt.NDArray[np.bool_] | None,
    limit: int,
    only: npt.NDArray[np.bool_] | None = None,
    tuning: Tuning = PLAIN,
    deep: int = 0,
    most_files: int | None = None,
) -> list[Explained]:
    """Return the answer of `ranker.rank` with the reasons for each hit.

    For the `deep` best files all rows are returned. `most_files` is the number of files to rank, if not
    `limit`: files are scored relative to each other, so more candidates could change their order.
    """
    query = settled(corpus, tuning.read(query))
    pool = pool_of(corpus, query, allowed, limit if most_files is None else most_files, only, tuning)
    placed = place_rows(corpus, query, pool, limit, only)
    if deep:
        placed = _deepened(corpus, query, pool, placed, deep)
    hits = ranked(corpus, pool, placed)
    if not hits:
        return []
    # The evidence for a file is the same for all of its rows.
    own, of_row = np.unique(placed.candidates, return_inverse=True)
    table = pool.features[own]
    steps = (tuning.ensemble or file_ranker()).contributions(table) / UNIT
    corrections, said = pool.corrections[own].tolist(), pool.said[own].tolist()
    flags = corpus.view.file_flags[pool.candidates.files[own]]
    files: list[tuple[dict[str, float], dict[str, tuple[float, float]]]] = []
    for number, (moves, values) in enumerate(zip(steps.tolist(), table.tolist(), strict=True)):
        parts = dict.fromkeys(_PARTS, 0.0)
        parts[COMMON] = moves[-1]
        features = {}
        for (feature, group), move, value in zip(GROUPS.items(), moves, values, strict=False):
            if move:
                parts[group] += move
                features[feature] = (move, value)
        for flag, prior in priors_of(query.requested, query.is_symbol).items():
            if int(flags[number]) & flag:
                parts[_KINDS[flag]] = -prior
        if gain := float(pool.gains[own[number]]):
            parts[NAMES] += gain
        if said[number]:
            parts[VERBATIM] = said[number]
        if corrections[number]:
            parts[CORRECTION] = corrections[number]
        files.append((parts, features))
    explained = []
    rows = zip(hits, of_row.tolist(), placed.losses.tolist(), placed.scores.tolist(), strict=True)
    for hit, number, loss, score in rows:
        parts, features = files[number]
        parts = {**parts, FURTHER_ROW: -loss} if loss else dict(parts)
        words = float(pool.signals.row_words[hit.row])
        explained.append(Explained(hit, score, parts, features, words))
    return explained


def _deepened(corpus: Corpus, query: Query, pool: Pool, placed: PlacedRows, deep: int) -> PlacedRows:
    """Return the same rows and, after them, all others of the best files."""
    best = np.array(list(dict.fromkeys(placed.candidates.tolist()))[:deep], dtype=np.int64)
    if not len(best):
        return placed
    best.sort()
    of_best = Pool(
        pool.signals,
        pool.candidates.among(best),
        pool.features[best],
        pool.priors[best],
        pool.gains[best],
        pool.said[best],
        pool.corrections[best],
        pool.scores[best],
    )
    every = place_rows(corpus, query, of_best, corpus.rows)
    new = ~np.isin(every.rows, placed.rows) & (every.scores > _LEAST_SCORE)
    return PlacedRows(
        np.concatenate([placed.rows, every.rows[new]]),
        np.concatenate([placed.candidates, best[every.candidates[new]]]),
        np.concatenate([placed.losses, every.losses[new]]),
        np.concatenate([placed.scores, every.scores[new]]),
    )
