"""Candidate files of a query: their selection, and data about their rows for both rankers.

A chunk rarely repeats the words of its path. Summing the scores of fields would reward one word found in all
of them over two words found in one each; so the fields are combined: a word counts with its largest value.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ctx.ranking.corpus import Corpus
from ctx.ranking.groups import Groups
from ctx.ranking.query import Query
from ctx.ranking.signals import Signals, TermValues
from ctx.storage.arrays import Bools, Floats, Ints, highest
from ctx.storage.records import KIND

_IN_PATH = 1.0
"""Value of a word in the path: that of one occurrence in a text of average length."""


class CombinedFields(NamedTuple):
    """Sums over the words of the query for the rows of candidates that match one, and the first row of each.

    All other rows are zero in every sum over words; they are most of the rows.

    `text` (rows,) are BM25 of text and path together, `defined` (rows,) the same plus the names defined
    there, `coverage` (rows,) the idf of the words in text or path. `dense` (words, rows) are the values of
    text and path before summing, `in_text` (words, rows) those of the text, `peaks` (words, files) the
    largest of these. `in_names` and `in_path` (words, files) are True for the words in the names of the rows,
    and in the path.
    """

    groups: Groups
    text: Floats
    defined: Floats
    coverage: Floats
    dense: Floats
    in_text: Floats
    peaks: Floats
    in_names: Bools
    in_path: Bools


class Candidates(NamedTuple):
    """Documents that have rows, the `files` that represent them, both (n,), and all of their rows.

    For each row, all (rows,): the `kinds`, without the test bit; the cosine `similar` of its vector with that
    of the query; `text`, `defined` and `coverage` as in `CombinedFields`.
    """

    documents: Ints
    files: Ints
    groups: Groups
    kinds: npt.NDArray[np.uint8]
    similar: Floats
    text: Floats
    defined: Floats
    coverage: Floats

    def among(self, places: Ints) -> Candidates:
        """Return the candidates for some of the documents, by index."""
        groups, rows = self.groups.among(places)
        return Candidates(
            self.documents[places],
            self.files[places],
            groups,
            self.kinds[rows],
            self.similar[rows],
            self.text[rows],
            self.defined[rows],
            self.coverage[rows],
        )


def select_candidates(corpus: Corpus, signals: Signals, documents: Ints, worth: Floats, count: int) -> Ints:
    """Return the indices of the `count` documents with the most evidence; `worth` (n,) is added to it.

    Each kind of evidence is normalised by its maximum.
    """
    best, strength = corpus.best_of_documents, np.zeros(len(documents))
    for weight, values in (
        (1.0, signals.document_words),
        (0.5, signals.document_names),
        (0.5, signals.document_path),
        (1.0, best(signals.row_words)),
        (0.5, best(signals.row_names)),
        (1.0, best(signals.row_defines)),
        # Half of the bits agree by chance.
        (1.0, np.maximum(best(signals.row_agreement) - 0.5, 0.0)),
    ):
        own = values[documents]
        strength += own * (weight / max(1e-9, float(own.max(initial=0.0))))
    return top(strength + worth, strength > 0, count)


def top(values: Floats, eligible: Bools, count: int) -> Ints:
    """Return the indices of the `count` largest eligible values, ties with the last included."""
    places = np.flatnonzero(eligible)
    chosen = places[highest(values[places], count)]
    # Many equal values (a word that is everywhere) carry no information; paths must not decide.
    if len(chosen) > 4 * count:
        chosen = chosen[values[chosen] > values[chosen].min()]
    return chosen


def read_candidates(
    corpus: Corpus, query: Query, signals: Signals, documents: Ints, files: Ints
) -> tuple[Candidates, CombinedFields]:
    """Read the rows of documents that these files represent."""
    groups = Groups.of(corpus, documents)
    rows = groups.rows
    in_path = np.zeros(corpus.view.files, dtype=bool)
    in_path[signals.in_path.place] = True
    matches = signals.row_found[rows] | in_path[files][groups.owner]
    matches[groups.start] = True
    matching, places = groups.where(matches)
    fields = combine_fields(corpus, signals, matching, files)
    text, defined, coverage = np.zeros((3, len(rows)))
    text[places], defined[places], coverage[places] = fields.text, fields.defined, fields.coverage
    similar = query.cosines(corpus.bits.take(rows, axis=0).view(np.uint8))
    kinds = corpus.kinds.take(rows) & np.uint8(KIND)
    return Candidates(documents, files, groups, kinds, similar, text, defined, coverage), fields


def combine_fields(corpus: Corpus, signals: Signals, groups: Groups, files: Ints) -> CombinedFields:
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
    return CombinedFields(
        groups, values, values + of_names, coverage, dense, in_text, peaks, in_names, in_path
    )


def weighted(weight: Floats, values: Floats) -> Floats:
    """Return the weighted sum over the first axis, in a fixed order, which a matrix product does not have."""
    total = np.zeros(values.shape[1])
    for one, row in zip(weight.tolist(), values, strict=True):
        if one:
            total += one * row
    return total


def _among(placed: TermValues, number: Ints) -> tuple[TermValues, Ints]:
    """Return the values at selected places, and their numbers; `number` (places,) is below zero elsewhere."""
    at = number[placed.place]
    inside = (at >= 0).nonzero()[0]
    return TermValues(placed.term[inside], placed.place[inside], placed.value[inside]), at[inside]
