"""The words of a question in a text, each with how it stands there.

The index knows stems alone. Whether a word stands in a file as it was asked can only be told from the text.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ctx.ranking.query_terms import IDENTIFIER, LITERAL, STEM, TRANSLATION
from ctx.text import query as words
from ctx.text.query import Term, tokens, words_of
from ctx.text.terms import term_hash
from ctx.text.vocabulary import compound_hashes

_MOST_WORDS = 5
MOST_LINES = 8
_MOST_DIFFERENT = 800
"""Different words of a text that are compared with those of a question."""


class Found(NamedTuple):
    """A term in a text: `origin` as in `ctx.search.evidence.values`, the words as written, lines from 1."""

    term: Term
    origin: str
    words: tuple[str, ...]
    lines: tuple[int, ...]


class _Place(NamedTuple):
    written: str
    word: str
    line: int


def find_terms(terms: Sequence[Term], texts: Sequence[tuple[int, str]]) -> list[Found]:
    """The terms that stand in some texts, in their order; a text comes with the number of its first line."""
    wanted = {term.hash: term for term in terms}
    places: dict[int, list[_Place]] = {}
    compounds: dict[str, list[int]] = {}
    for first, text in texts:
        for number, line in enumerate(text.split("\n"), first):
            for token in tokens(line):
                parts = words_of(token)
                for part in parts:
                    hashed = term_hash(part)
                    if hashed in wanted:
                        places.setdefault(hashed, []).append(_Place(token, part, number))
                if len(parts) > 1 and token.isascii() and not token[0].isdigit():
                    compounds.setdefault(token, []).append(number)
    for token, hashed in zip(compounds, compound_hashes(list(compounds)), strict=True):
        if hashed in wanted:
            places.setdefault(hashed, []).extend(_Place(token, token, line) for line in compounds[token])
    return [_found(term, places[term.hash]) for term in terms if term.hash in places]


def lines_of_words(texts: Sequence[tuple[int, str]]) -> dict[str, list[int]]:
    """The words of some texts that are plain ones, a few hundred at most, with the lines that have them."""
    found: dict[str, list[int]] = {}
    for first, text in texts:
        for number, line in enumerate(text.split("\n"), first):
            for token in tokens(line):
                for word in words_of(token):
                    if word.isalpha() and len(word) > 2 and (word in found or len(found) < _MOST_DIFFERENT):
                        found.setdefault(word, []).append(number)
    return found


def _found(term: Term, places: Sequence[_Place]) -> Found:
    origin = origin_in(term, [(place.written, place.word) for place in places])
    if origin == LITERAL:
        places = [place for place in places if place.written.lower() == term.word]
    written = dict.fromkeys(place.written for place in places)
    lines = sorted({place.line for place in places})
    return Found(term, origin, tuple(written)[:_MOST_WORDS], tuple(lines[:MOST_LINES]))


def origin_in(term: Term, places: Sequence[tuple[str, str]]) -> str:
    """How a term stands in places, each an identifier and the word of it that has the term."""
    if term.origin == words.TRANSLATION:
        return TRANSLATION
    if term.origin == words.IDENTIFIER:
        return IDENTIFIER
    if any(written.lower() == term.word for written, _ in places):
        return LITERAL
    return IDENTIFIER if any(word == term.word for _, word in places) else STEM
