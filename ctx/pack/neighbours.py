"""Neighbours of selected code: tests that name it, its callers, and definitions that it uses.

They are proposed by the terms and names of the index, so few files outside the pack are read; if the edges
between files are resolved, these decide.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from ctx.pack.candidates import Candidate, RecordCache, definers
from ctx.ranking.query import Query
from ctx.search.dependencies.edges import Dependencies
from ctx.search.dependencies.types import Edge
from ctx.storage.views import paths as path_flags
from ctx.text.query import words_of
from ctx.text.terms import STOP_WORDS, term_hash
from ctx.text.vocabulary import compound_hashes

TEST_OF, CALLER_OF, DEFINITION_OF = "test of", "caller of", "definition of"
"""Relations of a neighbour to the symbol that it was found by."""

_NEEDED = re.compile(r"\b(?:([A-Za-z_$][\w$]{2,120})\(|([A-Za-z]\w*(?:[a-z][A-Z]|_)\w*|[A-Z][a-z]\w+))")
"""Names that code uses: calls, and identifiers that are not plain words."""
_PLAIN = re.compile(r"_*[A-Za-z][A-Za-z0-9_]{3,}")
"""Names that are one term of the index: no phrases in backticks, no operators, only ASCII."""
_MOST_DEFINERS = 2
"""Names with more definitions than this are ambiguous and ignored."""
_MOST_USERS = 40
"""Names in more rows than this are too common to look for callers."""
_CALLABLE = frozenset(
    ("function", "method", "class", "struct", "interface", "trait", "object", "type", "macro")
)
_NO_SOURCE = path_flags.TEST | path_flags.DOCS | path_flags.CONFIG | path_flags.DATA


MOST_BYTES = 96 << 10
"""Maximum bytes read for edges: resolving identifiers costs 0.25 s per megabyte in addition to parsing,
which the shown files need anyway.
"""


class Neighbour(NamedTuple):
    """A row related to a symbol of a selected row; `source` is the path of the selected row."""

    row: int
    file: int
    relation: str
    symbol: str
    source: bytes
    weight: float


class Links:
    """The edges of a tree, read on demand within a limit."""

    def __init__(self, dependencies: Dependencies, most: int = MOST_BYTES) -> None:
        self._dependencies = dependencies
        self._left = most
        self._read: dict[bytes, bool] = {}

    def known(self, path: bytes) -> bool:
        """Return True if edges are resolved for the language of a file."""
        return self._dependencies.resolves(path)

    def edges(self, path: bytes, names: Collection[str]) -> list[Edge] | None:
        """Return a file's uses of some names, and its imports; None without edges, or above the limit."""
        if path not in self._read:
            size = self._dependencies.size(path)
            self._read[path] = size is not None and size <= self._left
            self._left -= size if size is not None and self._read[path] else 0
        return self._dependencies.by_names(path, names) if self._read[path] else None

    def targets(self, path: bytes, names: Collection[str]) -> dict[str, bytes] | None:
        """Return the target files of some names in a file, if known; None as for `edges`."""
        edges = self.edges(path, names)
        return None if edges is None else {edge.symbol: edge.target_path for edge in reversed(edges)}

    def leads(self, path: bytes, target: bytes, symbol: str) -> bool:
        """Return True if a file is known to use another one: the symbol itself, or what contains it."""
        edges = self.edges(path, (symbol,)) or []
        meant = [edge.target_path for edge in edges if edge.symbol == symbol]
        return target in meant if meant else any(edge.target_path == target for edge in edges)


