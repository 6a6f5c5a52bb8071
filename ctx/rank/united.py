"""The words of a query found in a text, in the names that it defines or in its path, each counted once.

A chunk rarely repeats what its path says. Summing the fields' scores would reward a word that stands in all
of them more than two words of which each stands in one; here a word counts where it says most.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ctx.rank.corpus import Corpus
from ctx.rank.evidence import Evidence, Floats, Placed
from ctx.rank.groups import Groups

_IN_PATH = 1.0
"""What a word in the path is worth: as much as one that stands once in a text of usual length."""


class United(NamedTuple):
    """Sums over the words of the query for the rows of some files.

    `text` (rows,) are BM25 of text and path together, `defined` (rows,) the same with the names that are
    defined there on top, `coverage` (rows,) the idf of the words that are in text or path; `anywhere` (words,
    files) says which words a file has at all. `dense` (words, rows) are the values of text and path before
    they are summed, `in_text` and `in_names` (words, rows) and `in_path` (words, files) those of each field.
    """

    text: Floats
    defined: Floats
    coverage: Floats
    anywhere: npt.NDArray[np.bool_]
    dense: Floats
    in_text: Floats
    in_names: Floats
    in_path: Floats


def unite(corpus: Corpus, evidence: Evidence, groups: Groups, files: npt.NDArray[np.int64]) -> United:
    """The sums for all rows of the files that stand for the groups' documents."""
    terms = len(evidence.word_idf)
    text = _dense(evidence.in_text, groups.rows, corpus.rows, terms)
    names = _dense(evidence.in_names, groups.rows, corpus.rows, terms)
    path = _dense(evidence.in_path, files, corpus.view.files, terms) * _IN_PATH
    both = np.maximum(text, path[:, groups.owner])
    values = weighted(evidence.term_weight, both)
    return United(
        values,
        values + weighted(evidence.term_weight, names),
        weighted(evidence.word_idf, (both > 0).astype(np.float64)),
        np.maximum.reduceat(both, groups.start, axis=1) > 0,
        both,
        text,
        names,
        path,
    )


def weighted(weight: Floats, values: Floats) -> Floats:
    """The weighted sum over the first axis; always in the same order, which a matrix product would not be."""
    total = np.zeros(values.shape[1])
    for one, row in zip(weight.tolist(), values, strict=True):
        if one:
            total += one * row
    return total


def _dense(placed: Placed, wanted: npt.NDArray[np.int64], places: int, terms: int) -> Floats:
    """The values of each term in each of the wanted places, (terms, wanted)."""
    number = np.full(places, -1, dtype=np.int64)
    number[wanted] = np.arange(len(wanted))
    at = number[placed.place]
    inside = at >= 0
    dense = np.zeros((terms, len(wanted)))
    dense[placed.term[inside], at[inside]] = placed.value[inside]
    return dense
