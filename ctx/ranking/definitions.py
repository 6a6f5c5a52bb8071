"""Features of the rows of all candidate files, for the ranker of definitions.

A definition is one row or several: the pieces of a long function follow each other. Evidence of the pieces is
combined, and the best piece is the place that is shown. Evidence is compared with that of all candidates and
with that of the same file; the score of the file is a feature.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ctx.ranking.candidates import Candidates, CombinedFields, weighted
from ctx.ranking.corpus import Corpus
from ctx.ranking.features import IS_TYPE
from ctx.ranking.query import Query
from ctx.ranking.signals import Signals
from ctx.ranking.similar_words import soft_matches
from ctx.storage.arrays import Bools, Floats, Ints, begins
from ctx.storage.records import CONTINUES
from ctx.types import KINDS

COMPARED = (
    "words",
    "united",
    "defined",
    "names",
    "whole",
    "defines",
    "coverage",
    "text_coverage",
    "similar",
    "all_united",
    "all_coverage",
    "all_similar",
    "pairs",
    "verbatim",
    "soft",
    "soft_rare",
    "soft_names",
    "soft_names_rare",
    "path_similar",
)
"""Features that are also given as a share of the best row of all candidates, and of the same file."""
SINGLE = (
    "file",
    "file_gap",
    "file_rank",
    "file_share",
    "rarest",
    "missing",
    "matched",
    "before",
    "after",
    "place",
    "rows",
    "own_rows",
    "length",
    "length_share",
    "is_type",
    "is_function",
    "is_constant",
    "is_block",
    "is_imports",
    "is_symbol",
    "has_names",
    "is_question",
    "tokens",
    "query_words",
    "query_idf",
    "query_rarest",
    "file_best",
    "rank_in_file",
    "rank_united",
    "rank_similar",
    "rank_soft",
)
DEFINITION_FEATURES = (
    *COMPARED,
    *(f"{name}/best" for name in COMPARED),
    *(f"{name}/file" for name in COMPARED),
    *SINGLE,
)
_SHARES_OF_IDF = {"words", "united", "defined", "names", "whole", "coverage", "text_coverage"} | {
    "all_united",
    "all_coverage",
    "pairs",
}
"""Features that are sums over words, given as a share of the query's idf."""


def _of_kind(*names: str) -> npt.NDArray[np.bool_]:
    return np.array([kind in names for kind in KINDS])


_FUNCTION = _of_kind("function", "method")
_CONSTANT = _of_kind("constant", "field", "type")
_BLOCK = _of_kind("block")
_IMPORTS = _of_kind("imports")


def starts_of(corpus: Corpus, rows: Ints, owner: Ints) -> Bools:
    """Return True for each row that begins a definition, (rows,); `rows` ascend within each `owner`."""
    starts: Bools = (corpus.kinds[rows] & CONTINUES) == 0
    starts |= begins(owner)
    starts[1:] |= rows[1:] != rows[:-1] + 1
    return starts


