"""The terms of a question as the ranker counts them."""

from __future__ import annotations

from typing import NamedTuple

from ctx.ranking.query import Query
from ctx.text import query as words
from ctx.text.query import Term
from ctx.text.stem import stem

LITERAL, STEM, IDENTIFIER, TRANSLATION = "literal", "stem", "identifier", "translation"


class QueryTerm(NamedTuple):
    """A term that the ranker counts: the stem or the compound, where it comes from (LITERAL, STEM, IDENTIFIER
    or TRANSLATION), what stands in the question, and what it weighs beside the others.
    """

    term: str
    origin: str
    source: str
    weight: float


def query_terms(query: Query) -> tuple[QueryTerm, ...]:
    """The terms of a query that count, in their order; give one that is settled for those of a tree."""
    return tuple(
        QueryTerm(spelt(term), origin_of(term), term.source or term.word, weight)
        for term, weight in zip(query.terms, query.weights.tolist(), strict=True)
        if weight > 0
    )


def spelt(term: Term) -> str:
    """What the index has of a term: the stem of a word, the compound as it is."""
    return term.word if term.origin == words.IDENTIFIER or "_" in term.word else stem(term.word)


def origin_of(term: Term) -> str:
    """Where a term comes from."""
    if term.origin == words.TRANSLATION:
        return TRANSLATION
    if term.origin == words.IDENTIFIER:
        return IDENTIFIER
    return LITERAL if stem(term.word) == term.word else STEM
