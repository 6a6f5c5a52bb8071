"""Snapshots: manifests of the stored clusters of a tree under one descriptor.

A snapshot is a Merkle manifest. A node represents a directory and refers to its clusters and the nodes below
it by key, so an unchanged directory is not listed again. A node is written after everything that it refers
to, so a directory with a readable node is covered. The file of a tree, which refers to the root node, is
written last. A log beside it records commits and triggers.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import msgpack

from ctx._version import __version__
from ctx.errors import Damaged, Decoding, StoreUnusable
from ctx.storage.json_lines import append_line, read_lines
from ctx.storage.partition import PARTITION_VERSION
from ctx.storage.store import Store, unusable

if TYPE_CHECKING:
    from ctx.git.repository import Repository
    from ctx.git.resolution import Resolution

T = TypeVar("T")

_KEY_BYTES = 20
TREE_BYTES = 21
"""Size of the payload of a tree file: the key of the root node, and PARTITION_VERSION."""


class Totals(NamedTuple):
    """Sums over a directory, recursively. `size` in bytes; `languages` maps a language to its lines."""

    clusters: int = 0
    files: int = 0
    chunks: int = 0
    size: int = 0
    lines: int = 0
    languages: dict[str, int] = {}  # noqa: RUF012  never changed: totals are added into new ones
    skipped: dict[str, int] = {}  # noqa: RUF012  as above

    def plus(self, other: Totals) -> Totals:
        """Return the sum of both."""
        return Totals(
            self.clusters + other.clusters,
            self.files + other.files,
            self.chunks + other.chunks,
            self.size + other.size,
            self.lines + other.lines,
            _sum(self.languages, other.languages),
            _sum(self.skipped, other.skipped),
        )


class NodeRecord(NamedTuple):
    """A stored node: keys of the nodes below it and of its own clusters, and recursive totals."""

    nodes: list[bytes]
    clusters: list[bytes]
    totals: Totals


class Partial(NamedTuple):
    """A tree with missing blobs: its clusters in the order of the manifest, and counts of skipped files.

    `missing` are those blobs; `packs` is `Repository.packs` when their absence was checked.
    """

    clusters: list[bytes]
    skipped: dict[str, int]
    missing: list[bytes]
    packs: bytes


@Decoding("a list of missing blobs")
def decode_partial(payload: bytes) -> Partial:
    """Return a decoded `Partial`. Raises `Damaged` for another version or invalid types."""
    version, clusters, skipped, missing, packs = msgpack.unpackb(payload)
    sound = (
        version == PARTITION_VERSION
        and isinstance(packs, bytes)
        and all(isinstance(key, bytes) and len(key) == _KEY_BYTES for key in clusters)
        and all(isinstance(oid, bytes) and len(oid) in (20, 32) for oid in missing)
        and all(isinstance(reason, str) and type(count) is int for reason, count in skipped.items())
    )
    if not sound:
        raise Damaged("a list of missing blobs is not of this version")
    return Partial(clusters, skipped, missing, packs)


@Decoding("a node")
def decode_node(payload: bytes) -> NodeRecord:
    """Return a decoded node. Raises `Damaged` for invalid types."""
    nodes, clusters, values = msgpack.unpackb(payload)
    totals = Totals(*values)
    if not (isinstance(nodes, list) and isinstance(clusters, list)):
        raise Damaged("a node has no lists of keys")
    if any(not isinstance(key, bytes) or len(key) != _KEY_BYTES for key in [*nodes, *clusters]):
        raise Damaged("a node refers to an invalid key")
    if not (all(map(_is_count, totals[:5])) and all(map(_counts, totals[5:]))):
        raise Damaged("a node has invalid totals")
    return NodeRecord(nodes, clusters, totals)


def _is_count(value: Any) -> bool:
    return type(value) is int and value >= 0


def _counts(value: Any) -> bool:
    return isinstance(value, dict) and all(
        isinstance(name, str) and _is_count(count) for name, count in value.items()
    )


class Provenance(NamedTuple):
    """One line of a snapshot's log: commit, time, trigger and user. Times in seconds since 1970.

    The log is local and never published. The user and the counts, of the tree and of the run, are None in
    lines of git-ctx 0.1.0.
    """

    commit: str | None
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


class Snapshots:
    """The snapshots of one descriptor in a store."""

    def __init__(self, store: Store, descriptor: str) -> None:
        self._store = store
        self._nodes = os.path.join("snapshots", descriptor, "nodes")
        self._trees = os.path.join("snapshots", descriptor, "trees")
        self._partial = os.path.join("snapshots", descriptor, "partial")
        self._log = os.path.join(store.path, "snapshots", descriptor, "log")

    def node(self, key: bytes) -> NodeRecord | None:
        """Return a node, or None if it is missing or damaged."""
        return self._read(self._nodes, key, decode_node)

    def _read(self, area: str, key: bytes, decode: Callable[[bytes], T]) -> T | None:
        payload = self._store.read(area, key.hex())
        with suppress(Damaged):
            return None if payload is None else decode(payload)
        return None

    def has_node(self, key: bytes) -> bool:
        """Return True if there is a readable node."""
        return self.node(key) is not None

    def use_node(self, key: bytes) -> bool:
        """Protect a node and all below it from garbage collection; return True if it is readable."""
        return self.has_node(key) and self._store.touch(self._nodes, key.hex())

    def write_node(self, key: bytes, record: NodeRecord) -> None:
        """Store a node; everything that it refers to must be stored already."""
        self._store.write(self._nodes, key.hex(), msgpack.packb(record))

    def tree(self, tree: bytes) -> bytes | None:
        """Return the key of the root node of a covered tree; None also for another partition version."""
        payload = self._store.read(self._trees, tree.hex())
        if payload is None or len(payload) != TREE_BYTES or payload[20] != PARTITION_VERSION:
            return None
        return payload[:20]

    def write_tree(self, tree: bytes, root: bytes) -> None:
        """Mark a tree as covered: the last step of writing a snapshot."""
        self._store.write(self._trees, tree.hex(), root + bytes([PARTITION_VERSION]))

    def partial(self, tree: bytes) -> Partial | None:
        """Return the stored state of a tree with missing blobs, or None."""
        return self._read(self._partial, tree, decode_partial)

    def write_partial(self, tree: bytes, partial: Partial) -> None:
        """Store the state of a tree with missing blobs."""
        self._store.write(self._partial, tree.hex(), msgpack.packb((PARTITION_VERSION, *partial)))

    def forget_partial(self) -> None:
        """Remove the state of all trees with missing blobs, after clusters were fetched."""
        for tree in list(self._store.keys(self._partial)):
            self._store.remove(self._partial, tree.hex())

    def current_partial(self, tree: bytes, repository: Repository) -> Partial | None:
        """Return the state of a tree with missing blobs, or None if some are present now.

        Marks it as used.
        """
        partial = self.partial(tree)
        if partial is None or not self._store.touch(self._partial, tree.hex()):
            return None
        packs = repository.packs()
        if packs == partial.packs and not repository.any_loose(partial.missing):
            return partial
        if len(repository.objects.absent(partial.missing)) < len(partial.missing):
            return None
        with suppress(StoreUnusable):
            self.write_partial(tree, partial._replace(packs=packs))
        return partial

    def owns(self, tree: bytes) -> bool:
        """Return True if the snapshot of a tree is in this store, not in an alternate."""
        return self._store.owns(self._trees, tree.hex())

    def covered(self, tree: bytes) -> NodeRecord | None:
        """Return the root node of a tree with a snapshot, or None; mark the snapshot as used."""
        root = self.tree(tree)
        record = None if root is None else self.node(root)
        return record if record is not None and self._store.touch(self._trees, tree.hex()) else None

    def trees(self) -> Iterator[bytes]:
        """Return the covered trees, in no order."""
        return self._store.keys(self._trees)

    def latest(self) -> tuple[bytes, bytes | None] | None:
        """Return tree and commit of the snapshot with the latest committer time, or None."""
        lines = ((tree, line) for tree in self.trees() for line in self.log(tree))
        found = [(line.committer_time or 0, tree, line.commit) for tree, line in lines]
        _, tree, commit = max(found, key=lambda one: one[:2], default=(0, b"", None))
        return (tree, bytes.fromhex(commit) if commit else None) if tree else None

    def cluster_keys(self, root: bytes) -> list[bytes]:
        """Return the clusters below a node in the order of the manifest.

        Raises `Damaged` for a missing node, and for one that occurs twice, because a node includes its path.
        """
        found: list[bytes] = []
        seen: set[bytes] = set()
        pending = [root]
        while pending:
            key = pending.pop()
            record = self.node(key)
            if record is None or key in seen:
                raise Damaged("a manifest node is missing or refers to itself")
            seen.add(key)
            found += record.clusters
            pending += reversed(record.nodes)
        return found

    def log(self, tree: bytes) -> list[Provenance]:
        """Return the log of a snapshot, oldest line first; unreadable lines are skipped."""
        return read_lines(os.path.join(self._log, tree.hex()), _provenance)

    def add_to_log(self, tree: bytes, entry: Provenance) -> None:
        """Append one line; the same commit and trigger are logged once."""
        if any((entry.commit, entry.trigger) == (known.commit, known.trigger) for known in self.log(tree)):
            return
        line = entry._asdict()
        try:
            self._store.permissions.make_directories(self._log)
            append_line(os.path.join(self._log, tree.hex()), line, self._store.permissions.open)
        except OSError as error:
            raise unusable(self._store.path, error) from error


def log_snapshot(
    repository: Repository,
    snapshots: Snapshots,
    resolved: Resolution,
    trigger: str,
    totals: Totals,
    made: tuple[int, int] = (0, 0),
) -> None:
    """Add a line to the log of a tree's snapshot, unless it is in an alternate. Raises `StoreUnusable`.

    `totals` are those of the tree, of which `made` clusters and chunks are new.
    """
    if not snapshots.owns(resolved.tree):
        return
    clusters, chunks = made
    entry = Provenance(
        resolved.commit_id,
        resolved.revision,
        repository.commit_info(resolved.commit).committer_time if resolved.commit else None,
        int(time.time()),
        __version__,
        trigger,
        repository.settings.user_name or None,
        totals.files,
        clusters,
        chunks,
        totals.chunks - chunks,
    )
    snapshots.add_to_log(resolved.tree, entry)


def _provenance(entry: Any) -> Provenance:
    user = entry.get("user")
    return Provenance(
        bytes.fromhex(entry["commit"]).hex() if entry["commit"] else None,
        str(entry["revision"]),
        None if entry["committer_time"] is None else int(entry["committer_time"]),
        int(entry["created_at"]),
        str(entry["tool_version"]),
        str(entry["trigger"]),
        user if isinstance(user, str) else None,
        *(value if isinstance(value := entry.get(name), int) else None for name in Provenance._fields[7:]),
    )


def _sum(one: dict[str, int], other: dict[str, int]) -> dict[str, int]:
    return {key: one.get(key, 0) + other.get(key, 0) for key in {**one, **other}}
