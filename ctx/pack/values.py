"""The nouns of packs: what is asked for, what was chosen, and what became of it since.

Nothing here reads a file or a store.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from ctx.text.tokens import O200K

SCHEMA = 1
"""The version of manifests; it grows when a reader of the old one would read a new one wrongly."""
STRATEGY = 1
"""The version of the way excerpts are cut; packs of another one are not compared excerpt by excerpt."""

BUDGET, BUDGET_MAX = 8_000, 1_000_000
FILES, FILES_MAX = 40, 1_000
MARKDOWN, XML, JSON = FORMATS = ("markdown", "xml", "json")

TOKEN_BUDGET, OVERSIZED_LINE, SOURCE_MEMORY = OMISSIONS = (
    "token_budget",
    "oversized_line",
    "source_memory_limit",
)
"""Why a file that was chosen has no excerpt."""

SELECTED, LOW_VALUE, BELOW_LIMIT, NO_ROOM = SELECTION = (
    "selected",
    "low_marginal_value",
    "below_file_limit",
    "token_budget",
)
"""What became of a file that was considered. LOW_VALUE: there was room, but it would add too little."""

ADDED, CHANGED, UNCHANGED = "added", "changed", "unchanged"
"""What a file is against the pack before."""


TASK, EXAMPLE, ERROR_LOG = "task", "example", "error_log"
"""Where a hint stands: in what the task says, in code that it shows, in an error log."""


class Hint(NamedTuple):
    """Something that the task or an error log names: a path, a symbol, or both; `line` from 1.

    `origin` is TASK, EXAMPLE or ERROR_LOG.
    """

    path: str | None
    symbol: str | None
    line: int | None
    origin: str


class Options(NamedTuple):
    """How a pack is made; all of it is written down in its manifest, and an update inherits it.

    `within` is a range of `ctx.git.ranges` whose changes come first.
    """

    budget: int = BUDGET
    max_files: int = FILES
    tokenizer: str = O200K
    format: str = MARKDOWN
    revision: str | None = None
    within: str | None = None


class QueryTerm(NamedTuple):
    """A term of the task, as `ctx.ranking.query_terms` tells it."""

    term: str
    origin: str
    source: str
    weight: float


class Lines(NamedTuple):
    """Whole lines of a file, from 1, both ends included."""

    first: int
    last: int


class Excerpt(NamedTuple):
    """What is shown of one place: ranges of lines in order, the first may be a signature alone.

    `symbol` is "" where the place has no name; `why` says in few words what it is there for, "" for a match.
    """

    ranges: tuple[Lines, ...]
    symbol: str
    why: str = ""


class PackedFile(NamedTuple):
    """A file of a pack. `excerpts` are in the order of their places, none where `omission` says why.

    `best` is the range that speaks most for the file. `blob` is git's id and `digest` the BLAKE2b (32 bytes)
    of the bytes, both hexadecimal; None in a manifest that has none. `contributions` add up to `score`, in
    units of the ranker. `tokens` are those of the excerpts. `state` is against the pack before, None where
    there is none.
    """

    path: bytes
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
"""Why an update has not what the pack before had."""


class Gone(NamedTuple):
    """A file of the pack before that this one has not: DELETED from the tree, or NOT_SELECTED any more."""

    path: bytes
    reason: str


class Stale(NamedTuple):
    """A citation of the pack before that no longer shows what the tree has."""

    path: bytes
    citation: str


class Delta(NamedTuple):
    """What an update says of the pack before; `complete` tells why everything is sent again, if it is."""

    parent: str
    removed: tuple[Gone, ...]
    stale: tuple[Stale, ...]
    complete: str | None


class Considered(NamedTuple):
    """A file that was weighed, whatever became of it (one of SELECTION)."""

    path: bytes
    blob: str
    status: str


class Pack(NamedTuple):
    """A pack: all that its manifest says. `tokens` are those of its prompt, in its format.

    `ranked_with` names the evidence from outside the tree that had a part in the choice.
    """

    slug: str
    task: str
    options: Options
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
