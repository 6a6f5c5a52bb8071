"""Features of each row of a file for the ranker of rows.

The file is given; the rows within it are ranked. So every feature compares the rows of one file, or gives the
kind of row. None is the length of a row: a long row is changed more often because it is long.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ctx.ranking.candidates import Candidates
from ctx.ranking.features import IS_DEFINITION, IS_TYPE
from ctx.ranking.query import Query
from ctx.ranking.signals import Signals
from ctx.types import KINDS

COMPARED = ("words", "united", "defined", "names", "whole", "defines", "coverage", "covered", "similar")
"""Features given as a share of the best row of the file, and as a share of the query's maximum."""
SINGLE = ("rule", "is_type", "is_definition", "is_imports", "place", "is_symbol", "has_names")
ROW_FEATURES = (*COMPARED, *(f"{name}/query" for name in COMPARED), *SINGLE)
_IMPORTS = KINDS.index("imports")


def row_features(query: Query, signals: Signals, candidates: Candidates) -> npt.NDArray[np.float32]:
    """Return the features of each row of the candidates, (rows, ROW_FEATURES)."""
    groups, kinds = candidates.groups, candidates.kinds
    rows, owner = groups.rows, groups.owner
    similar = np.maximum(candidates.similar, 0.0)
    words, names = signals.row_words[rows], signals.row_names[rows]
    defines = signals.row_defines[rows] * IS_TYPE[kinds]
    compared = np.array(
        (
            words,
            candidates.text,
            candidates.defined,
            names,
            signals.row_whole[rows],
            defines,
            candidates.coverage,
            signals.row_coverage[rows],
            similar,
        )
    )
    possible = max(1e-9, float(signals.word_idf.sum()))
    table = np.empty((len(ROW_FEATURES), len(rows)), dtype=np.float32)
    n = len(COMPARED)
    table[:n] = compared / np.maximum(groups.best(compared), 1e-9).repeat(groups.counts, axis=1)
    table[n : 2 * n] = compared / possible
    share = dict(zip(COMPARED, table, strict=False))
    single = (
        share["words"] + 0.7 * share["names"] + share["defines"] + 0.6 * share["similar"],
        IS_TYPE[kinds] == 1.0,
        IS_DEFINITION[kinds],
        kinds == _IMPORTS,
        (np.arange(len(rows)) - groups.start[owner]) / groups.counts[owner],
        query.is_symbol,
        bool(query.names),
    )
    for place, value in enumerate(single, 2 * n):
        table[place] = value
    return table.T
