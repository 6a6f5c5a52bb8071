"""The nouns of evidence. Nothing here reads a file or a store."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from ctx.ranking.query_terms import IDENTIFIER, LITERAL, STEM, TRANSLATION, QueryTerm
from ctx.search.dependencies.values import Edge
from ctx.types import Answer

SYNONYM = "synonym"
ORIGINS = (LITERAL, STEM, SYNONYM, IDENTIFIER, TRANSLATION)
"""How a word of a question is in a file: as it was asked, in another form, by a word of like meaning, as a
part of an identifier or joined to one, or in English where the question is not.
"""

INDEXED, SKIPPED, NOT_IN_TREE = "indexed", "skipped", "not_in_tree"


class Symbol(NamedTuple):
    """Something that a file defines, with its lines from 1."""

    symbol: str
    kind: str
    first: int
    last: int


class Excerpt(NamedTuple):
    """Whole lines of a file, from 1; `text` is None where it cannot be read."""

    first: int
    last: int
    symbol: str
    text: str | None


class FileHit(NamedTuple):
    """A file that answers.

    `contributions` add up to `margin`, the sum that the ranker gave to the best chunk of the file; `score` is
    the share of the best file's score in 0..1. `evidence` are objects with a `kind`, as docs/evidence.md
    lists them. `left_out` counts the excerpts for which there was no room.
    """

    path: bytes
    language: str | None
    blob: bytes
    is_test: bool
    score: float
    margin: float
    contributions: Mapping[str, float]
    reasons: tuple[str, ...]
    evidence: tuple[Mapping[str, Any], ...]
    symbols: tuple[Symbol, ...]
    excerpts: tuple[Excerpt, ...]
    left_out: int = 0


class FileAnswer(NamedTuple):
    """The files that answer a question, best first; `about` is the answer without its hits."""

    about: Answer
    query: str
    terms: tuple[QueryTerm, ...]
    tokenizer: str
    hits: tuple[FileHit, ...]


class Explanation(NamedTuple):
    """Why a file is, or is not, among what a task needs.

    `indexing` is INDEXED, SKIPPED (`reason` says why) or NOT_IN_TREE; `selection` is one of SELECTION of
    `ctx.pack.values` and `selection_reason` the same in words; None where the file is not indexed, the first
    one also where no pack can be made. `rank` is
    that of the file among `ranked` files that were weighed, None where it was not weighed. `uses` and
    `used_by` are its edges.
    """

    about: Answer
    path: bytes
    task: str
    terms: tuple[QueryTerm, ...]
    indexing: str
    reason: str | None
    selection: str | None
    selection_reason: str | None
    rank: int | None
    ranked: int
    hit: FileHit | None
    uses: tuple[Edge, ...]
    used_by: tuple[Edge, ...]
