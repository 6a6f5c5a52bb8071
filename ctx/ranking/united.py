"""Matches of query words in text, defined names or path, each word counted once.

A chunk rarely repeats the words of its path. Summing the scores of fields would reward one word found in all
of them over two words found in one each; here a word counts with its largest value.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ctx.ranking.corpus import Corpus
from ctx.ranking.groups import Groups
from ctx.ranking.signals import Floats, Signals, TermValues

_IN_PATH = 1.0
"""Value of a word in the path: that of one occurrence in a text of average length."""


class United(NamedTuple):
    """Sums over the words of the query for some rows of some files.

    `text` (rows,) are BM25 of text and path together, `defined` (rows,) the same plus the names defined
    there, `coverage` (rows,) the idf of the words in text or path. `dense` (words, rows) are the values of
    text and path before summing, `in_text` (words, rows) those of the text, `peaks` (words, files) the
    largest of these. `in_names` and `in_path` (words, files) are True for the words in the names of the rows,
    and in the path.
    """

    text: Floats
    defined: Floats
    coverage: Floats
    dense: Floats
    in_text: Floats
    peaks: Floats
    in_names: npt.NDArray[np.bool_]
    in_path: npt.NDArray[np.bool_]


def unite(corpus: Corpus, signals: Signals, groups: Groups, files: npt.NDArray[np.int64]) -> United:
    """Return the sums for the rows of the groups, and for the files that represent their documents."""
    weight, rows = signals.term_weight, len(groups.rows)
    number = np.full(corpus.rows, -1)
    number[groups.rows] = np.arange(rows)
    text, at = _among(signals.in_text, number)
    in_text = np.zeros((len(weight), rows))
    in_text[text.term, at] = text.value
    names, at = _among(signals.in_names, number)
    in_names = np.zeros((len(weight), len(files)), dtype=bool)
    in_names[names.term, groups.owner[at]] = True
    of_names = np.bincount(at, weight[names.term] * names.value, rows)
    number = np.full(corpus.view.files, -1)
    number[files] = np.arange(len(files))
    path, at = _among(signals.in_path, number)
    in_path = np.zeros((len(weight), len(files)), dtype=bool)
    in_path[path.term, at] = True
    dense = np.maximum(in_text, in_path.repeat(groups.counts, axis=1) * _IN_PATH)
    values = weighted(weight, dense)
    coverage = signals.word_idf @ (dense > 0)  # idf values are multiples of one unit: the sum is exact
    peaks = np.maximum.reduceat(in_text, groups.start, axis=1)
    return United(values, values + of_names, coverage, dense, in_text, peaks, in_names, in_path)


def weighted(weight: Floats, values: Floats) -> Floats:
    """Return the weighted sum over the first axis, in a fixed order, which a matrix product does not have."""
    total = np.zeros(values.shape[1])
    for one, row in zip(weight.tolist(), values, strict=True):
        if one:
            total += one * row
    return total


def _among(placed: TermValues, number: npt.NDArray[np.int64]) -> tuple[TermValues, npt.NDArray[np.int64]]:
    """Return the values at selected places, and their numbers; `number` (places,) is below zero elsewhere."""
    at = number[placed.place]
    inside = (at >= 0).nonzero()[0]
    return TermValues(placed.term[inside], placed.place[inside], placed.value[inside]), at[inside]
