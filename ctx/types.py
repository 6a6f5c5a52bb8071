"""The plain values that pass between the parts of git-ctx.

Nothing here reads a file, runs a program or knows about git: these are the nouns of docs/design.md.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

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
"""What a chunk can be. A kind is stored as its place in this tuple, so new ones go to the end."""


ALL, CODE, DOCS, CONFIG = CONTENTS = ("all", "code", "docs", "config")
"""What files are for: `config` is configuration and data, `code` all that is none of the others."""


class Chunk(NamedTuple):
    """A byte range of one blob that makes sense alone.

    `start` and `end` are byte offsets into the untouched blob, half open; the range neither begins nor
    ends with a blank line. `symbol` is the qualified name of what the chunk is (or lies in), "" if
    nothing is named. `names` are all names that the chunk itself defines, unqualified, in the order of
    their places; a piece of a function that was too large has none after its first piece.
    """

    start: int
    end: int
    kind: str
    symbol: str
    names: tuple[str, ...]
    is_test: bool


class Position(NamedTuple):
    """Where a hit lies: 0-based byte offsets into the blob (half open), 1-based lines (inclusive)."""

    start: int
    end: int
    start_line: int
    end_line: int


class Change(NamedTuple):
    """What became of a chunk between two trees, and which of its lines differ, as pairs of first and last.

    `state` is ADDED, MODIFIED or REMOVED; `side` (OLD or NEW) says of which tree the chunk and its lines are.
    """

    state: str
    side: str
    lines: tuple[tuple[int, int], ...]


ADDED, MODIFIED, REMOVED = STATES = ("added", "modified", "removed")
OLD, NEW = "old", "new"
IDENTICAL, NEAR_DUPLICATE = "identical", "near-duplicate"


class LineChange(NamedTuple):
    """A commit that changed lines; `time` is the committer's, in seconds since 1970."""

    commit: bytes
    time: int
    author: str
    subject: str


class Evolution(NamedTuple):
    """The newest commits that changed a chunk's lines, newest first.

    `uncommitted`: they differ from the commit searched too. Not `complete` where the search was ended.
    """

    commits: list[LineChange]
    uncommitted: bool
    complete: bool


class Reader(Protocol):
    """Reads the blobs of one answer, whatever is searched after it."""

    def of(self, path: bytes) -> Any:
        """Return the repository (`ctx.git.repository`) that has the blob at a path of the answer."""


class Hit(NamedTuple):
    """One chunk that answers a query. Paths are relative to the root of the repository.

    `score` is the ranker's, in 0..1 and comparable within one answer only; `agreement`, also in 0..1,
    is the share of sign bits of the chunk's vector that agree with the query's, or under a remote model the
    cosine of both, 0 where it is negative. `also_at` are the other paths of the same blob in the same tree.
    `change` is there in answers about what differs,
    `duplicate` (IDENTICAL or NEAR_DUPLICATE) in those about related code, where it is as good as a copy;
    `evolution` where it was asked for. `reader` is that of the answer.
    """

    path: bytes
    position: Position
    symbol: str
    kind: str
    is_test: bool
    language: str | None
    blob: bytes
    score: float
    agreement: float
    also_at: tuple[bytes, ...]
    change: Change | None = None
    duplicate: str | None = None
    evolution: Evolution | None = None
    reader: Reader | None = None


def by_score(hit: Hit) -> tuple[float, bytes, int]:
    """What the hits of an answer are in the order of: the best score first, then by path and place."""
    return -hit.score, hit.path, hit.position.start


class Coverage(NamedTuple):
    """How much of a tree an answer knows, in files; `skipped` maps a reason to a number.

    `scanned` files are not indexed and were only looked through by words; `uncovered` ones were not looked
    at. Of `without_words` ones the text is not in this clone: symbols, paths and vectors find them.
    """

    complete: bool
    files: int
    chunks: int
    skipped: dict[str, int]
    scanned: int = 0
    uncovered: int = 0
    without_words: int = 0


