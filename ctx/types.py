"""Plain values that pass between the parts of git-ctx, as docs/design.md names them.

Nothing here reads a file, runs a program or depends on git.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

KINDS = (
    "block",  # a piece that defines nothing: statements, a comment, loose text
    "function",
    "method",
    "class",
    "interface",
    "struct",
    "enum",
    "trait",
    "impl",
    "object",
    "module",
    "type",
    "constant",
    "field",
    "macro",
    "test",
    "imports",
    "section",  # a heading of a document with its text
    "entry",  # a key of a configuration or data file with its value
)
"""Kinds of chunks. A kind is stored as its index in this tuple, so append new ones at the end."""


ALL, CODE, DOCS, CONFIG = CONTENTS = ("all", "code", "docs", "config")
"""Purposes of files: `config` is configuration and data, `code` everything else."""

WORK_TREE, STAGED, COMMITTED = "work tree", "staged", "committed"
OURS, THEIRS, BASE = "ours", "theirs", "base"
"""Overlays of HEAD; the last three are the sides of a conflict."""


@dataclass(frozen=True, kw_only=True)
class ModelOptions:
    """Options for model services: query expansion, the reranker, and a lowest score in 0..1."""

    expand: bool = False
    rerank: bool = True
    min_score: float | None = None


@dataclass(frozen=True, kw_only=True)
class Request:
    """A question with the tree to search and the restrictions on the answer.

    `paths` are git pathspecs relative to the current directory, `languages` names as in Linguist, and
    `content` is one of CONTENTS. `overlay` is put on top of HEAD: the files of the work tree (WORK_TREE), the
    staged files (STAGED), one side of each path in conflict (OURS, THEIRS, BASE), or nothing (COMMITTED). All
    but the last imply HEAD. The default is WORK_TREE if HEAD is searched in a work tree.

    `within` restricts the search to the chunks that differ between the two trees of a range
    (`ctx.git.ranges`); if it names one tree, `overlay` names the other. `states` restricts it to some of
    STATES; empty means all. `recurse_submodules` also searches the submodules of the tree, ranked together.
    `evolution` adds to the best hits the commits at which they changed. With `word` the text is one
    identifier, and only places that contain it are returned: its definitions, then its uses; this is the
    default for a name that the tree defines and that is no plain word. `models` is None for the configured
    use of model services.
    """

    text: str
    limit: int = 10
    paths: Sequence[str] = ()
    languages: Sequence[str] = ()
    content: str = ALL
    revision: str | None = None
    branch: str | None = None
    overlay: str | None = None
    within: str | None = None
    states: Collection[str] = ()
    recurse_submodules: bool = False
    evolution: bool = False
    word: bool = False
    models: ModelOptions | None = None


if TYPE_CHECKING:
    from typing import TypedDict

    class TreeOptions(TypedDict, total=False):
        """Fields of Request that apply to every search of one tree, as keywords."""

        limit: int
        paths: Sequence[str]
        languages: Sequence[str]
        content: str
        revision: str | None
        branch: str | None
        overlay: str | None

    class SearchOptions(TreeOptions, total=False):
        """All fields of Request but its text, as keywords."""

        within: str | None
        states: Collection[str]
        recurse_submodules: bool
        evolution: bool
        word: bool
        models: ModelOptions | None


class Chunk(NamedTuple):
    """A byte range of one blob that is meaningful alone.

    `start` and `end` are byte offsets into the original blob, half open; the range neither begins nor
    ends with a blank line. `symbol` is the qualified name of the definition (or of the enclosing one), "" if
    there is none. `names` are all names that the chunk itself defines, unqualified, in order of position;
    of a function that is split, only the first piece has names.
    """

    start: int
    end: int
    kind: str
    symbol: str
    names: tuple[str, ...]
    is_test: bool


class Position(NamedTuple):
    """Position of a hit: 0-based byte offsets into the blob (half open), 1-based lines (inclusive)."""

    start: int
    end: int
    start_line: int
    end_line: int


ADDED, MODIFIED, REMOVED = STATES = ("added", "modified", "removed")
OLD, NEW = "old", "new"
IDENTICAL, NEAR_DUPLICATE = "identical", "near-duplicate"


@dataclass(frozen=True, slots=True)
class ChunkChange:
    """Change of a chunk between two trees; `lines` are the differing ranges as pairs of first and last.

    `state` is ADDED, MODIFIED or REMOVED; `side` (OLD or NEW) is the tree of the chunk and its lines.
    """

    state: str
    side: str
    lines: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class LineChange:
    """A commit that changed lines; `time` is the committer time in seconds since 1970."""

    commit: str
    time: int
    author: str
    subject: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Evolution:
    """The newest commits that changed a chunk's lines, newest first.

    `uncommitted` is True if the lines also have uncommitted changes. Not `complete` if the search was ended.
    """

    commits: list[LineChange]
    uncommitted: bool
    complete: bool


class BlobReader(Protocol):
    """Reader of the blobs of one answer; stays valid after later searches."""

    def of(self, path: str) -> Any:
        """Return the repository (`ctx.git.repository`) with the blob at a path of the answer."""

    def text(self, hit: Hit) -> str | None:
        """Return the text of a hit, None if its blob is missing or damaged."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """One chunk that matches a query. Paths are relative to the root of the repository.

    `score` is the ranker's, in 0..1 and comparable within one answer only; `agreement`, also in 0..1,
    is the share of sign bits of the chunk's vector that agree with the query's, or with a model service the
    cosine of both, 0 if negative. `also_at` are the other paths of the same blob in the same tree.
    `position` is the best piece of a definition, `head` the piece that begins it, and `last_line` its last
    line; both are None for a definition of one piece. `change` is set in answers that compare trees,
    `duplicate` (IDENTICAL or NEAR_DUPLICATE) in answers about related code, `evolution` on request. `tests`
    are the path and the symbol of the hit of the same answer that this one tests, None if tests were asked
    for. `reader` is that of the answer.
    """

    path: str
    position: Position
    symbol: str
    kind: str
    is_test: bool
    language: str | None
    blob: str
    score: float
    agreement: float
    also_at: tuple[str, ...]
    head: Position | None = None
    last_line: int | None = None
    change: ChunkChange | None = None
    duplicate: str | None = None
    evolution: Evolution | None = None
    tests: tuple[str, str] | None = None
    reader: BlobReader | None = field(default=None, repr=False, compare=False)

    @property
    def text(self) -> str | None:
        """The text of the chunk, read from git now; None if its blob is missing or damaged.

        It belongs to the searched state, even after further searches. After the index is closed, texts of
        uncommitted files are gone.
        """
        return None if self.reader is None else self.reader.text(self)

    @property
    def lines(self) -> tuple[int, int]:
        """First and last line, counted from 1, both included."""
        return self.position.start_line, self.position.end_line

    @property
    def is_definition(self) -> bool:
        """True if the hit is a definition or a piece of one, not loose statements or a part of a document."""
        return bool(self.symbol) and self.kind not in ("block", "imports", "section", "entry")

    @property
    def definition_lines(self) -> tuple[int, int]:
        """First and last line of the whole definition, with its documentation."""
        first, last = self.lines
        return self.head.start_line if self.head else first, self.last_line or last

    @property
    def signature(self) -> tuple[int, str] | None:
        """Number and text of the line that names the definition, read from git now.

        None if the hit is no definition, if it is a piece of a long comment, or if its blob is missing or
        damaged.
        """
        if not self.is_definition or self.reader is None:
            return None
        head = self.head or self.position
        text = self.text if head == self.position else self.reader.text(replace(self, position=head))
        if text is None:
            return None
        lines = text.split("\n")
        if self.definition_lines[1] > head.end_line and not _code(lines):
            # The comment is longer than a piece: the signature is in this piece, or elsewhere.
            head, lines = self.position, (self.text or "").split("\n")
            if not _code(lines):
                return None
        place = signature_line(lines, self.symbol)
        return head.start_line + place, lines[place]


_NAME = re.compile(r"\w+$")
_COMMENTED = re.compile(r"\s*(//|/\*|\*|--|;|%|<!--|@|\"\"\"|'''|#(?!\s*define\b)|\[[A-Z]|$)")
"""The start of a comment, an attribute or a decorator."""


_IMPORT = re.compile(
    r"\s*(import\b|from\s+\S+\s+import\b|export\s*(type\s*)?(\{|\*)|(pub\s+)?use\s|using\s|package\s)"
)
"""The start of an import, and of a list of names that are exported again."""


def _imports(lines: Sequence[str]) -> set[int]:
    """Return the indices of the lines of imports; one in brackets goes on until they are closed."""
    found, depth = set(), 0
    for place, line in enumerate(lines):
        if depth > 0 or _IMPORT.match(line):
            found.add(place)
            depth += sum(line.count(sign) for sign in "({") - sum(line.count(sign) for sign in ")}")
    return found if depth <= 0 else set()


def _code(lines: Sequence[str]) -> list[int]:
    """Return the indices of the lines that are no comments, attributes or imports."""
    imports = _imports(lines)
    return [place for place, line in enumerate(lines) if place not in imports and not _COMMENTED.match(line)]


def signature_line(lines: Sequence[str], symbol: str) -> int:
    """Return the index of the line that names a definition, after its comments, attributes and imports."""
    code = _code(lines) or [place for place, line in enumerate(lines) if not _COMMENTED.match(line)]
    name = _NAME.search(symbol)
    word = re.compile(rf"(?<!\w){re.escape(name[0])}(?!\w)") if name else None
    named = (place for place in code if word is not None and word.search(lines[place]))
    return next(named, code[0] if code else 0)


def by_score(hit: Hit) -> tuple[float, bytes, int]:
    """Return the sort key of hits: best score first, then path and position."""
    return -hit.score, os.fsencode(hit.path), hit.position.start


@dataclass(frozen=True, slots=True, kw_only=True)
class Coverage:
    """Number of files and chunks that an answer covers; `skipped` maps a reason to a number of files.

    `scanned` files are not indexed and were only searched by terms; `uncovered` ones were not searched. The
    text of `without_words` files is not in this clone: symbols, paths and vectors find them.
    """

    complete: bool
    files: int
    chunks: int
    skipped: dict[str, int]
    scanned: int = 0
    uncovered: int = 0
    without_words: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Uncommitted:
    """Uncommitted files in an answer.

    `state` is "work tree", "staged", or "ours", "theirs", "base" of a conflict; `changed` files differ from
    the commit, `left_out` untracked ones were not searched.
    """

    changed: int
    left_out: int
    state: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Behind:
    """Distance of the nearest indexed tree from the requested one.

    `commits` is the number of commits that it lacks, None if one of the two is no commit; `files` is the
    number of differing files; `ahead` is the number of additional commits, 0 if one of the two is no commit.
    """

    tree: str
    commit: str | None
    commits: int | None
    files: int
    ahead: int = 0


NOT_HERE, NO_COMMIT, LEFT_OUT = "not checked out", "commit not here", "left out"
"""Reasons for not searching a submodule: it or its pinned commit is missing, or a rule excludes it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Submodule:
    """A submodule of the tree of an answer; `pinned` is the commit recorded in the parent tree.

    `commit` and `tree` are those that were searched, None if it was not searched; `problem` is the reason.
    """

    path: str
    pinned: str
    commit: str | None = None
    tree: str | None = None
    problem: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Compared revision of an answer, and the numbers of differing files and chunks; `text` has both."""

    text: str
    revision: str
    commit: str | None
    tree: str
    files: int
    added: int
    modified: int
    removed: int


_FAR_LESS = 0.0025
"""Odds relative to those of the best hit below which a hit is not worth reading.

