"""Candidates for the users of a file: files that contain the names it defines."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from ctx.ranking.path_words import read_paths
from ctx.ranking.signals import idf
from ctx.search.dependencies.files import Files, as_bytes, family_of
from ctx.search.dependencies.reading import LANGUAGES
from ctx.text.query import words_of
from ctx.text.terms import DEFINITION, term_hash
from ctx.text.vocabulary import compound_hashes, exact_hashes

_MOST_NAMES = 400
_SHORTEST = 3
_NAME = re.compile(r"[A-Za-z_]\w*\Z", re.ASCII)
"""Plain identifiers; names in Kotlin may contain spaces."""
_COMMON = 0.2
"""Names in a larger share of the files are ignored, unless all names of a file are that common."""


def likely_users(files: Files, path: str, names: Sequence[str], most: int) -> list[str]:
    """Return files of the same language family, those with most of the rare names first; ties by path.

    `names` are the names that the file defines. The name of the file counts too, since imports contain it.
    Names that a candidate defines itself do not count.
    """
    corpus, own = files.corpus, files.document(path)
    if own < 0 or files.language(path) not in LANGUAGES:
        return []
    kept = [name for name in names if len(name) >= _SHORTEST and _NAME.match(name)][:_MOST_NAMES]
    term_of = _terms(kept)
    terms = np.unique([*term_of.values(), read_paths([as_bytes(path)])[0].name]).astype(np.int64)
    term, owner = corpus.find_documents(terms)
    counts = np.bincount(term, minlength=len(terms)).astype(np.int64)
    rare = counts <= max(most, _COMMON * corpus.live_document_count)
    worth = idf(corpus.live_document_count, counts) * (rare if rare.any() else 1.0)
    score = np.bincount(owner, worth[term], corpus.documents).astype(np.float64)
    exact = np.array(exact_hashes(list(term_of)), dtype=np.int64)
    name, owner = corpus.find_documents(exact ^ DEFINITION)
    place = np.searchsorted(terms, np.array(list(term_of.values()), dtype=np.int64))
    score -= np.bincount(owner, worth[place[name]], corpus.documents)
    # Long files contain many names by chance and are slow to parse.
    mean = corpus.live_length / max(1, corpus.live_document_count)
    score = np.maximum(score, 0.0) / np.sqrt(1.0 + corpus.document_length / max(1.0, mean))
    score[own] = 0.0
    family = family_of(files.of_document(own)[1])
    best: list[tuple[float, str]] = []
    for document in np.argsort(-score, kind="stable").tolist():
        # Keep all ties of the last one: they are ordered by path, not by segment.
        if score[document] <= 0 or (len(best) >= most and score[document] < -best[most - 1][0]):
            break
        file, language = files.of_document(document)
        if family_of(language) == family:
            best.append((-float(score[document]), file))
    return [file for _, file in sorted(best)[:most]]


def _terms(names: Sequence[str]) -> dict[str, int]:
    """Return the term of each name in the index: its compound, or the stem of its only word."""
    several, found = [], {}
    for name in names:
        words = words_of(name)
        if len(words) > 1:
            several.append(name)
        elif len(words) == 1:
            found[name] = term_hash(words[0])
    return {**dict(zip(several, compound_hashes(several), strict=True)), **found}