class Uncommitted(NamedTuple):
    """What an answer has on top of its commit, and how much of it.

    `state` is "work tree", "staged", or "ours", "theirs", "base" of a conflict; `changed` files differ from
    the commit, `left_out` untracked ones were not looked at.
    """

    changed: int
    left_out: int
    state: str


class Behind(NamedTuple):
    """How far the nearest indexed tree is from the one that was asked for.

    `commits` are those that it lacks, None where one of the two is no commit; `files` those that differ;
    `ahead` counts the commits that it has besides, 0 where one of the two is no commit.
    """

    tree: bytes
    commit: bytes | None
    commits: int | None
    files: int
    ahead: int = 0


NOT_HERE, NO_COMMIT, LEFT_OUT = "not checked out", "commit not here", "left out"
"""Why a submodule was not searched: it or the commit that is pinned is not here, or a rule keeps it out."""


class Submodule(NamedTuple):
    """A submodule below the tree of an answer; `pinned` is the commit that the tree above it names.

    `commit` and `tree` are what was searched of it, None where nothing was; `problem` says why.
    """

    path: bytes
    pinned: bytes
    commit: bytes | None
    tree: bytes | None
    problem: str | None


class Comparison(NamedTuple):
    """What the tree of an answer is compared with, and how many files and chunks differ; `text` says both."""

    text: str
    revision: str
    commit: bytes | None
    tree: bytes
    files: int
    added: int
    modified: int
    removed: int


class Answer(NamedTuple):
    """The hits of one query in one tree, best first, and what that tree is.

    `revision` is what was asked for in words (a branch, a tag, an id); `commit` is None when a bare
    tree was asked for. `uncommitted` is None where the work tree was not looked at. `behind` is None where
    the tree that was asked for is indexed, and where nothing else is. `message` is one sentence for the user
    where there is something to say. `submodules` is empty where they were not asked for. `comparison` is
    there where only what differs was searched: then the tree is the newer of two. `ranked_with` names what
    had a part in the order besides the tree and the package; `further_queries` are those of a chat model.
    `reader` reads the texts of the hits; uncommitted files stay readable as they were while it lives.
    """

    hits: list[Hit]
    revision: str
    commit: bytes | None
    tree: bytes
    resolved_by: str
    coverage: Coverage
    uncommitted: Uncommitted | None
    behind: Behind | None
    message: str | None
    seconds: float
    submodules: tuple[Submodule, ...] = ()
    comparison: Comparison | None = None
    ranked_with: tuple[str, ...] = ()
    further_queries: tuple[str, ...] = ()
    reader: Reader | None = None


class Found(NamedTuple):
    """What a ranking gives an answer: its hits, best first, and a sentence where there is something to say.

    The models that had a part in it, and the queries that one of them proposed to ask too.
    """

    hits: list[Hit]
    message: str | None
    ranked_with: tuple[str, ...] = ()
    further_queries: tuple[str, ...] = ()


class Cited(NamedTuple):
    """Whole lines of a blob, counted from 1, both ends included; `text` has no line end after the last one.

    `paths` are those at which HEAD has the blob.
    """

    blob: bytes
    first: int
    last: int
    text: str
    paths: tuple[bytes, ...]


class Plan(NamedTuple):
    """What it would take to index a tree. Blobs and clusters are counted, the rest is estimated by size.

    `size` in bytes; `missing_blobs` are not in this clone and not in the estimate.
    """

    revision: str
    commit: bytes | None
    tree: bytes
    resolved_by: str
    covered: bool
    new_clusters: int
    new_blobs: int
    missing_blobs: int
    size: int
    chunks: int
    tokens: int
    seconds: float


