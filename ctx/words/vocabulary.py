"""Counting the words of many texts at once.

Every distinct token is analysed once and becomes a number; from then on texts are arrays of numbers,
and numpy does the counting. A vocabulary lives as long as a process that indexes, never on disk.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ctx.words.runs import RunTable, find_runs
from ctx.words.terms import TEXT, split_words, term_hash, terms_of, tokens, whole

_MAX_TOKENS = 1 << 20
"""A vocabulary that has grown beyond this starts anew, which bounds its memory."""

_WORD_BITS = 40
_WORD_MASK = (1 << _WORD_BITS) - 1


class Counts(NamedTuple):
    """How often each word stands in each text, sorted by text, then word; each pair once.

    `text` (n,) int64 is the place of the text in its batch; `word` (n,) int64 is a token number, a term
    hash or a row of the model's table; `count` (n,) int64.
    """

    text: npt.NDArray[np.int64]
    word: npt.NDArray[np.int64]
    count: npt.NDArray[np.int64]


def add_up(
    text: npt.NDArray[np.int64], word: npt.NDArray[np.int64], count: npt.NDArray[np.int64]
) -> Counts:
    """Sum the counts of equal (text, word) pairs. Words have at most 40 bits, texts at most 23."""
    key = (text << _WORD_BITS) | word
    order = np.argsort(key)
    key = key[order]
    first = np.flatnonzero(np.diff(key, prepend=-1))
    summed = np.add.reduceat(count[order], first) if len(first) else count[:0]
    key = key[first]
    return Counts(key >> _WORD_BITS, key & _WORD_MASK, summed)


class _Expansion:
    """For each token number a few values: a ragged array that grows."""

    def __init__(self) -> None:
        self._values = array("q")
        self._ends = array("q", [0])

    def append(self, values: Iterable[int]) -> None:
        self._values.extend(values)
        self._ends.append(len(self._values))

    def expand(self, counts: Counts) -> Counts:
        """Replace each token by its values and add up what coincides."""
        values = np.array(self._values, dtype=np.int64)
        ends = np.array(self._ends, dtype=np.int64)
        starts, lengths = ends[counts.word], np.diff(ends)[counts.word]
        first = np.cumsum(lengths) - lengths
        place = np.arange(int(lengths.sum())) - np.repeat(first - starts, lengths)
        return add_up(np.repeat(counts.text, lengths), values[place], np.repeat(counts.count, lengths))


class Vocabulary:
    """Numbers for tokens, and what each stands for.

    `model_row` gives the row of the model's table for a lower-case word.
    """

    def __init__(self, model_row: Callable[[str], int]) -> None:
        self._model_row = model_row
        self._start()

    def _start(self) -> None:
        self._table = RunTable()
        # For each word the hash of its stem, or -1 where it is too short to count, and its row.
        self._words: dict[str, tuple[int, int]] = {}
        self._terms = _Expansion()
        self._rows = _Expansion()

    def count(self, source: bytes, bounds: Sequence[tuple[int, int]]) -> tuple[Counts, npt.NDArray[np.int64]]:
        """Token counts of the texts `source[start:end]`, and how many tokens each has (n,) int64.

        The texts are in order, do not overlap and have no token across their ends. Sources beyond a few
        megabytes should be cut by the caller: sixteen bytes are needed for each.
        """
        if self._table.count > _MAX_TOKENS:
            self._start()
        starts, ends, hashes = find_runs(source)
        numbers = self._numbers(source, starts, ends, hashes)
        limits = np.array(bounds, dtype=np.int64).reshape(-1, 2)
        first = np.searchsorted(starts, limits[:, 0])
        lengths = np.searchsorted(starts, limits[:, 1]) - first
        place = np.arange(int(lengths.sum())) + np.repeat(first - (np.cumsum(lengths) - lengths), lengths)
        key = np.repeat(np.arange(len(limits), dtype=np.int64) << _WORD_BITS, lengths) | numbers[place]
        key.sort()
        distinct = np.flatnonzero(np.diff(key, prepend=-1))
        count = np.diff(distinct, append=len(key))
        key = key[distinct]
        return Counts(key >> _WORD_BITS, key & _WORD_MASK, count), lengths

    def terms(self, counts: Counts) -> Counts:
        """Counts of term hashes in the field of text, from counts of tokens."""
        return self._terms.expand(counts)

    def model_rows(self, counts: Counts) -> Counts:
        """Counts of rows of the model's table, from counts of tokens."""
        return self._rows.expand(counts)

    def _numbers(
        self,
        source: bytes,
        starts: npt.NDArray[np.int64],
        ends: npt.NDArray[np.int64],
        hashes: npt.NDArray[np.uint64],
    ) -> npt.NDArray[np.int64]:
        numbers = self._table.look_up(hashes)
        unknown = np.flatnonzero(numbers < 0)
        if len(unknown):
            _, first = np.unique(hashes[unknown], return_index=True)
            first = unknown[np.sort(first)]
            self._table.add(hashes[first])
            for start, end in zip(starts[first].tolist(), ends[first].tolist(), strict=True):
                self._analyse(source[start:end])
            numbers[unknown] = self._table.look_up(hashes[unknown])
        return numbers.astype(np.int64)

    def _analyse(self, run: bytes) -> None:
        """Append the term hashes and the model rows of one run."""
        text = run.decode("utf-8" if run.isascii() or _is_utf8(run) else "latin-1")
        hashes: list[int] = []
        rows: list[int] = []
        for token in (text,) if run.isascii() and not run[:1].isdigit() else tokens(text):
            words = split_words(token)
            for word in words:
                known = self._words.get(word)
                if known is None:
                    stems = terms_of([word])
                    known = (term_hash(stems[0], TEXT) if stems else -1, self._model_row(word))
                    self._words[word] = known
                if known[0] >= 0 and known[0] not in hashes:
                    hashes.append(known[0])
                rows.append(known[1])
            if len(words) > 1:
                hashes.append(term_hash(whole(words), TEXT))
        self._rows.append(rows)
        self._terms.append(hashes)


def _is_utf8(octets: bytes) -> bool:
    try:
        octets.decode()
    except UnicodeDecodeError:
        return False
    return True
