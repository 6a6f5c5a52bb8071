"""The static embedding model in the package: a table with one vector for each word.

The vector of a text is the sum over its distinct words of (1 + ln count) x row, normalised. A row has one
length in documents and another in queries, where words such as "where" or "function" mean little. All sums
are over whole numbers (in float64, exact below 2**53), so that every machine, numerical library and order of
addition gives the same bits. docs/model.md describes the origin of the table.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import lru_cache
from threading import Lock
from zlib import crc32

import numpy as np
import numpy.typing as npt

from ctx.storage.arrays import map_file
from ctx.storage.vectors import DIMENSIONS
from ctx.text.query import tokens, words_of
from ctx.text.vocabulary import Counts

_FILE = os.path.join(os.path.dirname(__file__), "wordtable-2.bin")
_ROW_UNIT = 4096.0
_WEIGHT_UNIT = 256.0
_MAX_COUNT = 1024
_BLOCK = 512
"""Number of words summed at once; their rows should fit in the processor's cache."""


class StaticEmbedding:
    """Memory-mapped table of word vectors; rows are converted to whole numbers on first use."""

    def __init__(self, path: str = _FILE) -> None:
        arrays, meta = map_file(path)
        self._vectors: npt.NDArray[np.int8] = arrays["vectors"]
        self._scales: npt.NDArray[np.float32] = arrays["scales"]
        self.query_scales: npt.NDArray[np.float32] = arrays["query_scales"]
        self.words: list[str] = arrays["words"].tobytes().decode().split("\n")
        self._known = dict(zip(self.words, range(meta["words"]), strict=True))
        self._buckets: int = meta["buckets"]
        self._first_bucket = len(self._known)
        weights = 1.0 + np.log(np.arange(1, _MAX_COUNT + 1, dtype=np.float64))
        self._weights = np.concatenate([[0.0], np.rint(weights * _WEIGHT_UNIT)])
        self._whole: npt.NDArray[np.float64] | None = None
        self._unit_place = np.full(len(self._vectors), -1)
        self._unit_vectors = np.zeros((0, DIMENSIONS))
        self._adding = Lock()

    def row(self, word: str) -> int:
        """Return the row of a lower-case word; unknown words share hashed rows."""
        found = self._known.get(word)
        if found is None:
            return self._first_bucket + crc32(word.encode("utf-8", "surrogatepass")) % self._buckets
        return found

    def embed_documents(self, rows: Counts, texts: int) -> npt.NDArray[np.uint8]:
        """Return the sign bits of the sums, (texts, DIMENSIONS / 8) uint8."""
        return sign_bits(self.sums(rows, texts))

    def sums(self, counts: Counts, texts: int) -> npt.NDArray[np.float64]:
        """Return sums for a batch of texts, (texts, DIMENSIONS) float64 whole numbers, from counts of rows.

        A text without words is all zeros.
        """
        table, words = self._table_for(counts.word)
        sums = np.zeros((texts, DIMENSIONS), dtype=np.float64)
        weights = self._weights[np.minimum(counts.times, _MAX_COUNT)]
        ends = np.searchsorted(counts.text, np.arange(texts), side="right").tolist()
        block = np.empty((_BLOCK, DIMENSIONS), dtype=np.float64)
        start = 0
        for text, end in enumerate(ends):
            for at in range(start, end, _BLOCK):
                rows = words[at : min(at + _BLOCK, end)]
                taken = table.take(rows, axis=0, out=block[: len(rows)], mode="clip")
                sums[text] += weights[at : at + len(rows)] @ taken
            start = end
        return sums

    def _table_for(
        self, words: npt.NDArray[np.int64]
    ) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int64]]:
        """Return rows as whole numbers, and the index of each word; small batches unpack only their rows."""
        if self._whole is None and len(words) < len(self._vectors):
            distinct, place = np.unique(words, return_inverse=True)
            return self._rows(distinct, self._scales), place
        if self._whole is None:
            self._whole = self._rows(slice(None), self._scales)
        return self._whole, words

    def embed_query(self, text: str) -> npt.NDArray[np.float32]:
        """Return the vector of a query, (DIMENSIONS,) float32 of unit length; zeros without words."""
        return unit(self.weighted_sum(self.rows_of(text), self.query_scales))

    def embed_text(self, text: str) -> npt.NDArray[np.float32]:
        """Return the vector of a document text, (DIMENSIONS,) float32; its signs are the stored bits."""
        return unit(self.weighted_sum(self.rows_of(text), self._scales))

    def rows_of(self, text: str) -> dict[int, int]:
        """Return the counts of rows in a text, tokenized in the same way as documents."""
        count: dict[int, int] = {}
        for token in tokens(text):
            # As in indexed text, what begins with a digit has no vector.
            for word in words_of(token) if not token[0].isdigit() else ():
                row = self.row(word)
                count[row] = count.get(row, 0) + 1
        return count

    def weighted_sum(
        self, count: Mapping[int, int], scales: npt.NDArray[np.float32]
    ) -> npt.NDArray[np.float64]:
        """Return the sum for one text, (DIMENSIONS,) float64 whole numbers, without unpacking the table."""
        if not count:
            return np.zeros(DIMENSIONS)
        weights = self._weights[np.minimum(np.array(list(count.values())), _MAX_COUNT)]
        summed: npt.NDArray[np.float64] = weights @ self._rows(np.array(list(count)), scales)
        return summed

    def word_vectors(self, rows: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
        """Return vectors of single words, (n, DIMENSIONS) whole numbers; lengths are weights in documents."""
        return self._rows(rows, self._scales)

    def unit_vectors(self, rows: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
        """Return vectors of single words, (n, DIMENSIONS) float64, of nearly unit length.

        They are rounded, so that sums of products are exact, and cached, because words of paths recur.
        """
        place = self._unit_place[rows]
        if len(place) and place.min() < 0:
            self._add_units(rows)
            place = self._unit_place[rows]
        found: npt.NDArray[np.float64] = self._unit_vectors.take(place, axis=0)
        return found

    def _add_units(self, rows: npt.NDArray[np.int64]) -> None:
        with self._adding:
            new = np.unique(rows[self._unit_place[rows] < 0])
            vectors = self.word_vectors(new)
            length = np.sqrt(np.square(vectors).sum(axis=1, keepdims=True))
            rounded = np.rint(vectors / np.maximum(length, 1.0) * _ROW_UNIT) / _ROW_UNIT
            first = len(self._unit_vectors)
            # Assign vectors before their indices: another thread may read at any time.
            self._unit_vectors = np.concatenate([self._unit_vectors, rounded])
            self._unit_place[new] = first + np.arange(len(new))

    def _rows(
        self, which: slice | npt.NDArray[np.int64], scales: npt.NDArray[np.float32]
    ) -> npt.NDArray[np.float64]:
        exact = self._vectors[which].astype(np.float64)
        exact *= scales[which].astype(np.float64)[:, None] * _ROW_UNIT
        return np.rint(exact, out=exact)


@lru_cache(maxsize=1)
def static_embedding() -> StaticEmbedding:
    """Return the model, loaded once per process."""
    return StaticEmbedding()


def unit(vector: npt.NDArray[np.float64]) -> npt.NDArray[np.float32]:
    """Return a vector at unit length as float32; zeros stay zeros."""
    length = float(np.sqrt(np.square(vector).sum()))
    return (vector / length if length else vector).astype(np.float32)


def sign_bits(vectors: npt.NDArray[np.floating]) -> npt.NDArray[np.uint8]:
    """Return one bit a component, (n, dimensions / 8) uint8: 1 at or above zero, most significant first."""
    return np.packbits(vectors >= 0, axis=-1)
