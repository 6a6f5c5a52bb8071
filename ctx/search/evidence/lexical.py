"""Occurrences of question terms in texts, and the form in which each occurs.

The index stores stems only, so the literal form of a word has to be read from the text.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ctx.ranking.query_terms import LITERAL, STEM
from ctx.text.query import IDENTIFIER, TRANSLATION, Term, tokens, words_of
from ctx.text.terms import term_hash
from ctx.text.vocabulary import compound_hashes

_MOST_WORDS = 5
MOST_LINES = 8
_MOST_DISTINCT = 800
"""Maximum number of distinct words of a text that are compared with a question."""


class TermMatch(NamedTuple):
    """Occurrences of a term: `origin` as in `ctx.search.evidence.types`, words as written, lines from 1."""

    term: Term
    origin: str
    words: tuple[str, ...]
    lines: tuple[int, ...]


class _Occurrence(NamedTuple):
    written: str
    word: str
    line: int


def find_terms(terms: Sequence[Term], texts: Sequence[tuple[int, str]]) -> list[TermMatch]:
    """Return the terms that occur in texts, in order; each text comes with its first line number."""
    wanted = {term.hash: term for term in terms}
    places: dict[int, list[_Occurrence]] = {}
    compounds: dict[str, list[int]] = {}
    for first, text in texts:
        for number, line in enumerate(text.split("\n"), first):
            for token in tokens(line):
                parts = words_of(token)
                for part in parts:
                    hashed = term_hash(part)
                    if hashed in wanted:
                        places.setdefault(hashed, []).append(_Occurrence(token, part, number))
                if len(parts) > 1 and token.isascii() and not token[0].isdigit():
                    compounds.setdefault(token, []).append(number)
    for token, hashed in zip(compounds, compound_hashes(list(compounds)), strict=True):
        if hashed in wanted:
            places.setdefault(hashed, []).extend(_Occurrence(token, token, line) for line in compounds[token])
    return [_found(term, places[term.hash]) for term in terms if term.hash in places]


def lines_of_words(texts: Sequence[tuple[int, str]]) -> dict[str, list[int]]:
    """Return the alphabetic words of texts, at most _MOST_DISTINCT, with the lines that contain them."""
    found: dict[str, list[int]] = {}
    for first, text in texts:
        for number, line in enumerate(text.split("\n"), first):
            for token in tokens(line):
                for word in words_of(token):
                    if word.isalpha() and len(word) > 2 and (word in found or len(found) < _MOST_DISTINCT):
                        found.setdefault(word, []).append(number)
    return found


def _found(term: Term, places: Sequence[_Occurrence]) -> TermMatch:
    origin = origin_in(term, [(place.written, place.word) for place in places])
    if origin == LITERAL:
        places = [place for place in places if place.written.lower() == term.word]
    written = dict.fromkeys(place.written for place in places)
    lines = sorted({place.line for place in places})
    return TermMatch(term, origin, tuple(written)[:_MOST_WORDS], tuple(lines[:MOST_LINES]))


def origin_in(term: Term, places: Sequence[tuple[str, str]]) -> str:
    """Return the origin of a term from its occurrences, each an identifier and its word that has the term."""
    if term.origin in (TRANSLATION, IDENTIFIER):
        return term.origin
    if any(written.lower() == term.word for written, _ in places):
        return LITERAL
    return IDENTIFIER if any(word == term.word for _, word in places) else STEM
