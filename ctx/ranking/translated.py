"""The terms of translated words: the English meanings of a word, and the word itself."""

from __future__ import annotations

from typing import NamedTuple

from ctx.storage.arrays import Bools, Floats
from ctx.text.query import TRANSLATION, Term, read_query
from ctx.text.translation import Translation

_SECOND_CHOICE = 0.5
"""Weight of a further meaning of a word: it matches, but is not required."""


class Alternatives(NamedTuple):
    """The indices of one word's terms: those of each of its meanings, likeliest first, and its own."""

    meanings: list[list[int]]
    itself: list[int]


def translated(terms: list[Term], rendering: Translation) -> tuple[list[Term], list[Alternatives]]:
    """Return the terms of a rendering's text, those of all meanings, and those of the words themselves."""
    terms = list(terms)
    place = {term.hash: number for number, term in enumerate(terms)}

    def places(text: str, source: str) -> list[int]:
        found = []
        for term in read_query(text):
            if source:
                term = term._replace(origin=TRANSLATION, source=source)
            if term.hash not in place:
                place[term.hash] = len(terms)
                terms.append(
                    term._replace(weight=min(term.weight, _SECOND_CHOICE) if source else term.weight)
                )
            elif source and terms[place[term.hash]].origin != TRANSLATION:
                number = place[term.hash]
                terms[number] = terms[number]._replace(origin=TRANSLATION, source=source)
            found.append(place[term.hash])
        return found

    words = dict(rendering.words)
    meanings = [[places(meaning, source) for meaning in own] for source, own in words.items()]
    return terms, [Alternatives(own, places(source, "")) for source, own in zip(words, meanings, strict=True)]


def weights_in_tree(weights: Floats, alternatives: list[Alternatives], occurs: Bools) -> Floats:
    """Return the weights of the terms in a tree, given which of them occur, (terms,) both.

    The first meaning of a word that occurs counts in full, further ones half, and so does the word itself if
    it occurs. Terms that do not occur get no weight, unless nothing of the word occurs.
    """
    changed: dict[int, float] = {}
    for one in alternatives:
        here = [meaning for meaning in one.meanings if meaning and occurs[meaning].all()]
        first = here[0] if here else one.meanings[0]
        own = [place for place in one.itself if occurs[place]]
        for place in (place for meaning in one.meanings for place in meaning):
            weight = 0.0
            if place in first and (here or not own):
                weight = max(1.0, weights[place])
            elif occurs[place]:
                weight = _SECOND_CHOICE
            changed[place] = max(changed.get(place, 0.0), weight)
        for place in one.itself:
            changed[place] = max(changed.get(place, 0.0), float(weights[place]) if place in own else 0.0)
    result = weights.copy()
    result[list(changed)] = list(changed.values())
    return result
