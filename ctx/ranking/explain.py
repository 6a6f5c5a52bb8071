"""Explaining the score of a hit by kind of evidence.

The parts of a hit add up to its margin exactly, and its score is the logistic function of the margin. They
are read from the decision trees, see `ctx.ranking.gbdt`; nothing is fitted afterwards.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ctx.ranking.corpus import Corpus
from ctx.ranking.features import GROUPS
from ctx.ranking.gbdt import UNIT, file_ranker
from ctx.ranking.query import Query
from ctx.ranking.ranker import PlacedRows, Pool, RankedRow, place_rows, priors_of, ranked_rows, read_pool
from ctx.ranking.tuning import PLAIN, Tuning
from ctx.storage.arrays import Bools
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
KINDS = {
    paths.TEST: "a test",
    paths.EXAMPLE: "an example",
    paths.VENDORED: "vendored",
    paths.DOCS: "documentation",
    paths.CONFIG: "configuration",
    paths.DATA: "data",
    paths.DECLARATIONS: "declarations only",
    paths.LEGACY: "legacy",
}
"""Part from the kind of a file, by path flag."""


class Explained(NamedTuple):
    """A row of the answer, its margin and the parts of the margin.

    `parts` maps a group of features (`features.GROUPS`), `COMMON`, `CORRECTION`, `VERBATIM`,
    `FURTHER_ROW` or the kind of file ("a test") to its contribution. `words` is the BM25 of the row's text.
    """

    hit: RankedRow
    margin: float
    parts: dict[str, float]
    words: float


def explain(
    corpus: Corpus,
    query: Query,
    allowed: Bools | None,
    limit: int,
    tuning: Tuning = PLAIN,
    deep: int = 0,
    most_files: int | None = None,
) -> list[Explained]:
    """Return the answer of `ranker.rank` with the reasons for each row.

    For the `deep` best files all rows are returned. `most_files` is the number of files to rank, if not
    `limit`: files are scored relative to each other, so more candidates could change their order.
    """
    pool = read_pool(corpus, query, allowed, limit if most_files is None else most_files, None, tuning)
    placed = place_rows(pool, limit)
    if deep:
        placed = _deepened(pool, placed, deep)
    # The evidence for a file is the same for all of its rows.
    own, of_row = np.unique(placed.candidates, return_inverse=True)
    steps = (tuning.ensemble or file_ranker()).contributions(pool.features[own]) / UNIT
    parts = [_parts(pool, file, moves) for file, moves in zip(own.tolist(), steps.tolist(), strict=True)]
    explained = []
    for hit, number, loss, score in zip(
        ranked_rows(pool, placed),
        of_row.tolist(),
        placed.losses.tolist(),
        placed.scores.tolist(),
        strict=True,
    ):
        further = {FURTHER_ROW: -loss} if loss else {}
        words = float(pool.signals.row_words[hit.row])
        explained.append(Explained(hit, score, parts[number] | further, words))
    return explained


def _parts(pool: Pool, candidate: int, moves: list[float]) -> dict[str, float]:
    """Return the parts of a candidate's margin, given what each feature and, last, the mean contribute."""
    parts = dict.fromkeys(_PARTS, 0.0)
    parts[COMMON] = moves[-1]
    for group, move in zip(GROUPS.values(), moves, strict=False):
        parts[group] += move
    flags = int(pool.corpus.view.file_flags[pool.candidates.files[candidate]])
    for flag, prior in priors_of(pool.query.requested, pool.query.is_symbol).items():
        if flags & flag:
            parts[KINDS[flag]] = -prior
    parts[NAMES] += float(pool.gains[candidate])
    for name, values in ((VERBATIM, pool.verbatim), (CORRECTION, pool.corrections)):
        if values[candidate]:
            parts[name] = float(values[candidate])
    return parts


def _deepened(pool: Pool, placed: PlacedRows, deep: int) -> PlacedRows:
    """Return the same rows and, after them, all others of the best files."""
    best = np.array(sorted(list(dict.fromkeys(placed.candidates.tolist()))[:deep]), dtype=np.int64)
    of_best = pool._replace(candidates=pool.candidates.among(best), scores=pool.scores[best])
    every = place_rows(of_best, pool.corpus.rows)
    new = ~np.isin(every.rows, placed.rows) & (every.scores > _LEAST_SCORE)
    return PlacedRows(
        np.concatenate([placed.rows, every.rows[new]]),
        np.concatenate([placed.candidates, best[every.candidates[new]]]),
        np.concatenate([placed.losses, every.losses[new]]),
        np.concatenate([placed.scores, every.scores[new]]),
    )
