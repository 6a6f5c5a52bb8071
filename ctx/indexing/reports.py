"""Results of indexing runs. Ids are hexadecimal."""

from __future__ import annotations

from dataclasses import dataclass

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
