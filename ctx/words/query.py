"""Reading a query into terms."""

from __future__ import annotations

import re
from typing import NamedTuple

from ctx.words import runs
from ctx.words.terms import SHORTEST, SHORTEST_NUMBER, foreign_words, term_hash
from ctx.words.vocabulary import compound_hash

_STOP_WORDS = frozenset(
    "a about after all also am an and any are as at be been being between but by can could did do does doing each"
    " for from had has have having he her here hers him his how i if in into is it its itself just me more most my"
    " no nor not of off on once only or other our out over own same she should so some such than that the their"
    " them then there these they this those through to too under until up us very was we were what when where"
    " which while who whom why will with would you your find show code function implement implemented"
    " implementation please".split()
)
_TOKEN = re.compile(r"[^\W_]\w*|_+\w+")
_NEIGHBOUR = 0.5
"""The weight of two neighbouring words tried as one compound."""


class Term(NamedTuple):
    """A term of a query: what it was read from, its hash in the field TEXT, its weight."""

    word: str
    hash: int
    weight: float


def tokens(text: str) -> list[str]:
    """The identifiers and words of a text, in order."""
    return _TOKEN.findall(text)


def words_of(token: str) -> list[str]:
    """The lower-case words of a token, cut as those of indexed text are."""
    if not token.isascii():
        return foreign_words(token)
    found = runs.find(token.encode())
    return [
        token[start:end].lower()
        for start, end in zip(found.word_start.tolist(), found.word_end.tolist(), strict=True)
    ]


def read_query(text: str) -> list[Term]:
    """The terms of a query, each once, in the order of their first places.

    Stop words count only where nothing else is there. Words that stand side by side are also tried as one
    compound ("session store" meets `SessionStore`).
    """
    found: dict[int, Term] = {}

    def add(word: str, hashed: int, weight: float) -> None:
        known = found.get(hashed)
        found[hashed] = Term(word, hashed, weight + (known.weight if known and weight >= 1 else 0.0))

    everything = tokens(text)
    kept = [token for token in everything if token.lower() not in _STOP_WORDS] or everything
    previous: list[str] = []
    for token in kept:
        words = words_of(token)
        for word in words:
            if len(word) >= (SHORTEST_NUMBER if word.isdigit() else SHORTEST) or not word.isascii():
                add(word, term_hash(word), 1.0)
        if len(words) > 1 and token.isascii() and not token[0].isdigit():
            add(token, compound_hash(token.encode()), 1.0)
        together = "".join(previous + words)
        if previous and words and together.isascii():
            hashed = compound_hash(together.encode())
            if hashed not in found:
                add(together, hashed, _NEIGHBOUR)
        previous = words if len(words) < 3 else []
    return list(found.values())
