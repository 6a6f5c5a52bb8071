"""Counting the words of many texts at once.

Every distinct word is stemmed and looked up in the model once and becomes a number; texts are then arrays of
numbers, counted by numpy. A vocabulary lives as long as its process, never on disk.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from itertools import accumulate, pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ctx.text import runs
from ctx.text.runs import HASH_BITS, Scan, shorten
from ctx.text.table import HashTable
from ctx.text.terms import COMPOUND, EXACT, foreign_words, is_term, term_hash

_MOST_WORDS = 1 << 19
"""A larger vocabulary is cleared, which bounds its memory."""
_NOTHING = -1
_MASK = (1 << HASH_BITS) - 1
_SHORTER = 64 - HASH_BITS
"""Bits of a hash that are not kept."""

Numbers = npt.NDArray[np.int64]


class Counts(NamedTuple):
    """Word frequencies by text, sorted by text, then word, each pair once; all (n,) int64.

    `text` is the index of the text in its batch, `word` a term hash or a row of the model's table.
    """

    text: Numbers
    word: Numbers
    times: Numbers


class Reading(NamedTuple):
    """The words of some texts: terms in the field TEXT, rows of the model's table, runs in each text."""

    terms: Counts
    rows: Counts
    lengths: Numbers


def count(texts: Numbers, words: Numbers) -> Counts:
    """Count equal pairs. Words have at most HASH_BITS bits, texts at most 23."""
    key = (texts << HASH_BITS) | words
    key.sort()
    first = np.flatnonzero(np.diff(key, prepend=-1))
    times = np.diff(first, append=len(key))
    key = key[first]
    return Counts(key >> HASH_BITS, key & _MASK, times)


class Vocabulary:
    """Words seen so far. `model_row` returns the row of the model's table for a lower-case word."""

    def __init__(self, model_row: Callable[[str], int]) -> None:
        self._model_row = model_row
        self._start()

    def _start(self) -> None:
        self._table = HashTable()
        self._terms = array("q")
        self._rows = array("q")
        self._foreign: dict[bytes, tuple[list[int], list[int]]] = {}

    def read(self, source: bytes, bounds: Sequence[tuple[int, int]]) -> Reading:
        """Count the words of the texts `source[start:end]`.

        The texts are in order and do not overlap; a run belongs to the text in which it begins. Sources above
        a megabyte or two should be split by the caller, see `runs.scan`.
        """
        scan = runs.scan(source)
        text_of_run, lengths = _texts(scan.run_start, bounds)
        text = text_of_run[scan.word_run]
        numbers = self._numbers(source, scan)
        terms = np.array(self._terms, dtype=np.int64)[numbers]
        rows = np.array(self._rows, dtype=np.int64)[numbers]
        # A run that begins with a digit counts only as a whole number; the model has no numbers.
        numeric = scan.numeric[scan.word_run]
        all_digits = (scan.word_start == scan.run_start[scan.word_run]) & (
            scan.word_end == scan.run_end[scan.word_run]
        )
        counted = (text >= 0) & (terms >= 0) & (~numeric | all_digits)
        embedded = (text >= 0) & ~numeric
        text_of_compound = text_of_run[scan.compound]
        compound = text_of_compound >= 0
        foreign_texts, foreign_terms, foreign_rows = self._read_foreign(source, scan, text_of_run)
        known = foreign_terms >= 0
        whole = shorten(scan.whole[compound]) ^ COMPOUND
        return Reading(
            count(
                np.concatenate([text[counted], text_of_compound[compound], foreign_texts[known]]),
                np.concatenate([terms[counted], whole, foreign_terms[known]]),
            ),
            count(
                np.concatenate([text[embedded], foreign_texts]),
                np.concatenate([rows[embedded], foreign_rows]),
            ),
            lengths,
        )

    def _numbers(self, source: bytes, scan: Scan) -> npt.NDArray[np.int32]:
        if self._table.count > _MOST_WORDS:
            self._start()
        numbers = self._table.look_up(scan.word)
        unknown = np.flatnonzero(numbers < 0)
        if len(unknown):
            _, first = np.unique(scan.word[unknown], return_index=True)
            first = unknown[np.sort(first)]
            self._table.add(scan.word[first])
            for start, end in zip(
                scan.word_start[first].tolist(), scan.word_end[first].tolist(), strict=True
            ):
                word = source[start:end].decode("ascii").lower()
                self._terms.append(term_hash(word) if is_term(word) else _NOTHING)
                self._rows.append(self._model_row(word))
            numbers[unknown] = self._table.look_up(scan.word[unknown])
        return numbers

    def _read_foreign(
        self, source: bytes, scan: Scan, text_of_run: Numbers
    ) -> tuple[Numbers, Numbers, Numbers]:
        """Return text, term and row of each word in the non-ASCII runs, which are few."""
        texts: list[int] = []
        terms: list[int] = []
        rows: list[int] = []
        for run in np.flatnonzero(scan.foreign & (text_of_run >= 0)).tolist():
            octets = source[int(scan.run_start[run]) : int(scan.run_end[run])]
            known = self._foreign.get(octets)
            if known is None:
                if len(self._foreign) > _MOST_WORDS:
                    self._foreign.clear()
                words = foreign_words(_decode(octets))
                known = self._foreign[octets] = (
                    [term_hash(word) if is_term(word) else _NOTHING for word in words],
                    [self._model_row(word) for word in words],
                )
            terms += known[0]
            rows += known[1]
            texts += [int(text_of_run[run])] * len(known[0])
        return (
            np.array(texts, dtype=np.int64),
            np.array(terms, dtype=np.int64),
            np.array(rows, dtype=np.int64),
        )


