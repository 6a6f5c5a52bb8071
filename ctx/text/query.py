"""Parsing a query into terms."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from ctx.text.terms import COMBINING, STOP_WORDS, ascii_words, foreign_words, is_term, term_hash
from ctx.text.vocabulary import compound_hash

_QUESTION_FILLERS = frozenset("find show code function implement implemented implementation please".split())
"""Words of a question that are not about its topic."""
_IGNORED = STOP_WORDS | _QUESTION_FILLERS
_TOKEN = re.compile(r"[^\W_]\w*|_+\w+")
_NEIGHBOUR = 0.5
"""Weight of two neighbouring words tried as one compound."""


_SHORT = 300
"""Number of words of a query whose neighbours are tried as one compound."""
_SHORTEST_PART = 3
"""Least number of letters of each of two words that may be written as one."""


WORD, IDENTIFIER, TRANSLATION = "word", "identifier", "translation"
"""Origins of a term: a word of the query, a compound of its words, or a translation."""


class Term(NamedTuple):
    """A term of a query.

    The lower-case word or the compound, its hash in the field TEXT, its weight, its origin, and its source in
    the query, "" if that is the word itself.
    """

    word: str
    hash: int
    weight: float
    origin: str = WORD
    source: str = ""


def tokens(text: str) -> list[str]:
    """Return the identifiers and words of a text, in order, with accents removed or composed by NFC."""
    return _TOKEN.findall(COMBINING.sub("", unicodedata.normalize("NFC", text)))


def words_of(token: str) -> list[str]:
    """Return the lower-case words of a token, split as in indexed text."""
    return list(_words_of(token))


@lru_cache(maxsize=1 << 13)
def _words_of(token: str) -> tuple[str, ...]:
    return tuple(ascii_words(token) if token.isascii() else foreign_words(token))


def read_query(text: str) -> list[Term]:
    """Return the terms of a query, each once, in order of first occurrence.

    Neighbouring words are also tried as one compound ("session store" matches `SessionStore`).
    """
    everything = tokens(text)
    kept = [token for token in everything if token.lower() not in _IGNORED] or everything
    words: Counter[str] = Counter()
    compounds: dict[str, float] = {}
    previous: list[str] = []
    for token in kept:
        parts = words_of(token)
        words.update(filter(is_term, parts))
        if len(parts) > 1 and token.isascii() and not token[0].isdigit():
            compounds[token] = compounds.get(token, 0.0) + 1.0
        if previous and parts:
            compounds.setdefault("_".join(previous + parts), _NEIGHBOUR)
        # Of a long text only 64 terms are kept, and these never.
        previous = parts if len(parts) < 3 and len(kept) <= _SHORT else []
    found: dict[int, Term] = {}
    for word, times in words.items():
        hashed = term_hash(word)
        same_stem = found.get(hashed)
        found[hashed] = Term(word, hashed, times + (same_stem.weight if same_stem else 0.0))
    for name in filter(str.isascii, compounds):
        hashed = compound_hash(ascii_words(name))
        if hashed not in found or compounds[name] > found[hashed].weight:
            found[hashed] = Term(name, hashed, compounds[name], IDENTIFIER)
    return list(found.values())


def joined_terms(terms: Sequence[Term]) -> list[Term]:
    """Return other spellings of the terms of a query: two words as one, and one as two that are a name."""
    known = {term.hash for term in terms}
    found: dict[int, Term] = {}
    for term in terms:
        if not term.word.isascii() or term.origin == TRANSLATION:
            continue
        word = term.word.replace("_", "").lower()
        if len(word) < 2 * _SHORTEST_PART:
            continue
        if term.origin == IDENTIFIER:
            other = {word: term_hash(word)}
        else:
            parts = ((word[:at], word[at:]) for at in range(_SHORTEST_PART, len(word) - _SHORTEST_PART + 1))
            other = {"_".join(two): compound_hash(two) for two in parts}
        for name, hashed in other.items():
            if hashed not in known:
                found[hashed] = Term(name, hashed, 1.0, IDENTIFIER, term.word)
    return list(found.values())


def terms_in(text: str) -> set[int]:
    """Return the hashes of all terms of a short text, compounds included."""
    found: set[int] = set()
    for token in tokens(text):
        words = words_of(token)
        found.update(term_hash(word) for word in words if is_term(word))
        if len(words) > 1 and token.isascii():
            found.add(compound_hash(words))
    return found