Of 103 questions with the right definition among ten hits two lose it by this.
"""
_LEAST_READ = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The hits of one query in one tree, best first, with the identity of the tree.

    `revision` is the requested name (a branch, a tag, an id); `commit` is None for a bare tree. Ids are
    hexadecimal. `uncommitted` is None if the work tree was not searched. `behind` is None if the requested
    tree is indexed, or if no other tree is. `message` is one sentence for the user, or None. `submodules` is
    empty unless they were requested. `comparison` is set if only differences were searched; then the tree is
    the newer of two. `ranked_with` names further influences on the ranking, such as models; `further_queries`
    are those of a chat model. `confidence` is the probability, in 0..1, that the question was meant for this
    tree and not for another one (`ctx.ranking.confidence`), 1 for an identifier that the tree has; None for
    answers about ranges or related code, and if a model ranked the hits. `reader` reads the texts of the
    hits; uncommitted files stay readable in the searched state while it exists.
    """

    hits: list[Hit]
    revision: str
    commit: str | None
    tree: str
    resolved_by: str
    coverage: Coverage
    uncommitted: Uncommitted | None = None
    behind: Behind | None = None
    message: str | None = None
    seconds: float = 0.0
    submodules: tuple[Submodule, ...] = ()
    comparison: Comparison | None = None
    ranked_with: tuple[str, ...] = ()
    further_queries: tuple[str, ...] = ()
    confidence: float | None = None
    reader: BlobReader | None = field(default=None, repr=False, compare=False)

    @property
    def worth_reading(self) -> int:
        """Number of the first hits that are worth reading: the others have far less evidence than the best.

        It is the number of all hits if their scores are not those of the built-in ranker.
        """
        if self.confidence is None or not self.hits:
            return len(self.hits)
        odds = [hit.score / max(1e-9, 1.0 - hit.score) for hit in self.hits]
        return max(min(_LEAST_READ, len(odds)), sum(one >= odds[0] * _FAR_LESS for one in odds))


