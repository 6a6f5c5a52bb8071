"""Answers for one exact identifier: its definitions, then its uses, those near the definition first."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ctx.ranking.corpus import Corpus
from ctx.ranking.query import Query
from ctx.ranking.ranker import RankedRow, prototypes, rank
from ctx.ranking.tuning import Tuning
from ctx.storage.arrays import Bools
from ctx.storage.records import CONTINUES, KIND, TEST
from ctx.storage.views import paths
from ctx.text.query import words_of
from ctx.text.terms import DEFINITION, is_term, term_hash
from ctx.text.vocabulary import compound_hash, exact_hash
from ctx.types import KINDS

_PART = r"[^\W\d]\w*"
_JOINT = r"::|->|[.#\\]"
_IDENTIFIER = re.compile(rf"{_PART}(?:(?:{_JOINT}){_PART})*\Z")
_SPLIT = re.compile(rf"{_JOINT}|/")
_LAST = re.compile(rf"(.*)({_JOINT}|/)(.*)\Z", re.DOTALL)
_IS_NO_WORD = re.compile(rf"[A-Z_\d]|{_JOINT}")
"""What a word of prose does not have in the middle of a sentence."""

_SETTLED = 50
"""Lowest number of rows that are ordered by their distance from the definition."""
_DEFINED, _DEFINED_ASIDE, _SAME_FILE, _SAME_DIRECTORY, _ELSEWHERE, _ASIDE = range(6)
"""Places of a name, the nearest first; aside are tests, documents, examples, imports and the like."""
_FLAGS_ASIDE = paths.TEST | paths.EXAMPLE | paths.VENDORED | paths.DOCS | paths.CONFIG | paths.DATA
_IMPORTS = KINDS.index("imports")
_DEFINES = np.array([kind not in ("block", "test", "imports", "section", "entry") for kind in KINDS])
"""True for the kinds of rows that define names in code."""


class Identifier(NamedTuple):
    """A name with the names around it: `Session.refresh` is ("Session", "refresh")."""

    parts: tuple[str, ...]

    @property
    def name(self) -> str:
        """The name itself, without those around it."""
        return self.parts[-1]

    def is_in(self, text: str) -> bool:
        """Return True if a text contains the name as a whole word with the same case."""
        return re.search(rf"(?<!\w){re.escape(self.name)}(?!\w)", text) is not None

    def is_of(self, symbol: str) -> bool:
        """Return True if a chunk with this qualified symbol, which defines the name, can define all parts.

        The symbol is that of the definition, of the type around it, or of a definition beside it.
        """
        around = tuple(_SPLIT.split(symbol))
        wanted = self.parts[:-1]
        return not wanted or wanted in (around[-len(wanted) :], around[:-1][-len(wanted) :])


class Occurrences(NamedTuple):
    """Rows of a corpus that define an identifier, and others that may contain it; all (rows,).

    `own` are the rows named by it; other definitions are members of a small type, or beside others.
    """

    identifier: Identifier
    definitions: Bools
    own: Bools
    uses: Bools


def split_symbol(symbol: str) -> tuple[str, str, str]:
    """Return the scope of a qualified symbol, what joins it to the name, and the name."""
    found = _LAST.match(symbol)
    return (found[1], found[2], found[3]) if found else ("", "", symbol)


def read_identifier(text: str, asked: bool = False) -> Identifier | None:
    """Return the identifier that a query consists of, None for other queries.

    A word that may be one of prose counts only if it is `asked` for as an identifier.
    """
    text = text.strip().removesuffix("()")
    if not _IDENTIFIER.match(text) or not (asked or _IS_NO_WORD.search(text)):
        return None
    return Identifier(tuple(part for part in _SPLIT.split(text) if part != "prototype") or (text,))


def find(corpus: Corpus, identifier: Identifier, symbol_of: Callable[[int], str]) -> Occurrences:
    """Return the rows that define an identifier, and those that may contain it.

    `symbol_of` returns the symbol of a row.
    """
    definitions, uses = np.zeros(corpus.rows, dtype=bool), corpus.live.copy()
    own = definitions.copy()
    defining = corpus.find(np.array([exact_hash(identifier.name) ^ DEFINITION], dtype=np.int64)).row
    for row in defining[_DEFINES[corpus.kinds[defining] & KIND]].tolist():
        symbol = symbol_of(row)
        definitions[row] = identifier.is_of(symbol)
        own[row] = split_symbol(symbol)[-1] == identifier.name
    words = words_of(identifier.name)
    if len(words) > 1 and identifier.name.isascii():
        terms = [compound_hash(words)]
    else:
        terms = [term_hash(word) for word in words if is_term(word)]
    for term in terms:
        has_term = np.zeros(corpus.rows, dtype=bool)
        has_term[corpus.find(np.array([term], dtype=np.int64)).row] = True
        uses &= has_term
    # Further pieces of a definition belong to its place.
    definition = np.cumsum((corpus.kinds & CONTINUES) == 0)
    pieces = np.isin(definition, definition[definitions])
    return Occurrences(identifier, definitions, own, uses & ~pieces)


def rank_occurrences(
    corpus: Corpus,
    query: Query,
    found: Occurrences,
    allowed: Bools | None,
    only: Bools | None,
    tuning: Tuning,
    most: int,
) -> list[RankedRow]:
    """Return at most `most` rows that contain an identifier: its definitions, then the nearest uses.

    A row whose text can be read must contain the name as it is spelled.
    """

    def ranked(rows: Bools, limit: int) -> list[RankedRow]:
        rows = rows if only is None else rows & only
        documents = np.unique(corpus.document_of[rows])
        files = np.isin(corpus.file_document, documents)
        files = files if allowed is None else files & allowed
        return rank(corpus, query, files, limit, rows, tuning) if files.any() else []

    def contains(one: RankedRow) -> bool:
        if one.row not in known:
            text = None if tuning.text_of is None else tuning.text_of(corpus, one.row)
            known[one.row] = text is None or found.identifier.is_in(text)
        return known[one.row]

    known: dict[int, bool] = {}
    limit = max(_SETTLED, most)
    aside = aside_rows(corpus)
    main = found.own & ~aside
    main[prototypes(corpus, main.nonzero()[0])] = False
    while True:
        lists = [ranked(rows, limit) for rows in (found.definitions, found.uses & ~aside, found.uses & aside)]
        placed = _by_distance(corpus, main, *lists)
        kept: list[RankedRow] = []
        for one in placed:
            if contains(one):
                kept.append(one)
            if len(kept) == most:
                return kept
        if max(map(len, lists)) < limit:
            return kept
        limit *= 2


def aside_rows(corpus: Corpus) -> Bools:
    """Return the mask of the rows of tests, documents, examples and the like, and of imports, (rows,)."""
    flags = corpus.view.file_flags[corpus.shown[corpus.document_of]]
    kinds = corpus.kinds
    aside: Bools = ((flags & _FLAGS_ASIDE) > 0) | ((kinds & TEST) > 0) | ((kinds & KIND) == _IMPORTS)
    return aside


def _by_distance(
    corpus: Corpus, main: Bools, defining: list[RankedRow], using: list[RankedRow], far: list[RankedRow]
) -> list[RankedRow]:
    """Return rows in order of their distance from the definitions, with scores in 0..1 that descend.

    `main` (rows,) are the definitions that come first.
    """
    path = corpus.view.path
    files = {one.file for one in defining}
    directories = {posixpath.dirname(path(file)) for file in files}

    def distance(one: RankedRow) -> int:
        if one.file in files:
            return _SAME_FILE
        return _SAME_DIRECTORY if posixpath.dirname(path(one.file)) in directories else _ELSEWHERE

    placed = [(_DEFINED if main[one.row] else _DEFINED_ASIDE, one) for one in defining]
    placed += [(distance(one), one) for one in using]
    placed += [(_ASIDE, one) for one in far]
    placed.sort(key=lambda one: (one[0], -one[1].score))
    return [
        one._replace(score=round((_ASIDE - place + one.score) / (_ASIDE + 1), 6)) for place, one in placed
    ]