def exact_names(source: bytes, bounds: Sequence[tuple[int, int]]) -> Counts:
    """Return the exact runs of each text, as terms in the field TEXT."""
    starts, hashes = runs.exact_runs(source)
    text, _ = _texts(starts, bounds)
    inside = text >= 0
    return count(text[inside], shorten(hashes[inside]) ^ EXACT)


def exact_hashes(names: Sequence[str]) -> list[int]:
    """Return the terms of exact names; -1 if a name is not one run, and so cannot occur in code."""
    octets = [name.encode("utf-8", "surrogatepass") for name in names]
    ends = list(accumulate((len(name) + 1 for name in octets), initial=0))
    counted = exact_names(b"\n".join(octets), [(a, b - 1) for a, b in pairwise(ends)])
    hashes = np.full(len(names), -1, dtype=np.int64)
    single = np.bincount(counted.text, counted.times, minlength=len(names))[counted.text] == 1
    hashes[counted.text[single]] = counted.word[single]
    exact: list[int] = hashes.tolist()
    return exact


def compound_hashes(names: Sequence[str]) -> list[int]:
    """Return the terms of compounds with the words of these ASCII names, in any notation."""
    if not names:
        return []
    scan = runs.scan("\n".join(names).encode("ascii"))
    whole, _ = runs.combine(scan.word, scan.word_run)
    return [hashed ^ COMPOUND for hashed in shorten(whole).tolist()]


@lru_cache(maxsize=1 << 16)
def _hash_of_word(word: str) -> int:
    return runs.hash_of(word.encode("ascii"))


def compound_hash(words: Iterable[str]) -> int:
    """Return the term of `compound_hashes` for a name with these `ascii_words`; faster for a few names."""
    return runs.combined(map(_hash_of_word, words)) >> _SHORTER ^ COMPOUND


def exact_hash(run: str) -> int:
    """Return the term of `exact_hashes` for one run; faster for a few names."""
    return runs.hash_of(run.encode("utf-8", "surrogatepass")) >> _SHORTER ^ EXACT


def _texts(starts: Numbers, bounds: Sequence[tuple[int, int]]) -> tuple[Numbers, Numbers]:
    """Return the text that each run begins in, -1 for none, and the number of runs in each text."""
    limits = np.array(bounds, dtype=np.int64).reshape(-1, 2)
    first, last = np.searchsorted(starts, limits[:, 0]), np.searchsorted(starts, limits[:, 1])
    lengths = last - first
    text = np.full(len(starts), -1, dtype=np.int64)
    place = np.arange(int(lengths.sum())) + np.repeat(first - (np.cumsum(lengths) - lengths), lengths)
    text[place] = np.repeat(np.arange(len(limits)), lengths)
    return text, lengths


def _decode(octets: bytes) -> str:
    try:
        return octets.decode()
    except UnicodeDecodeError:
        return octets.decode("latin-1")