class RankedHits(NamedTuple):
    """Result of a ranking: hits, best first, and a message for the user or None.

    `ranked_with`, `further_queries` and `confidence` as in `Answer`.
    """

    hits: list[Hit]
    message: str | None
    ranked_with: tuple[str, ...] = ()
    further_queries: tuple[str, ...] = ()
    confidence: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CitedLines:
    """Whole lines of a blob, counted from 1, both ends included; `text` has no newline at its end.

    `paths` are the paths of the blob in HEAD.
    """

    blob: str
    first: int
    last: int
    text: str
    paths: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexPlan:
    """Cost of indexing a tree. Blobs and clusters are counted, the rest is estimated by size.

    `size` in bytes; `missing_blobs` are not in this clone and not in the estimate.
    """

    revision: str
    commit: str | None
    tree: str
    resolved_by: str
    covered: bool
    new_clusters: int = 0
    new_blobs: int = 0
    missing_blobs: int = 0
    size: int = 0
    chunks: int = 0
    tokens: int = 0
    seconds: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """Progress of an indexing run; files are counted in the clusters to build.

    If a model service embeds, files are clusters, and `tokens` and `cost` (dollars) are estimates.
    `share` is the finished part of the whole run, in 0..1; None if it is that of the files.
    """

    files_done: int
    files_total: int
    chunks: int
    clusters_done: int
    clusters_total: int
    tokens: int = 0
    cost: float = 0.0
    share: float | None = None