def definition_features(
    corpus: Corpus,
    query: Query,
    signals: Signals,
    candidates: Candidates,
    fields: CombinedFields,
    scores: Floats,
) -> npt.NDArray[np.float32]:
    """Return the features of each row of the candidates, (rows, DEFINITION_FEATURES).

    `scores` (n,) are those of the candidates, in units of the file ranker.
    """
    groups, kinds = candidates.groups, candidates.kinds
    rows, owner, count = groups.rows, groups.owner, len(groups.rows)
    number = np.full(corpus.rows, -1)
    number[rows] = np.arange(count)
    weight, word_idf = signals.term_weight, signals.word_idf
    dense = np.zeros((len(weight), count))
    dense[:, number[fields.groups.rows]] = fields.dense
    present = dense > 0
    named = np.zeros(present.shape, dtype=bool)
    at = number[signals.in_names.place]
    named[signals.in_names.term[at >= 0], at[at >= 0]] = True

    starts = starts_of(corpus, rows, owner)
    first, definition = starts.nonzero()[0], np.cumsum(starts) - 1
    joined = np.maximum.reduceat(dense, first, axis=1)
    similar = np.maximum(candidates.similar, 0.0)
    words = np.array(query.words, dtype=np.int64)
    idf = word_idf[words]
    together = present[words][1:] & present[words][:-1]
    soft = soft_matches(corpus, query, signals, number, present, named)
    path_similar = np.maximum(query.cosines(corpus.view.path_vectors[candidates.files]), 0.0)
    possible = max(1e-9, float(word_idf.sum()))
    compared = np.array(
        (
            signals.row_words[rows],
            candidates.text,
            candidates.defined,
            signals.row_names[rows],
            signals.row_whole[rows],
            signals.row_defines[rows] * IS_TYPE[kinds],
            candidates.coverage,
            signals.row_coverage[rows],
            similar,
            weighted(weight, joined)[definition],
            (word_idf @ (joined > 0))[definition],
            np.maximum.reduceat(similar, first)[definition],
            np.minimum(idf[1:], idf[:-1]) @ together,
            signals.row_verbatim[rows],
            *soft,
            path_similar[owner],
        )
    )
    table = np.empty((len(DEFINITION_FEATURES), count), dtype=np.float32)
    n = len(COMPARED)
    scale = np.array([possible if name in _SHARES_OF_IDF else 1.0 for name in COMPARED])
    table[:n] = compared / scale[:, None]
    table[n : 2 * n] = compared / np.maximum(compared.max(axis=1, keepdims=True), 1e-9)
    table[2 * n : 3 * n] = compared / np.maximum(groups.best(compared), 1e-9).repeat(groups.counts, axis=1)

    united = candidates.text
    best = max(1e-9, float(united.max(initial=0.0)))
    same = owner[1:] == owner[:-1]
    before, after = np.zeros(count), np.zeros(count)
    before[1:], after[:-1] = united[:-1] * same, united[1:] * same
    lengths = corpus.lengths[rows].astype(np.float64)
    length = np.add.reduceat(lengths, first)[definition]
    idf_present = word_idf[:, None] * present
    everywhere = np.zeros(count, dtype=np.int64)
    single: dict[str, Any] = {
        "file": scores[owner],
        "file_gap": (scores - scores.max(initial=-np.inf))[owner],
        "file_rank": _ranks(scores, np.zeros(len(scores), dtype=np.int64))[owner],
        "file_share": (groups.total(united) / max(1e-9, float(united.sum())))[owner],
        "rarest": idf_present.max(axis=0, initial=0.0),
        "missing": (word_idf[:, None] * ~present).max(axis=0, initial=0.0),
        "matched": present[words].sum(axis=0),
        "before": before / best,
        "after": after / best,
        "place": (np.arange(count) - groups.start[owner]) / groups.counts[owner],
        "rows": groups.counts[owner],
        "own_rows": np.diff(first, append=count)[definition],
        "length": np.log1p(length),
        "length_share": length / np.maximum(groups.total(lengths), 1.0)[owner],
        "is_type": IS_TYPE[kinds] == 1.0,
        "is_function": _FUNCTION[kinds],
        "is_constant": _CONSTANT[kinds],
        "is_block": _BLOCK[kinds],
        "is_imports": _IMPORTS[kinds],
        "is_symbol": query.is_symbol,
        "has_names": bool(query.names),
        "is_question": query.is_question,
        "tokens": query.tokens,
        "query_words": len(words),
        "query_idf": possible,
        "query_rarest": word_idf.max(initial=0.0),
        "file_best": (groups.best(united) / best)[owner],
        "rank_in_file": _ranks(united + 1e-6 * similar, owner),
        "rank_united": _ranks(united, everywhere),
        "rank_similar": _ranks(similar, everywhere),
        "rank_soft": _ranks(compared[COMPARED.index("soft_rare")], everywhere),
    }
    for place, name in enumerate(SINGLE, 3 * n):
        table[place] = single[name]
    return table.T


def _ranks(values: Floats, owner: Ints) -> Ints:
    """Return the number of larger values of the same owner; equal values have the same rank."""
    order = np.lexsort((-values, owner))
    sorted_values, sorted_owner = values[order], owner[order]
    first = begins(sorted_owner)
    start = np.maximum.accumulate(np.where(first, np.arange(len(values)), 0))
    new = first | begins(sorted_values)
    place = np.maximum.accumulate(np.where(new, np.arange(len(values)), 0)) - start
    ranks = np.empty(len(values), dtype=np.int64)
    ranks[order] = place
    return ranks
