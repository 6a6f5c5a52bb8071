"""Candidates for a pack: chunks with the probability that the task is about them, and the evidence."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from math import log, log1p
from typing import Any, NamedTuple

import numpy as np

from ctx.models.logistic import logistic
from ctx.pack.task import find_paths
from ctx.pack.types import EXAMPLE, Hint
from ctx.ranking.corpus import Corpus
from ctx.ranking.explain import COMMON, FURTHER_ROW, Explained
from ctx.ranking.query import Query
from ctx.storage.records import Record, decode_record
from ctx.storage.views import paths as path_flags
from ctx.storage.views.segments import Key
from ctx.text.terms import DEFINITION
from ctx.text.vocabulary import exact_names
from ctx.types import ChunkChange, Position

LEAST_CHANCE = 0.002
"""Minimum probability of a chunk to be shown."""
_NAMED_FILE, _NAMED_SYMBOL, _NAMED_LINE, _IN_CHANGE = 3.0, 4.0, 6.0, 6.0
"""Log-odds that a hint adds."""
_IN_EXAMPLE = 0.25
"""Factor for names that occur only in code of the task: it shows how to reproduce, not the location."""
_MEMBER = 1.5
"""Log-odds for the members of a named type."""
_NAMED_BESIDE = 0.4
"""Factor for tests and documentation, if the task does not ask for them."""
_NAMED_TWICE = 1.5
"""Additional log-odds of a symbol whose file is named too."""
_SEPARATORS = frozenset(".#:")
"""Separators between a type and its member in a symbol name."""
_MOST_DEFINERS = 6
"""Names with more definitions than this are ambiguous and ignored."""
_BESIDE = path_flags.TEST | path_flags.DOCS
_SETTINGS = path_flags.CONFIG | path_flags.DATA
_NAMED_AT_LEAST, _UNRANKED = -4.0, -6.0
"""Log-odds of named rows before hints: the minimum, and the value for unranked rows."""


class Candidate(NamedTuple):
    """A chunk that can be shown. `row` is its index in the corpus, `file` the file's index in the view.

    `contributions` are the parts of the ranker's margin and the additions of hints; `odds` are the log-odds
    that the task is about it, `chance` is the probability in 0..1.
    """

    row: int
    file: int
    path: str
    blob: bytes
    language: str | None
    position: Position
    symbol: str
    names: tuple[str, ...]
    kind: str
    is_test: bool
    odds: float
    contributions: dict[str, float]
    evidence: tuple[dict[str, Any], ...]

    @property
    def chance(self) -> float:
        """Probability that the task is about it."""
        return logistic(self.odds)

    @property
    def summed(self) -> tuple[float, dict[str, float]]:
        """Sum of the rounded contributions, and these, as in the manifest."""
        parts = {name: round(value, 6) for name, value in self.contributions.items()}
        return round(sum(parts.values()), 6), parts


class RecordCache:
    """Cache of document records; turns rows into candidates."""

    def __init__(self, corpus: Corpus, record: Callable[[bytes, Key], bytes]) -> None:
        self.corpus = corpus
        self.record_of = record
        self._records: dict[int, tuple[Key, Record]] = {}

    def record(self, document: int, file: int) -> tuple[Key, Record]:
        """Return a document's key and record. Raises `Damaged`."""
        known = self._records.get(document)
        if known is None:
            key = self.corpus.key(document)
            record = decode_record(self.record_of(self.corpus.view.cluster_of(file), key))
            known = self._records[document] = (key, record)
        return known

    def candidate(
        self,
        row: int,
        file: int,
        odds: float,
        contributions: Mapping[str, float],
        evidence: Sequence[dict[str, Any]],
    ) -> Candidate:
        """Return a row of a file as a candidate."""
        corpus = self.corpus
        document = int(corpus.document_of[row])
        (blob, language), record = self.record(document, file)
        chunk = corpus.chunk(row)
        return Candidate(
            row,
            file,
            os.fsdecode(corpus.view.path(file)),
            blob,
            language or None,
            record.positions[chunk],
            record.symbols[chunk],
            tuple(record.names[chunk]),
            record.kinds[chunk],
            record.tests[chunk],
            odds,
            dict(contributions),
            tuple(evidence),
        )

    def parts_of(self, row: int, file: int) -> tuple[list[int], list[int]]:
        """Return the rows of the same definition as a row, and those of its members."""
        document = int(self.corpus.document_of[row])
        record = self.record(document, file)[1]
        start = int(self.corpus.document_start[document])
        symbol = record.symbols[row - start]
        if not symbol:
            return [row], []
        pieces = [start + at for at, other in enumerate(record.symbols) if other == symbol]
        members = [
            start + at
            for at, other in enumerate(record.symbols)
            if other.startswith(symbol) and other[len(symbol) : len(symbol) + 1] in _SEPARATORS
        ]
        return pieces, members

    def row_at(self, file: int, line: int) -> int | None:
        """Return the row of a file that contains a line, or the nearest one before it."""
        document = int(self.corpus.file_document[file])
        if document < 0:
            return None
        record = self.record(document, file)[1]
        found = [at for at, position in enumerate(record.positions) if position.start_line <= line]
        return int(self.corpus.document_start[document]) + found[-1] if found else None