class Progress(NamedTuple):
    """How far an indexing run is; `files` counts those in clusters that had to be made.

    Where a remote model embeds, files are clusters, and there are tokens and dollars, both estimated.
    `share` is the part of the whole run that is done, in 0..1; None where that is the part of the files.
    """

    files_done: int
    files_total: int
    chunks: int
    clusters_done: int
    clusters_total: int
    tokens: int = 0
    cost: float = 0.0
    share: float | None = None


ALREADY_INDEXED = "ALREADY_INDEXED"
INDEXING_IN_PROGRESS = "INDEXING_IN_PROGRESS"


class RemoteReport(NamedTuple):
    """What embedding with a remote model took, in chunks; `cut` were too long and read in part.

    `elsewhere` is True where nothing was done, since another process has texts embedded at this moment.
    """

    model: str
    embedded: int
    reused: int
    cut: int
    elsewhere: bool = False


class IndexReport(NamedTuple):
    """What one indexing run did. `skipped` is None, ALREADY_INDEXED or INDEXING_IN_PROGRESS.

    `remote` is None where no remote model is configured.
    """

    skipped: str | None
    revision: str
    commit: bytes | None
    tree: bytes
    total_clusters: int
    processed_new_clusters: int
    reused_clusters: int
    embedded_chunks: int
    reused_chunks: int
    skipped_files: dict[str, int]
    storage: str
    seconds: float
    remote: RemoteReport | None = None


class Provenance(NamedTuple):
    """One line of a snapshot's log: for which commit, when, by what and by whom. Times in seconds since 1970.

    The log is local: nothing of it is published. The user and the numbers, of what the tree has and of what
    was made of it in this run, are None in lines of git-ctx 0.1.0.
    """

    commit: bytes | None
    revision: str
    committer_time: int | None
    created_at: int
    tool_version: str
    trigger: str
    user: str | None = None
    files: int | None = None
    new_clusters: int | None = None
    embedded_chunks: int | None = None
    reused_chunks: int | None = None


class SnapshotStatus(NamedTuple):
    """What `git ctx status` tells of one snapshot; `languages` maps a name to its share of lines in 0..1."""

    tree: bytes
    status: str
    revisions: list[str]
    provenance: list[Provenance]
    clusters: int
    files: int
    files_size: int
    lines: int
    chunks: int
    languages: dict[str, float]
    index_size: int
    descriptor: str
    skipped: dict[str, int]
    pinned: bool


class CatchUp(NamedTuple):
    """What it would cost to bring the index to the tree of HEAD; `chunks` is an estimate by bytes.

    `missing` is the number of blobs without which it is indexed, since they are not in this clone.
    """

    tree: bytes | None
    new_blobs: int
    chunks: int
    covered: bool
    missing: int = 0


class KeptPack(NamedTuple):
    """A pack that is kept: when it was made, in seconds since 1970, and its bytes."""

    slug: str
    created_at: int
    size: int


class ModelStatus(NamedTuple):
    """What is here of one remote model: the trees that it has whole, and how many clusters of HEAD's it has.

    `configured`: it is the model of now. `clusters` and `done` are None where HEAD has no tree that can be
    read; `cut` texts of HEAD's tree were too long and read in part, as far as that is known here; `size` in
    bytes.
    """

    model: str
    descriptor: str
    configured: bool
    trees: list[bytes]
    clusters: int | None
    done: int | None
    cut: int
    size: int


class Status(NamedTuple):
    """The whole of `git ctx status`. Sizes in bytes; `lent` are the stores that are read besides.

    `message` is one sentence for the user where a setting of his has no effect.
    """

    repository_id: str
    store_path: str
    store_size: int
    snapshots: list[SnapshotStatus]
    head: CatchUp
    storage: str
    lent: list[str]
    packs: tuple[KeptPack, ...] = ()
    models: tuple[ModelStatus, ...] = ()
    message: str | None = None


class Removal(NamedTuple):
    """What `remove-index` did."""

    repository_id: str
    removed_snapshots: int
    snapshots_remain: bool
