"""Estimated cost of indexing a tree, without reading its blobs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from ctx.git.resolution import Resolution
from ctx.text.contents import MAX_SIZE
from ctx.types import IndexPlan

if TYPE_CHECKING:
    from ctx.indexing.indexer import Indexer
    from ctx.session import Session

CHUNK_BYTES = 900
"""Bytes of source for each chunk if nothing is indexed yet; 880 to 930 in flask, pydantic, redis."""
_TOKEN_BYTES = 3.6
"""Bytes of source code for each token of a common language model's vocabulary."""
_BYTES_PER_SECOND = 2.0e6
"""Bytes that one core reads, chunks, counts and embeds with the model in the package."""
_CLUSTER_SECONDS = 0.0006
"""Seconds for a cluster whose documents are already known."""


def plan(session: Session, indexer: Callable[[], Indexer], resolution: Resolution) -> IndexPlan:
    """Return the cost of indexing the missing part of a tree. Raises GitFailed if a subtree is missing."""
    plan = IndexPlan(
        revision=resolution.revision,
        commit=resolution.commit_id,
        tree=resolution.tree.hex(),
        resolved_by=resolution.resolved_by,
        covered=session.snapshots.covered(resolution.tree) is not None,
    )
    if plan.covered:
        return plan
    clusters = indexer().missing(resolution.tree)
    sizes = session.repository.blob_sizes(sorted(indexer().new_blobs(clusters)))
    here = [size for size in sizes if size is not None]
    size = sum(one for one in here if one <= MAX_SIZE)
    return replace(
        plan,
        new_clusters=len(clusters),
        new_blobs=len(here),
        missing_blobs=len(sizes) - len(here),
        size=size,
        chunks=max(len(here), round(size / _chunk_bytes(session))),
        tokens=round(size / _TOKEN_BYTES),
        seconds=size / _BYTES_PER_SECOND + _CLUSTER_SECONDS * len(clusters),
    )


def _chunk_bytes(session: Session) -> float:
    """Return the bytes for each chunk in an indexed tree of this repository, or `CHUNK_BYTES`."""
    for tree in session.snapshots.trees():
        root = session.snapshots.tree(tree)
        record = root and session.snapshots.node(root)
        if record and record.totals.chunks:
            return record.totals.size / record.totals.chunks
    return CHUNK_BYTES
