"""The words of a query found in a text, in the names that it defines or in its path, each counted once.

A chunk rarely repeats what its path says. Summing the fields' scores would reward a word that stands in all
of them more than two words of which each stands in one; here a word counts where it says most.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ctx.ranking.corpus import Corpus
from ctx.ranking.evidence import Evidence, Floats, Placed
from ctx.ranking.groups import Groups

_IN_PATH = 1.0
"""What a word in the path is worth: as much as one that stands once in a text of usual length."""


class United(NamedTuple):
    """Sums over the words of the query for some rows of some files.

    `text` (rows,) are BM25 of text and path together, `defined` (rows,) the same with the names that are
    defined there on top, `coverage` (rows,) the idf of the words that are in text or path. `dense` (words,
    rows) are the values of text and path before they are summed, `in_text` (words, rows) those of the text,
    `peaks` (words, files) the largest of these. `in_names` and `in_path` (words, files) say which words stand
    in the names of the rows, and which in the path.
    """

    text: Floats
    defined: Floats
    coverage: Floats
    dense: Floats
    in_text: Floats
    peaks: Floats
    in_names: npt.NDArray[np.bool_]
    in_path: npt.NDArray[np.bool_]


def unite(corpus: Corpus, evidence: Evidence, groups: Groups, files: npt.NDArray[np.int64]) -> United:
    """The sums for the rows of the groups, and for the files that stand for their documents."""
    weight, rows = evidence.term_weight, len(groups.rows)
    number = np.full(corpus.rows, -1)
    number[groups.rows] = np.arange(rows)
    text, at = _among(evidence.in_text, number)
    in_text = np.zeros((len(weight), rows))
    in_text[text.term, at] = text.value
    names, at = _among(evidence.in_names, number)
    in_names = np.zeros((len(weight), len(files)), dtype=bool)
    in_names[names.term, groups.owner[at]] = True
    of_names = np.bincount(at, weight[names.term] * names.value, rows)
    number = np.full(corpus.view.files, -1)
    number[files] = np.arange(len(files))
    path, at = _among(evidence.in_path, number)
    in_path = np.zeros((len(weight), len(files)), dtype=bool)
    in_path[path.term, at] = True
    dense = np.maximum(in_text, in_path.repeat(groups.counts, axis=1) * _IN_PATH)
    values = weighted(weight, dense)
    coverage = evidence.word_idf @ (dense > 0)  # an idf is so many of equal parts: the sum is exact
    peaks = np.maximum.reduceat(in_text, groups.start, axis=1)
    return United(values, values + of_names, coverage, dense, in_text, peaks, in_names, in_path)


def weighted(weight: Floats, values: Floats) -> Floats:
    """The weighted sum over the first axis; always in the same order, which a matrix product would not be."""
    total = np.zeros(values.shape[1])
    for one, row in zip(weight.tolist(), values, strict=True):
        if one:
            total += one * row
    return total


def _among(placed: Placed, number: npt.NDArray[np.int64]) -> tuple[Placed, npt.NDArray[np.int64]]:
    """What is in the wanted places, and their numbers; `number` (places,) is below zero for all others."""
    at = number[placed.place]
    inside = (at >= 0).nonzero()[0]
    return Placed(placed.term[inside], placed.place[inside], placed.value[inside]), at[inside]
