"""Values about indexing: progress, cost and result of a run.

Ids are hexadecimal. Nothing here reads a file or depends on git.
"""

from __future__ import annotations

from dataclasses import dataclass


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


ALREADY_INDEXED = "ALREADY_INDEXED"
INDEXING_IN_PROGRESS = "INDEXING_IN_PROGRESS"


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddingReport:
    """Result of embedding with a model service, in chunks; `truncated` chunks were too long.

    `elsewhere` is True if nothing was done because another process is embedding.
    """

    model: str
    embedded: int = 0
    reused: int = 0
    truncated: int = 0
    elsewhere: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexReport:
    """Result of one indexing run. `skipped` is None, ALREADY_INDEXED or INDEXING_IN_PROGRESS.

    `remote` is None if no model service is configured.
    """

    skipped: str | None
    revision: str
    commit: str | None
    tree: str
    total_clusters: int
    processed_new_clusters: int
    reused_clusters: int
    embedded_chunks: int
    reused_chunks: int
    skipped_files: dict[str, int]
    storage: str
    seconds: float
    remote: EmbeddingReport | None = None
