"""Ranking signals of each row and each document of a corpus, given a query.

BM25 is that of Robertson and Zaragoza (2009) with the idf of Lucene, which is never negative. All sums run
over the terms in query order, so they do not depend on the order of rows in segments.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ctx.ranking.corpus import Corpus
from ctx.ranking.query import Query
from ctx.storage.arrays import Bools, Floats, Ints, begins
from ctx.text.terms import DEFINITION

_K1 = 1.2
_B = 0.75
_IDF_UNIT = 1024.0
"""Unit of idf values: libraries differ in the last bit of a logarithm."""
_NEARLY_ALL = 0.999
"""Share of a sum of idf that counts as all of it."""

_NONE = np.zeros(0, dtype=np.int64)


class TermValues(NamedTuple):
    """Values of terms in rows or files, each (n,): the term, the row or file, the value."""

    term: Ints
    place: Ints
    value: Floats


class Signals(NamedTuple):
    """Arrays (rows,), (documents,) or (files,) float64, zero without evidence.

    `*_words` are BM25 of the text; `*_names` the summed idf of the query's terms in the names defined there;
    `*_coverage` the summed idf of the words found there; `row_defines` the number of identifiers of the query
    defined there with exact spelling; `row_whole` the largest summed idf of words that together are the whole
    name of a definition there; `row_called` (bool) is True if that name has at least two words and all of the
    query; `row_verbatim` the idf share found there verbatim, where that was checked (`ctx.ranking.verbatim`);
    `row_found` (bool) is True if any term is found there, masked or not; `row_agreement` the share of equal
    bits of the vectors in 0..1; `file_path` the summed idf of the terms in the path, `document_path` the best
    of the document's files. `word_idf` has the idf of each of the query's terms, zero for compounds of
    neighbouring words.
    """

    row_words: Floats
    row_names: Floats
    row_defines: Floats
    row_whole: Floats
    row_called: Bools
    row_verbatim: Floats
    row_agreement: Floats
    row_coverage: Floats
    row_found: Bools
    document_words: Floats
    document_names: Floats
    document_coverage: Floats
    document_path: Floats
    file_path: Floats
    word_idf: Floats
    term_weight: Floats
    in_text: TermValues
    in_names: TermValues
    in_path: TermValues

    def among(self, rows: Bools) -> Signals:
        """Return the evidence with all rows outside a mask zeroed; sums over documents stay."""
        masked = {name: getattr(self, name) * rows for name in self._fields if name.startswith("row_")}
        return self._replace(**masked | {"row_found": self.row_found})


def read_signals(corpus: Corpus, query: Query) -> Signals:
    """Score everything; the cost is a few passes over the rows."""
    rows, documents = corpus.rows, corpus.documents
    terms, weight = query.hashes, query.weights
    count = len(terms)
    sought = np.concatenate(
        [
            terms,
            terms ^ DEFINITION,
            np.array(query.names, dtype=np.int64) ^ DEFINITION,
            np.array([whole.hash for whole in query.whole_names], dtype=np.int64) ^ DEFINITION,
        ]
    )
    found = corpus.find(sought)
    row_found = np.zeros(rows, dtype=bool)
    row_found[found.row] = True
    exact_end = 2 * count + len(query.names)
    ends = np.searchsorted(found.term, [count, 2 * count, exact_end]).tolist()
    text, named, exact, whole = (slice(a, b) for a, b in pairwise([0, *ends, len(found.term)]))

    term, row = found.term[text], found.row[text]
    rarity = idf(corpus.live_rows, np.bincount(term, minlength=count))
    length = corpus.live_length / max(1, corpus.live_rows)
    saturation = _saturation(found.times[text], corpus.lengths[row], length)
    in_text = TermValues(term, row, saturation)
    value = (weight * rarity)[term] * saturation
    word_idf = np.where(weight >= 1.0, rarity, 0.0)
    row_words = _summed(row, value, rows)
    row_coverage = _summed(row, word_idf[term], rows)

    # The rows of a term ascend and documents are consecutive rows, so equal owners are adjacent.
    owner = corpus.document_of[row]
    first = begins(term, owner).nonzero()[0]
    term, owner = term[first], owner[first]
    occurrences = np.add.reduceat(found.times[text], first) if len(first) else found.times[:0]
    in_documents = idf(corpus.live_document_count, np.bincount(term, minlength=count))
    length = corpus.live_length / max(1, corpus.live_document_count)
    value = (weight * in_documents)[term] * _saturation(occurrences, corpus.document_length[owner], length)
    document_words = _summed(owner, value, documents)
    document_coverage = _summed(owner, word_idf[term], documents)

    term, row = found.term[named] - count, found.row[named]
    in_names = TermValues(term, row, np.ones(len(term)))
    of_name = weight * idf(corpus.live_rows, np.bincount(term, minlength=count))
    row_names = _summed(row, of_name[term], rows)
    owner = corpus.document_of[row]
    first = begins(term, owner).nonzero()[0]
    document_names = _summed(owner[first], of_name[term[first]], documents)

    row_whole = np.zeros(rows)
    of_words = word_idf.tolist()  # exact, so that the order of addition does not matter
    worth = np.array(
        [sum(of_words[word] for word in one.words) for one in query.whole_names], dtype=np.float64
    )
    number = found.term[whole] - exact_end
    np.maximum.at(row_whole, found.row[whole], worth[number])
    is_all = (worth > _NEARLY_ALL * word_idf.sum()) & np.array(
        [one.size > 1 for one in query.whole_names], bool
    )
    row_called = np.zeros(rows, dtype=bool)
    row_called[found.row[whole][is_all[number]]] = True

    file_path, document_path, in_path = _path_evidence(corpus, terms, weight)
    return Signals(
        row_words,
        row_names,
        np.bincount(found.row[exact], minlength=rows).astype(np.float64),
        row_whole,
        row_called,
        np.zeros(rows),
        _agreement(corpus, query),
        row_coverage,
        row_found,
        document_words,
        document_names,
        document_coverage,
        document_path,
        file_path,
        word_idf,
        weight * rarity,
        in_text,
        in_names,
        in_path,
    )


def _path_evidence(corpus: Corpus, terms: Ints, weight: Floats) -> tuple[Floats, Floats, TermValues]:
    view = corpus.view
    places = [np.flatnonzero(view.path_terms == term) for term in terms.tolist()]
    counts = [len(place) for place in places]
    files = np.searchsorted(view.path_term_end, np.concatenate([*places, _NONE]), side="right")
    term = np.repeat(np.arange(len(terms)), counts)
    value = (weight * idf(view.files, np.array(counts, dtype=np.int64)))[term]
    in_path = TermValues(term, files, np.ones(len(term)))
    of_files = _summed(files, value, view.files)
    of_documents = np.zeros(corpus.documents)
    files = np.flatnonzero((of_files > 0) & (corpus.file_document >= 0))
    np.maximum.at(of_documents, corpus.file_document[files], of_files[files])
    return of_files, of_documents, in_path


def _summed(places: npt.NDArray[Any], values: Floats, length: int) -> Floats:
    """Return the sum of the values at each index, float64 even without values."""
    summed: Floats = np.bincount(places, values, length).astype(np.float64, copy=False)
    return summed


def _agreement(corpus: Corpus, query: Query) -> Floats:
    if not query.vector.any():
        return np.zeros(corpus.rows)
    differing = np.zeros(corpus.rows, dtype=np.uint16)
    for stored, asked in zip(corpus.bits.T, query.bits, strict=False):  # a tree without segments has no bits
        differing += np.bitwise_count(stored ^ asked)
    agreement: Floats = 1.0 - differing / (corpus.bits.shape[1] * 64)
    return agreement


def idf(total: int, containing: Ints) -> Floats:
    """Return the idf of terms, from the number of all rows, documents or files, and of those with each."""
    value = np.log1p((total - containing + 0.5) / (containing + 0.5))
    return np.rint(value * _IDF_UNIT) / _IDF_UNIT


def _saturation(count: Ints, length: Ints, mean: float) -> Floats:
    return count * (_K1 + 1) / (count + _K1 * (1 - _B + _B * length / max(mean, 1.0)))
