"""Value types of packs: options, files, excerpts, and changes since the parent pack.

Nothing here reads a file or a store.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from ctx.ranking.query_terms import QueryTerm
from ctx.search.dependencies.types import Edge
from ctx.text.tokens import O200K

SCHEMA = 1
"""Version of manifests; raised if an old reader would misread a new manifest."""
STRATEGY = 1
"""Version of the choice of excerpts; packs of other versions are not compared by excerpt."""

BUDGET, BUDGET_MAX = 8_000, 1_000_000
FILES, FILES_MAX = 40, 1_000
MARKDOWN, XML, JSON = FORMATS = ("markdown", "xml", "json")

TOKEN_BUDGET, OVERSIZED_LINE, SOURCE_MEMORY = "token_budget", "oversized_line", "source_memory_limit"
"""Reasons why a selected file has no excerpt."""

SELECTED, LOW_VALUE, BELOW_LIMIT, NO_ROOM = SELECTION = (
    "selected",
    "low_marginal_value",
    "below_file_limit",
    "token_budget",
)
"""Statuses of a considered file. LOW_VALUE: there was room, but it would add too little."""

ADDED, CHANGED, UNCHANGED = "added", "changed", "unchanged"
"""States of a file relative to the parent pack."""

TASK, EXAMPLE, ERROR_LOG = "task", "example", "error_log"
"""Origins of a hint: prose of the task, code of the task, error log."""


class Hint(NamedTuple):
    """A path, a symbol, or both, named by the task or an error log; `line` counts from 1.

    `origin` is TASK, EXAMPLE or ERROR_LOG.
    """

    path: str | None
    symbol: str | None
    line: int | None
    origin: str


class PackOptions(NamedTuple):
    """PackOptions of a pack; they are stored in its manifest, and inherited by updates.

    `within` is a range of `ctx.git.ranges` whose changes are preferred.
    """

    budget: int = BUDGET
    max_files: int = FILES
    tokenizer: str = O200K
    format: str = MARKDOWN
    revision: str | None = None
    within: str | None = None


class Lines(NamedTuple):
    """Lines of a file, 1-based and inclusive."""

    first: int
    last: int


class Excerpt(NamedTuple):
    """Excerpt of one place: ranges of lines in order; the first may be only a signature.

    `symbol` is "" if the place has no name; `why` is a short reason, "" for a match.
    """

    ranges: tuple[Lines, ...]
    symbol: str
    why: str = ""


class PackedFile(NamedTuple):
    """A file of a pack. `excerpts` are in source order; if there are none, `omission` is the reason.

    `best` is the best range of the file. `blob` is git's id and `digest` the BLAKE2b (32 bytes) of the bytes,
    both hexadecimal; None if unknown. `contributions` add up to `score`, in units of the ranker.
    `tokens` are those of the excerpts. `state` is relative to the parent pack, None without one.
    """

    path: str
    language: str | None
    blob: str | None
    digest: str | None
    score: float
    contributions: Mapping[str, float]
    evidence: tuple[Mapping[str, Any], ...]
    excerpts: tuple[Excerpt, ...]
    best: Lines | None
    omission: str | None
    tokens: int = 0
    state: str | None = None


DELETED, NOT_SELECTED = "deleted", "not selected"
"""Reasons why an update omits a file of the parent pack."""


class RemovedFile(NamedTuple):
    """A file of the parent pack that the update omits: DELETED from the tree, or NOT_SELECTED."""

    path: str
    reason: str


class StaleCitation(NamedTuple):
    """A citation of the parent pack that no longer matches its file."""

    path: str
    citation: str


class Delta(NamedTuple):
    """Changes relative to the parent pack; `complete` is the reason for a full refresh, or None.

    `stale` are citations of changed files, `lost` edges between its files that the tree no longer has.
    """

    parent: str
    removed: tuple[RemovedFile, ...]
    stale: tuple[StaleCitation, ...]
    complete: str | None
    lost: tuple[Edge, ...] = ()


class Considered(NamedTuple):
    """A considered file with its status (one of SELECTION)."""

    path: str
    blob: str
    status: str


class Pack(NamedTuple):
    """A pack with all data of its manifest. `tokens` are those of its prompt, in its format.

    `ranked_with` names evidence from outside the tree used for ranking. `edges` connect its files.
    """

    slug: str
    task: str
    options: PackOptions
    hints: tuple[Hint, ...]
    query_terms: tuple[QueryTerm, ...]
    revision: str
    commit: str | None
    tree: str
    files: tuple[PackedFile, ...]
    considered: tuple[Considered, ...]
    message: str | None
    tokens: int
    delta: Delta | None = None
    schema: int = SCHEMA
    strategy: int | None = STRATEGY
    ranked_with: tuple[str, ...] = ()
    edges: tuple[Edge, ...] = ()
