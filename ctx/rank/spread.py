"""How the evidence is spread over a file and its folder: in one place or many, in a definition or around it.

Shares and places only; none of these grows with the size of a file.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from ctx.rank.corpus import Corpus
from ctx.rank.evidence import Evidence, Floats
from ctx.rank.groups import Groups
from ctx.rank.path_words import PathWords
from ctx.rank.query import Query
from ctx.rank.references import weights
from ctx.rank.united import United, weighted

_HALF = 3.0
"""The sum of saturated frequencies at which a word counts half in `flat`."""
_MOST_PLACES = 10.0


def spread(
    evidence: Evidence,
    query: Query,
    groups: Groups,
    united: United,
    three: Floats,
    is_type: Floats,
    is_definition: Floats,
) -> dict[str, Floats]:
    """Features (n,) of the groups. `three` (n,) are the sums of the best three rows of `united.text`;
    `is_type` and `is_definition` (rows,) say what their rows are.
    """
    owner, start = groups.owner, groups.start
    possible = max(1e-9, float(evidence.word_idf.sum()))
    coverage = united.coverage / possible
    widest = groups.best(coverage)
    # The first of the best rows of each file.
    best = groups.first_at(united.text == groups.best(united.text)[owner])
    pair_row, pairs, total = np.zeros(len(owner)), np.zeros(len(start)), 1e-9
    for one, other in zip(query.words, query.words[1:], strict=False):
        worth = float(min(evidence.word_idf[one], evidence.word_idf[other]))
        together = (united.dense[one] > 0) & (united.dense[other] > 0)
        pair_row += worth * together
        pairs += worth * groups.best(together.astype(np.float64))
        total += worth
    sums = np.add.reduceat(united.in_text, start, axis=1)
    named = np.maximum.reduceat(united.in_names, start, axis=1) > 0
    peaks = np.maximum.reduceat(united.in_text, start, axis=1)
    second = np.partition(three, -2)[-2] if len(three) > 1 else 0.0
    lead = (three - second) / max(1e-9, float(three.max(initial=0.0)))
    return {
        "match_share": groups.total((evidence.row_words[groups.rows] > 0).astype(np.float64)) / groups.counts,
        "half_share": groups.total((coverage > 0.5).astype(np.float64)) / groups.counts,
        "best_is_type": is_type[best],
        "best_is_definition": is_definition[best],
        "best_place": (best - start) / groups.counts,
        "first_row": united.text[start] / possible,
        "pair_row": groups.best(pair_row) / total,
        "pairs": pairs / total,
        "flat": weighted(evidence.term_weight, sums / (sums + _HALF)) / possible,
        "peaks": weighted(evidence.term_weight, peaks) / possible,
        "second_coverage": groups.best(np.where(coverage >= widest[owner], 0.0, coverage)),
        "named_coverage": weighted(evidence.word_idf, named.astype(np.float64)) / possible,
        "known_coverage": weighted(evidence.word_idf, (named | (united.in_path > 0)).astype(np.float64))
        / possible,
        "lead": lead,
    }


def in_folder(known: Sequence[PathWords], value: Floats) -> dict[str, Floats]:
    """Features (n,) of candidates with these paths among those of their folder and of their name.

    `value` (n,) says how well each answers the query.
    """
    weight = weights(value)
    folder = np.unique(np.array([one.folder for one in known]), return_inverse=True)[1]
    of_folder = np.bincount(folder, weight)[folder]
    others = of_folder - weight
    return {
        "folder_rank": np.minimum(_ranks(folder, value), _MOST_PLACES),
        "name_rank": np.minimum(_ranks(np.array([one.name for one in known]), value), _MOST_PLACES),
        "folder_share": others / max(1e-9, float(weight.sum())),
        "folder_mean": others / np.maximum(1, np.bincount(folder)[folder] - 1),
    }


def language_share(corpus: Corpus, documents: npt.NDArray[np.int64]) -> Floats:
    """The share of the tree's documents that are in the language of each."""
    share: Floats = corpus.language_share[documents]
    return share


def _ranks(of: npt.NDArray[np.int64], value: Floats) -> Floats:
    """How many of those with the same number have a better value, for each."""
    order = np.lexsort((-value, of))
    group, sorted_value = of[order], value[order]
    first = np.flatnonzero(np.diff(group, prepend=group[:1] - 1))
    place = np.arange(len(of)) - np.repeat(first, np.diff(first, append=len(of)))
    # Equal ones share the best place of theirs, or their order among the candidates would count.
    differs = (np.diff(sorted_value, prepend=np.inf) != 0) | (place == 0)
    ranks = np.empty(len(of))
    ranks[order] = place[np.maximum.accumulate(np.where(differs, np.arange(len(of)), 0))]
    return ranks