def candidates(
    records: RecordCache,
    query: Query,
    explained: Sequence[Explained],
    hints: Sequence[Hint],
    changes: Mapping[int, Mapping[int, ChunkChange]],
) -> list[Candidate]:
    """Return the rows of a ranking and those that hints and changes name, likeliest first."""
    corpus = records.corpus
    boosts, evidence = _boosts(records, query.requested, hints, changes)
    found = []

    def add(row: int, file: int, odds: float, parts: Mapping[str, float], said: list[dict[str, Any]]) -> None:
        added = boosts.get(row, {})
        if len(added.keys() - {"named file", "in a named type"}):
            odds = max(odds, _NAMED_AT_LEAST)
        said += evidence.get(row, [])
        found.append(records.candidate(row, file, odds + sum(added.values()), {**parts, **added}, said))

    for one, odds in zip(explained, _log_odds(records, query, explained), strict=True):
        add(one.hit.row, one.hit.file, odds, one.parts, [_ranked(one)])
    for row in sorted(boosts.keys() - {one.hit.row for one in explained}):
        file = int(corpus.shown[corpus.document_of[row]])
        if file >= 0:
            add(row, file, _UNRANKED, {}, [])
    found.sort(key=lambda one: (-one.odds, one.path, one.row))
    return found


def _log_odds(records: RecordCache, query: Query, explained: Sequence[Explained]) -> Iterator[float]:
    """Yield the log-odds that a task is about each ranked row, estimated from its place in the ranking.

    The weights were fitted by logistic regression to 395 commits of 55 projects (the rows of the parent tree
    that a commit changed); none of these projects is used to evaluate packs, see docs/packs.md.
    """
    corpus = records.corpus
    ranks: dict[int, int] = {}
    ordinals: Counter[int] = Counter()
    best = max((one.margin for one in explained), default=0.0)
    most_words = max((one.words for one in explained), default=0.0) or 1.0
    agreement = max((one.hit.agreement for one in explained), default=0.0)
    for one in explained:
        row, file = one.hit.row, one.hit.file
        document = int(corpus.document_of[row])
        record = records.record(document, file)[1]
        chunk = corpus.chunk(row)
        position = record.positions[chunk]
        flags = int(corpus.view.file_flags[file]) & ~query.requested
        beside = flags & _BESIDE or record.kinds[chunk] == "imports"
        yield (
            -3.42
            + 0.3 * (one.margin - one.parts.get(FURTHER_ROW, 0.0) - best)
            - 0.58 * log1p(ranks.setdefault(file, len(ranks)))
            - 0.28 * log1p(ordinals[file])
            + 2.78 * (one.words / most_words)
            - 4.9 * (agreement - one.hit.agreement)
            + 0.2 * log((position.end - position.start) / 3.8 + 5.0)
            - 0.19 * log(len(record.positions))
            + (-1.36 if flags & _SETTINGS else 0.0)
            # Tests come with their subject, if the task does not ask for them.
            + (-3.0 if beside else 0.0)
        )
        ordinals[file] += 1


def _ranked(one: Explained) -> dict[str, Any]:
    """Return the ranker's evidence for a row: its positive kinds, strongest first."""
    positive = {name: value for name, value in one.parts.items() if value > 0 and name != COMMON}
    kinds = sorted(positive, key=lambda name: (-positive[name], name))
    return {"kind": "ranking", "for": kinds[:4], "agreement": round(one.hit.agreement, 4)}


