"""The distribution of evidence over a file and its folder.

The features are shares and ranks only; none grows with the size of a file.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ctx.ranking.candidates import CombinedFields, weighted
from ctx.ranking.path_words import PathWords
from ctx.ranking.query import Query
from ctx.ranking.references import weights
from ctx.ranking.signals import Signals
from ctx.storage.arrays import Floats, Ints

_HALF = 3.0
"""Sum of saturated frequencies at which a word counts half in `flat`."""
_MOST_PLACES = 10.0


def spread(
    signals: Signals,
    query: Query,
    fields: CombinedFields,
    counts: Ints,
    three: Floats,
    is_type: Floats,
    is_definition: Floats,
) -> dict[str, Floats]:
    """Return features (n,) of candidates with `counts` (n,) rows in all.

    `three` (n,) are the sums of the best three rows of `fields.text`; `is_type` and `is_definition` (rows,)
    classify the matching rows.
    """
    groups = fields.groups
    rows, start = groups.rows, groups.start
    possible = max(1e-9, float(signals.word_idf.sum()))
    coverage = fields.coverage / possible
    widest = groups.best(coverage)
    # First of the best rows of each file.
    best = groups.first_at(fields.text == groups.best(fields.text).repeat(groups.counts))
    idf = signals.word_idf[query.words]
    worth = np.minimum(idf[1:], idf[:-1])
    has = fields.dense[query.words] > 0
    together = has[1:] & has[:-1]
    total = sum(worth.tolist(), 1e-9)
    sums = np.add.reduceat(fields.in_text, start, axis=1)
    second = np.partition(three, -2)[-2] if len(three) > 1 else 0.0
    lead = (three - second) / max(1e-9, float(three.max(initial=0.0)))
    return {
        "match_share": groups.total((signals.row_words[rows] > 0).astype(np.float64)) / counts,
        "half_share": groups.total((coverage > 0.5).astype(np.float64)) / counts,
        "best_is_type": is_type[best],
        "best_is_definition": is_definition[best],
        "best_place": (rows[best] - rows[start]) / counts,
        "first_row": fields.text[start] / possible,
        # Sums of idf are exact, so that a matrix product may add them in any order.
        "pair_row": groups.best(worth @ together) / total,
        "pairs": worth @ np.logical_or.reduceat(together, start, axis=1) / total,
        "flat": weighted(signals.term_weight, sums / (sums + _HALF)) / possible,
        "peaks": weighted(signals.term_weight, fields.peaks) / possible,
        "second_coverage": groups.best(np.where(coverage >= widest.repeat(groups.counts), 0.0, coverage)),
        "named_coverage": signals.word_idf @ fields.in_names / possible,
        "known_coverage": signals.word_idf @ (fields.in_names | fields.in_path) / possible,
        "lead": lead,
    }


def in_folder(known: Sequence[PathWords], value: Floats) -> dict[str, Floats]:
    """Return features (n,) of candidates relative to those of the same folder and the same name.

    `value` (n,) is the score of each for the query.
    """
    weight = weights(value)
    folders = np.array([one.folder for one in known])
    names = np.array([one.name for one in known])
    beside = folders == folders[:, None]
    others = beside @ weight - weight
    better = value > value[:, None]
    return {
        "folder_rank": np.minimum((beside & better).sum(axis=1), _MOST_PLACES),
        "name_rank": np.minimum(((names == names[:, None]) & better).sum(axis=1), _MOST_PLACES),
        "folder_share": others / max(1e-9, float(weight.sum())),
        "folder_mean": others / np.maximum(1, beside.sum(axis=1) - 1),
    }
