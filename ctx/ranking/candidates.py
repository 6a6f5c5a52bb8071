"""Data about the rows of some files, computed once for both rankers."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ctx.ranking.corpus import Corpus
from ctx.ranking.groups import Groups
from ctx.ranking.query import Query
from ctx.ranking.signals import Floats, Signals
from ctx.ranking.similarity import similarity
from ctx.ranking.united import United, unite
from ctx.storage.records import TEST


class Candidates(NamedTuple):
    """Documents that have rows, the `files` that represent them, both (n,), and all of their rows.

    For each row, all (rows,): the `kinds`, without the test bit; the cosine `similar` of its vector with that
    of the query; `text`, `defined` and `coverage` as in `United`.
    """

    documents: npt.NDArray[np.int64]
    files: npt.NDArray[np.int64]
    groups: Groups
    kinds: npt.NDArray[np.uint8]
    similar: Floats
    text: Floats
    defined: Floats
    coverage: Floats

    def among(self, places: npt.NDArray[np.int64]) -> Candidates:
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


class MatchingRows(NamedTuple):
    """The rows of candidates that match a word of the query, in text or path, and each first row.

    All other rows are zero in every sum over words; they are most of the rows.
    """

    groups: Groups
    united: United


def read_candidates(
    corpus: Corpus,
    query: Query,
    signals: Signals,
    documents: npt.NDArray[np.int64],
    files: npt.NDArray[np.int64],
) -> tuple[Candidates, MatchingRows]:
    """Read the rows of documents that these files represent."""
    groups = Groups.of(corpus, documents)
    rows = groups.rows
    in_path = np.zeros(corpus.view.files, dtype=bool)
    in_path[signals.in_path.place] = True
    matches = signals.row_found[rows] | in_path[files][groups.owner]
    matches[groups.start] = True
    matching, places = groups.where(matches)
    united = unite(corpus, signals, matching, files)
    text, defined, coverage = np.zeros((3, len(rows)))
    text[places], defined[places], coverage[places] = united.text, united.defined, united.coverage
    similar = similarity(corpus.bits.take(rows, axis=0).view(np.uint8), query)
    kinds = corpus.kinds.take(rows) & np.uint8(TEST - 1)
    candidates = Candidates(documents, files, groups, kinds, similar, text, defined, coverage)
    return candidates, MatchingRows(matching, united)
