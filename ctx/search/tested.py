"""The definition of an answer that a test of the same answer tests.

A test that contains the name of a definition tests it if nothing else in the code of the tree has that name,
or if the test's path has the name of the definition's file. Nothing is parsed.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from ctx.ranking.corpus import Corpus
from ctx.search.identifiers import aside_rows, split_symbol
from ctx.storage.arrays import Bools
from ctx.text.terms import DEFINITION
from ctx.text.vocabulary import exact_hash
from ctx.types import Hit

_SHORTEST = 4
"""Least number of characters of a name by which a test is recognised."""


def with_tests(corpus: Corpus, hits: Sequence[Hit], text_of: Callable[[Hit], str | None]) -> list[Hit]:
    """Return hits in which each test names the definition among them that it tests."""
    defined: dict[str, list[Hit]] = {}
    for hit in hits:
        name = split_symbol(hit.symbol)[-1]
        if hit.is_definition and not hit.is_test and len(name) >= _SHORTEST:
            defined.setdefault(name, []).append(hit)
    if not defined:
        return list(hits)
    pattern = re.compile(
        rf"(?<!\w)({'|'.join(map(re.escape, sorted(defined, key=len, reverse=True)))})(?!\w)"
    )
    aside = aside_rows(corpus)
    known: dict[str, str | None] = {}
    found = []
    for hit in hits:
        names = set(pattern.findall(text_of(hit) or "")) if hit.is_test else set()
        tested = [
            one
            for name in names
            for one in defined[name]
            if _has_name_of(one.path, hit.path) or one.path == _single_path(corpus, aside, name, known)
        ]
        if tested:
            words = hit.symbol.lower().replace("_", "")
            best = max(tested, key=lambda one: (split_symbol(one.symbol)[-1].lower() in words, one.score))
            hit = replace(hit, tests=(best.path, best.symbol))
        found.append(hit)
    return found


def _has_name_of(path: str, test: str) -> bool:
    """Return True if the name of a test contains the name of a file, as in `test_session.py`."""
    stem = os.path.basename(path).partition(".")[0].lower()
    return len(stem) >= _SHORTEST and stem in os.path.basename(test).lower()


def _single_path(corpus: Corpus, aside: Bools, name: str, known: dict[str, str | None]) -> str | None:
    """Return the path of the only definition in code that has a name, or None; `known` caches the results."""
    if name not in known:
        rows = corpus.find(np.array([exact_hash(name) ^ DEFINITION], dtype=np.int64)).row
        files = corpus.shown[corpus.document_of[rows[~aside[rows]]]]
        known[name] = os.fsdecode(corpus.view.path(int(files[0]))) if len(files) == 1 else None
    return known[name]
