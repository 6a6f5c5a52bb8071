"""What speaks for each row and each document of a corpus, given a query.

BM25 is that of Robertson and Zaragoza (2009) with the idf of Lucene, which is never negative.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ctx.rank.corpus import Corpus
from ctx.rank.query import Query
from ctx.words.terms import DEFINITION

_K1 = 1.2
_B = 0.75

Floats = npt.NDArray[np.float64]


class Evidence(NamedTuple):
    """All arrays (rows,) or (documents,) float64; BM25 values are sums of idf x saturation, agreement is in 0..1.

    `possible` is the largest sum that a text with all terms of the query could reach.
    """

    row_words: Floats
    row_names: Floats
    row_defines: Floats
    row_agreement: Floats
    document_words: Floats
    document_names: Floats
    document_coverage: Floats
    document_path: Floats
    file_path: Floats
    possible: float


def gather(corpus: Corpus, query: Query) -> Evidence:
    """Score everything; the cost is a few passes over the rows."""
    rows, documents = corpus.rows, corpus.documents
    row_words, row_names = np.zeros(rows), np.zeros(rows)
    document_words, coverage = np.zeros(documents), np.zeros(documents)
    document_names = np.zeros(documents)
    file_path = np.zeros(corpus.view.files)
    n, n_documents = corpus.live_rows, corpus.live_document_count
    mean = corpus.live_length / max(1, n)
    document_mean = corpus.live_length / max(1, n_documents)
    possible = 0.0
    path_terms = corpus.view.path_terms
    path_file = np.repeat(
        np.arange(corpus.view.files), np.diff(corpus.view.path_term_end, prepend=np.uint32(0))
    )
    for term in query.terms:
        found, count = corpus.postings(term.hash)
        weight = term.weight * _idf(n, len(found))
        if len(found):
            row_words[found] += weight * _saturation(count, corpus.lengths[found], mean)
            # Rows are ascending and documents are consecutive rows, so equal owners stand together.
            first = _changes(corpus.document_of[found])
            owners = corpus.document_of[found[first]]
            count_in_document = np.add.reduceat(count, first)
            document_weight = term.weight * _idf(n_documents, len(owners))
            document_words[owners] += document_weight * _saturation(
                count_in_document, corpus.document_length[owners], document_mean
            )
            coverage[owners] += weight
        if term.weight >= 1.0:
            possible += weight
        named, _ = corpus.postings(term.hash ^ DEFINITION)
        if len(named):
            name_weight = term.weight * _idf(n, len(named))
            row_names[named] += name_weight
            owners = corpus.document_of[named]
            document_names[owners[_changes(owners)]] += name_weight
        in_path = path_file[np.flatnonzero(path_terms == term.hash)]
        if len(in_path):
            file_path[in_path] += term.weight * _idf(corpus.view.files, len(in_path))
    row_defines = np.zeros(rows)
    for name in query.names:
        defined, _ = corpus.postings(name ^ DEFINITION)
        if len(defined):
            row_defines[defined] += 1.0
    with_rows = corpus.file_document >= 0
    document_path = np.zeros(documents)
    np.maximum.at(document_path, corpus.file_document[with_rows], file_path[with_rows])
    differing = np.bitwise_count(corpus.bits ^ query.bits).sum(axis=1, dtype=np.int64)
    agreement = 1.0 - differing / float(corpus.bits.shape[1] * 64)
    return Evidence(
        row_words,
        row_names,
        row_defines,
        agreement if query.vector.any() else np.zeros(rows),
        document_words,
        document_names,
        coverage,
        document_path,
        file_path,
        possible,
    )


def _changes(values: npt.NDArray[np.int32]) -> npt.NDArray[np.int64]:
    """The places where a value differs from the one before it."""
    return np.flatnonzero(np.diff(values, prepend=np.int32(-1)))


def _idf(total: int, containing: int) -> float:
    return float(np.log1p((total - containing + 0.5) / (containing + 0.5)))


def _saturation(count: npt.NDArray[np.int64], length: npt.NDArray[np.int64], mean: float) -> Floats:
    return count * (_K1 + 1) / (count + _K1 * (1 - _B + _B * length / max(mean, 1.0)))
