"""Explaining the score of a hit by kind of evidence.

The parts of a hit add up to its margin exactly, and its score is the logistic function of the margin. They
are read from the decision trees, see `ctx.ranking.gbdt`; nothing is fitted afterwards.
"""

from __future__ import annotations

from typing import NamedTuple

from ctx.ranking.corpus import Corpus
from ctx.ranking.features import GROUPS
from ctx.ranking.gbdt import UNIT, file_ranker
from ctx.ranking.query import Query
from ctx.ranking.ranker import PlacedRow, Pool, RankedRow, place_rows, priors_of, ranked_row, read_pool
from ctx.ranking.tuning import PLAIN, Tuning
from ctx.storage.arrays import Bools
from ctx.storage.views import paths

COMMON = "common"
"""Part that all candidates share: the mean of the trees."""
CORRECTION = "correction"
"""Part from the correction by the history of the files, if the user enabled it."""
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
    candidates = sorted({one.candidate for one in placed})
    steps = (tuning.ensemble or file_ranker()).contributions(pool.features[candidates]) / UNIT
    parts = {one: _parts(pool, one, moves) for one, moves in zip(candidates, steps.tolist(), strict=True)}
    return [
        Explained(
            ranked_row(pool, one),
            one.score,
            parts[one.candidate] | ({FURTHER_ROW: -one.loss} if one.loss else {}),
            float(pool.signals.row_words[one.row]),
        )
        for one in placed
    ]


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


def _deepened(pool: Pool, placed: list[PlacedRow], deep: int) -> list[PlacedRow]:
    """Return the same rows and, after them, all others of the best files."""
    best = set(list(dict.fromkeys(one.candidate for one in placed))[:deep])
    shown = {one.row for one in placed}
    return placed + [
        one
        for one in place_rows(pool, pool.corpus.rows)
        if one.candidate in best and one.row not in shown and one.score > _LEAST_SCORE
    ]
