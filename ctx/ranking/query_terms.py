"""The terms of a question as the ranker counts them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from ctx.models.static_embedding import static_embedding
from ctx.ranking.query import Query
from ctx.storage.arrays import Floats
from ctx.text.query import IDENTIFIER, TRANSLATION, Term, tokens, words_of
from ctx.text.stem import stem
from ctx.text.terms import term_hash

LITERAL, STEM, SYNONYM = "literal", "stem", "synonym"
ORIGINS = (LITERAL, STEM, SYNONYM, IDENTIFIER, TRANSLATION)
"""Relations of a word in a file to the question.

Literal, another form, a synonym, part of an identifier or a compound, or a translation.
"""
LEAST_SIMILAR = 0.4
"""Lowest cosine at which a word of a path or a text is near a word of the question."""
_MOST_NEAR = 20

SimilarWord = tuple[str, str, float]
"""A word of a tree, the word of the query that it is near, and their cosine."""


class QueryTerm(NamedTuple):
    """A term that the ranker counts.

    The stem or the compound, its origin (one of ORIGINS), the text in the question, and its relative weight.
    """

    term: str
    origin: str
    source: str
    weight: float


def query_terms(query: Query) -> tuple[QueryTerm, ...]:
    """Return the terms of a query that count, in order; pass an adapted query for those of a tree."""
    return tuple(
        QueryTerm(indexed_form(term), origin_of(term), term.source or term.word, weight)
        for term, weight in zip(query.terms, query.weights.tolist(), strict=True)
        if weight > 0
    )


def similar_terms(query: Query, near: Iterable[SimilarWord]) -> tuple[QueryTerm, ...]:
    """Return words of a tree that are near words of a query as terms, each once, the nearest first.

    The ranker counts them in paths and vectors; such a term has the weight of the query word times the
    cosine.
    """
    weights = {
        term.source or term.word: weight
        for term, weight in zip(query.terms, query.weights.tolist(), strict=True)
    }
    best: dict[str, SimilarWord] = {}
    for one in near:
        term = stem(one[0])
        if term not in best or one[2] > best[term][2]:
            best[term] = one
    ordered = sorted(best.items(), key=lambda pair: (-pair[1][2], pair[0]))[:_MOST_NEAR]
    return tuple(
        QueryTerm(term, SYNONYM, source, round(weights.get(source, 1.0) * cosine, 6))
        for term, (_, source, cosine) in ordered
    )


def similar_words_in_paths(query: Query, paths: Iterable[bytes]) -> list[SimilarWord]:
    """Return the words of some paths that are near a plain word of a query, except its own words."""
    own = set(query.hashes.tolist())
    named = (
        word
        for path in paths
        for token in tokens(path.decode("utf-8", "replace"))
        for word in words_of(token)
    )
    found = [
        word
        for word in dict.fromkeys(named)
        if word.isalpha() and len(word) > 2 and term_hash(word) not in own
    ]
    asked = [query.terms[place] for place in query.words]
    if not asked or not found:
        return []
    similar = cosines([term.word for term in asked], found)
    nearest = similar.argmax(axis=0).tolist()
    return [
        (word, asked[at].source or asked[at].word, min(1.0, float(similar[at, place])))
        for place, (word, at) in enumerate(zip(found, nearest, strict=True))
        if similar[at, place] >= LEAST_SIMILAR
    ]


def cosines(words: Sequence[str], others: Sequence[str]) -> Floats:
    """Return the cosines of two lists of words by the static embedding, (words, others)."""
    table = static_embedding()
    rows = (np.array([table.row(word) for word in some], dtype=np.int64) for some in (words, others))
    one, other = map(table.unit_vectors, rows)
    return one @ other.T


def indexed_form(term: Term) -> str:
    """Return the indexed form of a term: the stem of a word, the compound unchanged."""
    return term.word if term.origin == IDENTIFIER or "_" in term.word else stem(term.word)


def origin_of(term: Term) -> str:
    """Return the origin of a term."""
    if term.origin in (TRANSLATION, IDENTIFIER):
        return term.origin
    return LITERAL if stem(term.word) == term.word else STEM
