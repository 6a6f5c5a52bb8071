"""What is indexed, from the snapshots and their logs."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from ctx.chunking.languages import display_name
from ctx.clusters import document_key
from ctx.errors import CtxError, Damaged
from ctx.maintenance.pins import pins
from ctx.partition import Cluster
from ctx.share.storage import storage
from ctx.values import CatchUp, SnapshotStatus, Status

if TYPE_CHECKING:
    from ctx.engine import RepositoryIndex

COMPLETE = "complete"
DAMAGED = "damaged"

_CHUNK_BYTES = 750
"""What a chunk has on average, for estimates."""


def status(index: RepositoryIndex) -> Status:
    """Gather everything that `git ctx status` shows."""
    names = _names(index)
    pinned = {pin.tree for pin in pins(index.store)}
    found = [_snapshot(index, tree, names.get(tree, []), tree in pinned) for tree in index.snapshots.trees()]
    found.sort(key=lambda one: (-max((entry.created_at for entry in one.provenance), default=0), one.tree))
    return Status(
        index.repository_id,
        index.store.path,
        index.store.size(),
        found,
        _catch_up(index),
        storage(index.repository, index.store),
    )


def _names(index: RepositoryIndex) -> dict[bytes, list[str]]:
    """The names of branches, tags and HEAD by the tree that they lead to."""
    repository = index.repository
    names: dict[bytes, list[str]] = {}
    _, head = repository.head()
    pairs = [(b"HEAD", head)] if head else []
    pairs += list(repository.references())
    covered = set(index.snapshots.trees())
    for name, commit in pairs:
        try:
            tree = repository.commit_info(commit).tree
        except KeyError:
            continue
        if tree in covered:
            names.setdefault(tree, []).append(os.fsdecode(name))
    return names


def _snapshot(index: RepositoryIndex, tree: bytes, revisions: list[str], pinned: bool) -> SnapshotStatus:
    root = index.snapshots.tree(tree)
    record = root and index.snapshots.node(root)
    log = index.snapshots.log(tree)
    descriptor = str(index.descriptor)
    if not root or not record:
        return SnapshotStatus(tree, DAMAGED, revisions, log, 0, 0, 0, 0, 0, {}, 0, descriptor, {}, pinned)
    totals = record.totals
    state, size = COMPLETE, 0
    try:
        for key in index.snapshots.cluster_keys(root):
            size += index.clusters.size(key)
    except (OSError, Damaged):
        state = DAMAGED
    lines = max(1, totals.lines)
    languages = {
        display_name(language or None): count / lines
        for language, count in sorted(totals.languages.items(), key=lambda pair: (-pair[1], pair[0]))
    }
    return SnapshotStatus(
        tree,
        state,
        revisions,
        log,
        totals.clusters,
        totals.files,
        totals.size,
        totals.lines,
        totals.chunks,
        languages,
        size,
        descriptor,
        dict(totals.skipped),
        pinned,
    )


def _catch_up(index: RepositoryIndex) -> CatchUp:
    try:
        tree = index.resolve().tree
    except CtxError:
        return CatchUp(None, 0, 0, False)
    if index.snapshots.tree(tree) is not None:
        return CatchUp(tree, 0, 0, True)
    _, clusters = index.indexer.coverer.missing(index.indexer.trees.root(tree))
    oids = _new_blobs(index, clusters)
    size = 0
    for oid in oids:
        try:
            size += index.repository.blob_size(oid)
        except KeyError:
            continue
    return CatchUp(tree, len(oids), -(-size // _CHUNK_BYTES), False)


def _new_blobs(index: RepositoryIndex, clusters: list[Cluster]) -> set[bytes]:
    wanted = list({document_key(member) for cluster in clusters for member in cluster.members})
    for _, segment in index.catalog.segments():
        wanted = [key for key, place in zip(wanted, segment.find(wanted).tolist(), strict=True) if place < 0]
    return {oid for oid, _ in wanted}