def definitions_used(
    records: RecordCache, links: Links, chosen: Sequence[Candidate], texts: Mapping[int, str], most: int
) -> list[Neighbour]:
    """Return definitions of names in the texts of selected rows (by row), best first."""
    uses: Counter[str] = Counter()
    first: dict[str, Candidate] = {}
    for one in chosen:
        if one.kind == "section" or one.is_test:
            continue
        needed = (match[1] or match[2] for match in _NEEDED.finditer(texts.get(one.row, "")))
        for name in dict.fromkeys(needed):
            if name.lower() in STOP_WORDS or name in one.names:
                continue
            uses[name] += 1
            first.setdefault(name, one)
    names = list(uses)
    names_in: dict[str, list[str]] = {}
    for name, user in first.items():
        names_in.setdefault(user.path, []).append(name)
    targets = {path: links.targets(os.fsencode(path), own) for path, own in names_in.items()}
    known = {one.row for one in chosen}
    found = []
    for name, rows in zip(names, definers(records.corpus, names), strict=True):
        user = first[name]
        meant = _meant(records, targets[user.path], user, name, rows)
        rows = [row for row in meant if row not in known]
        if not 0 < len(rows) <= _MOST_DEFINERS:
            continue
        for row in rows:
            file = _file(records, row)
            if file >= 0 and not int(records.corpus.view.file_flags[file]) & _NO_SOURCE:
                weight = uses[name] * user.chance / len(rows)
                found.append(Neighbour(row, file, DEFINITION_OF, name, os.fsencode(user.path), weight))
    return _best(records, found, most)


def _meant(
    records: RecordCache, targets: Mapping[str, bytes] | None, user: Candidate, name: str, rows: Sequence[int]
) -> Sequence[int]:
    """Return the rows that define a name as used in a selected row: in its file, else in an edge's target.

    `targets` maps names in its file to target files; None if unknown.
    """
    if targets is None:
        return rows
    view, document_of = records.corpus.view, records.corpus.document_of
    own = [row for row in rows if document_of[row] == document_of[user.row]]
    return own or [row for row in rows if view.path(_file(records, row)) == targets.get(name)]


def is_user(records: RecordCache, links: Links, found: Neighbour) -> bool:
    """Return True if a row with a name uses its definition, or that is unknown."""
    path = records.corpus.view.path(found.file)
    return path == found.source or not links.known(path) or links.leads(path, found.source, found.symbol)


def users(records: RecordCache, query: Query, chosen: Sequence[Candidate], most: int) -> list[Neighbour]:
    """Return tests and other code that name the definitions of selected rows, likeliest first."""
    corpus = records.corpus
    symbols: dict[str, Candidate] = {}
    for one in chosen:
        if one.kind in _CALLABLE and one.names and not one.is_test:
            symbols.setdefault(one.names[0], one)
    names = [name for name in symbols if _PLAIN.fullmatch(name)]
    if not names:
        return []
    terms = [
        hashed if len(words_of(name)) > 1 else term_hash(name.lower())
        for name, hashed in zip(names, compound_hashes(names), strict=True)
    ]
    postings = corpus.find(np.array(terms, dtype=np.int64))
    own = corpus.find(query.hashes)
    on_task = np.bincount(own.row, query.weights[own.term], corpus.rows)
    known = {one.row for one in chosen}
    found = []
    for number, name in enumerate(names):
        rows = postings.row[postings.term == number].tolist()
        if len(rows) > _MOST_USERS:
            continue
        definition = symbols[name]
        for row in rows:
            if row in known:
                continue
            file = _file(records, row)
            if file < 0:
                continue
            flags = int(corpus.view.file_flags[file])
            if flags & _NO_SOURCE & ~path_flags.TEST:
                continue
            relation = TEST_OF if flags & path_flags.TEST else CALLER_OF
            weight = definition.chance * (1.0 + float(on_task[row])) / (1.0 + len(rows)) ** 0.5
            found.append(Neighbour(row, file, relation, name, os.fsencode(definition.path), weight))
    return _best(records, found, most)


def _file(records: RecordCache, row: int) -> int:
    return int(records.corpus.shown[records.corpus.document_of[row]])


def _best(records: RecordCache, found: Sequence[Neighbour], most: int) -> list[Neighbour]:
    """Return the best neighbours, each row once with its highest weight."""
    view = records.corpus.view
    kept: dict[int, Neighbour] = {}
    for one in sorted(found, key=lambda one: (-one.weight, view.path(one.file), one.row, one.symbol)):
        kept.setdefault(one.row, one)
    return list(kept.values())[:most]
