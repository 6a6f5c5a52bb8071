"""All rows of a view as arrays, and the sums over live rows that ranking needs.

Rows and documents are numbered across all segments. Every value that a score depends on is summed over
exactly the tree's own rows, so the answer does not depend on the distribution of rows over segments.
"""

from __future__ import annotations

from bisect import bisect_right
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ctx.ranking.path_words import PathWords
from ctx.storage.arrays import Floats, Ints, begins
from ctx.storage.views.segments import Key
from ctx.storage.views.view import NO_SEGMENT, View


class Occurrences(NamedTuple):
    """Occurrences of terms: index of the term in the request, row, and frequency; each (n,)."""

    term: Ints
    row: Ints
    times: Ints


class Corpus:
    """A view prepared for scoring; costs one pass over the rows.

    `lengths` (rows,) int64 tokens, `document_of` (rows,) int32, `kinds` (rows,) uint8, `bits` (rows, words)
    uint64, `live` (rows,) bool, `file_document` (files,) int64 with -1 for files without rows.
    """

    def __init__(self, view: View) -> None:
        self.view = view
        segments = view.segments
        self.row_offset = np.cumsum([0, *(segment.rows for segment in segments)])
        self.document_offset = np.cumsum([0, *(segment.documents for segment in segments)])
        self.rows, self.documents = int(self.row_offset[-1]), int(self.document_offset[-1])
        self.document_of = np.concatenate(
            [
                segment.document_of + np.int32(offset)
                for segment, offset in zip(segments, self.document_offset.tolist(), strict=False)
            ]
            or [np.zeros(0, np.int32)]
        )
        self.lengths = np.concatenate(
            [segment.lengths for segment in segments] or [np.zeros(0, np.uint16)]
        ).astype(np.int64)
        self.bits = np.concatenate([segment.words for segment in segments] or [np.zeros((0, 1), np.uint64)])
        self.file_document = np.where(
            view.file_segment == NO_SEGMENT,
            -1,
            view.file_document
            + np.append(self.document_offset[:-1], 0)[np.minimum(view.file_segment, len(segments))],
        ).astype(np.int64)
        self.live_documents = np.zeros(self.documents, dtype=bool)
        self.live_documents[self.file_document[self.file_document >= 0]] = True
        self.live = self.live_documents[self.document_of]
        self.live_rows = int(self.live.sum())
        self.live_length = int(self.lengths[self.live].sum())
        self.live_document_count = int(self.live_documents.sum())
        self.path_words: dict[int, PathWords] = {}
        """Cache of the words of file paths."""
        self.mentions: dict[int, npt.NDArray[np.int32]] = {}
        """Cache of the documents that contain a term that is the name of a file."""

    @cached_property
    def kinds(self) -> npt.NDArray[np.uint8]:
        """Stored kind of each row."""
        return np.concatenate([segment.kinds for segment in self.view.segments] or [np.zeros(0, np.uint8)])

    @cached_property
    def document_length(self) -> Ints:
        """Number of tokens of each document."""
        return np.bincount(self.document_of, weights=self.lengths, minlength=self.documents).astype(np.int64)

    @cached_property
    def document_rows(self) -> Ints:
        """Number of rows of each document."""
        return np.bincount(self.document_of, minlength=self.documents)

    @cached_property
    def document_start(self) -> Ints:
        """First row of each document."""
        return np.cumsum(self.document_rows) - self.document_rows

    def find(self, terms: Ints) -> Occurrences:
        """Return the postings of some terms in live rows, with the rows of each term ascending."""
        parts = []
        for segment, offset in zip(self.view.segments, self.row_offset.tolist(), strict=False):
            term, row, count = segment.postings.find(terms)
            row = row + offset
            alive = self.live[row]
            parts.append((term, row, count) if alive.all() else (term[alive], row[alive], count[alive]))
        if len(parts) == 1:
            return Occurrences(*parts[0])
        joined = [np.concatenate(arrays) for arrays in zip(*parts, strict=True)]
        if not joined:
            return Occurrences(*(np.zeros(0, np.int64) for _ in range(3)))
        order = np.argsort(joined[0], kind="stable")
        return Occurrences(*(array[order] for array in joined))

    def find_documents(self, terms: Ints) -> tuple[Ints, npt.NDArray[np.int32]]:
        """Return the live documents with each term: index of the term, ascending, and document, both (n,)."""
        found = self.find(terms)
        owner = self.document_of[found.row]
        first = begins(found.term, owner)
        return found.term[first], owner[first]

    def best_of_documents(self, values: Floats) -> Floats:
        """Return the largest value, at or above zero, among the rows of each document, (documents,)."""
        best = np.zeros(self.documents)
        if values.any():  # most queries have no identifier that is defined anywhere
            full = self._documents_with_rows
            best[full] = np.maximum.reduceat(values, self.document_start[full])
        return best

    @cached_property
    def _documents_with_rows(self) -> Ints:
        return np.flatnonzero(self.document_rows)

    @cached_property
    def language_share(self) -> Floats:
        """For each document, the share of the tree's documents that are in its language, (documents,)."""
        names: dict[str, int] = {}
        numbers = [
            np.array([names.setdefault(name, len(names)) for name in segment.languages])[
                segment.document_language
            ]
            for segment in self.view.segments
        ]
        language = np.concatenate([*numbers, np.zeros(0, np.int64)]).astype(np.int64)
        counts = np.bincount(language[self.live_documents], minlength=len(names))
        share: Floats = counts[language] / max(1, self.live_document_count)
        return share

    def key(self, document: int) -> Key:
        """Return the blob id and the language of a document."""
        number = bisect_right(self.document_offset, document) - 1
        return self.view.segments[number].key(document - int(self.document_offset[number]))

    def rows_of(self, document: int) -> range:
        """Return the rows of a document."""
        start = int(self.document_start[document])
        return range(start, start + int(self.document_rows[document]))

    def chunk(self, row: int) -> int:
        """Return the number of a row's chunk in its document."""
        return row - int(self.document_start[self.document_of[row]])

    @cached_property
    def _blob(self) -> npt.NDArray[np.uint64]:
        """First eight bytes of each document's object id."""
        return np.concatenate([segment.blob_prefix for segment in self.view.segments]).astype(np.uint64)

    def files_of_blob(self, document: int) -> Ints:
        """Return the files whose content is the blob of a live document, in whichever language it is read."""
        same = np.flatnonzero(self.live_documents & (self._blob == self._blob[document]))
        if len(same) > 1:
            same = same[[self.key(one)[0] == self.key(document)[0] for one in same.tolist()]]
        return np.flatnonzero(np.isin(self.file_document, same))

    @cached_property
    def shown(self) -> Ints:
        """For each document the file that represents it, (documents,); -1 if the tree has none."""
        return self.shown_among(np.flatnonzero(self.file_document >= 0))

    def shown_among(self, files: Ints) -> Ints:
        """Return `shown` restricted to some files that have rows: fewest flags, then the lowest path."""
        view = self.view
        shown = np.full(self.documents, -1, dtype=np.int64)
        documents = self.file_document[files]
        order = np.argsort(documents, kind="stable")
        documents, files = documents[order], files[order]
        first = np.flatnonzero(begins(documents))
        shown[documents[first]] = files[first]
        counts = np.diff(first, append=len(files))
        # Compare paths only if a document has several files.
        for start, count in zip(first[counts > 1].tolist(), counts[counts > 1].tolist(), strict=True):
            shown[documents[start]] = min(
                files[start : start + count].tolist(),
                key=lambda file: (int(view.file_flags[file]).bit_count(), view.path(file)),
            )
        return shown