def _boosts(
    records: RecordCache, asked: int, hints: Sequence[Hint], changes: Mapping[int, Mapping[int, ChunkChange]]
) -> tuple[dict[int, dict[str, float]], dict[int, list[dict[str, Any]]]]:
    """Return the additions of hints and changes for each row, by name, and the evidence for them."""
    corpus = records.corpus
    boosts: dict[int, dict[str, float]] = {}
    evidence: dict[int, list[dict[str, Any]]] = {}

    def add(row: int, name: str, value: float, said: dict[str, Any]) -> None:
        own = boosts.setdefault(row, {})
        if value > own.get(name, 0.0):
            own[name] = value
        if said not in evidence.setdefault(row, []):
            evidence[row].append(said)

    by_file = find_paths(hints, corpus.view.paths)
    for file, named in sorted(by_file.items()):
        document = int(corpus.file_document[file])
        if document < 0:
            continue
        for hint in named:
            said = {"kind": "named", "origin": hint.origin, "path": hint.path}
            part = _IN_EXAMPLE if hint.origin == EXAMPLE else 1.0
            for row in corpus.rows_of(document):
                add(row, "named file", part * _NAMED_FILE, said)
            if hint.line is not None and (at := records.row_at(file, hint.line)) is not None:
                add(at, "named line", part * _NAMED_LINE, {**said, "line": hint.line})
    for symbol, origin, rows in _definers(corpus, hints):
        for row in rows:
            document, file = int(corpus.document_of[row]), int(corpus.shown[corpus.document_of[row]])
            value = _NAMED_SYMBOL - float(np.log(len(rows))) / 2
            in_named = any(int(corpus.file_document[other]) == document for other in by_file)
            value = value + (_NAMED_TWICE if in_named else 0.0)
            part = _IN_EXAMPLE if origin == EXAMPLE else 1.0
            if file >= 0 and int(corpus.view.file_flags[file]) & _BESIDE & ~asked:
                part *= _NAMED_BESIDE
            said = {"kind": "named", "origin": origin, "symbol": symbol}
            pieces, members = records.parts_of(row, file) if file >= 0 else ([row], [])
            for piece in pieces:
                add(piece, "named symbol", round(part * value, 6), said)
            if origin != EXAMPLE:
                for member in members:
                    add(member, "in a named type", round(part * _MEMBER, 6), {**said, "member": True})
    for file, chunks in changes.items():
        document = int(corpus.file_document[file])
        for chunk, change in chunks.items():
            row = int(corpus.document_start[document]) + chunk
            add(row, "in the range", _IN_CHANGE, {"kind": "change", "state": change.state})
    return boosts, evidence


def _definers(corpus: Corpus, hints: Sequence[Hint]) -> list[tuple[str, str, list[int]]]:
    """Return symbol, origin and exactly matching live definitions, for hinted symbols with few of these."""
    symbols = dict.fromkeys((hint.symbol, hint.origin) for hint in hints if hint.symbol)
    return [
        (symbol, origin, rows)
        for (symbol, origin), rows in zip(
            symbols, definers(corpus, [symbol for symbol, _ in symbols]), strict=True
        )
        if 0 < len(rows) <= _MOST_DEFINERS
    ]


def definers(corpus: Corpus, names: Sequence[str]) -> list[list[int]]:
    """Return for each name the live rows that define exactly it."""
    if not names:
        return []
    octets = [name.encode("utf-8", "surrogatepass") for name in names]
    bounds, at = [], 0
    for name in octets:
        bounds.append((at, at + len(name)))
        at += len(name) + 1
    counted = exact_names(b"\n".join(octets), bounds)
    hashes: list[int | None] = [None] * len(names)
    for text, word in zip(counted.text.tolist(), counted.word.tolist(), strict=True):
        hashes[text] = word
    wanted = [number for number, hashed in enumerate(hashes) if hashed is not None]
    sought = np.array([hashes[number] for number in wanted], dtype=np.int64) ^ DEFINITION
    found = corpus.find(sought)
    rows: list[list[int]] = [[] for _ in names]
    for term, row in zip(found.term.tolist(), found.row.tolist(), strict=True):
        rows[wanted[term]].append(row)
    return rows
