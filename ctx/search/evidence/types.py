"""Value types of evidence. This module never reads files or the store."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from ctx.ranking.query_terms import QueryTerm
from ctx.search.dependencies.types import Edge
from ctx.types import Answer

INDEXED, SKIPPED, NOT_IN_TREE = "indexed", "skipped", "not_in_tree"


class Symbol(NamedTuple):
    """A definition in a file; lines are counted from 1."""

    symbol: str
    kind: str
    first: int
    last: int


class Excerpt(NamedTuple):
    """Whole lines of a file, counted from 1; `text` is None if the blob cannot be read."""

    first: int
    last: int
    symbol: str
    text: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class FileHit:
    """A file in a search result.

    `contributions` add up to `margin`, the ranker's sum for the best chunk of the file. `score` is in 0..1,
    relative to the best file. `evidence` holds objects with a `kind`, listed in docs/evidence.md.
    `left_out` is the number of excerpts that did not fit.
    """

    path: str
    language: str | None
    blob: str
    is_test: bool
    score: float
    margin: float
    contributions: Mapping[str, float]
    reasons: tuple[str, ...]
    evidence: tuple[Mapping[str, Any], ...]
    symbols: tuple[Symbol, ...]
    excerpts: tuple[Excerpt, ...]
    left_out: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class FileAnswer:
    """The files that match a question, best first; `about` is the answer without its hits."""

    about: Answer
    query: str
    terms: tuple[QueryTerm, ...]
    tokenizer: str
    hits: tuple[FileHit, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """The reasons why a file is or is not selected for a task.

    `indexing` is INDEXED, SKIPPED (with `reason`) or NOT_IN_TREE. `selection` is one of SELECTION of
    `ctx.pack.types` and `selection_reason` explains it. Both are None if the file is not indexed;
    `selection` is also None if no pack can be made. `rank` is the position of the
    file among `ranked` ranked files, or None. `uses` and `used_by` are its dependency edges.
    """

    about: Answer
    path: str
    task: str
    terms: tuple[QueryTerm, ...]
    indexing: str
    ranked: int
    reason: str | None = None
    selection: str | None = None
    selection_reason: str | None = None
    rank: int | None = None
    hit: FileHit | None = None
    uses: tuple[Edge, ...] = ()
    used_by: tuple[Edge, ...] = ()
