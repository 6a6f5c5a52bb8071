"""Snapshots: what covers one tree under one descriptor.

A snapshot is a Merkle manifest. A node stands for a directory and names its clusters and the nodes below
it by key, so an unchanged directory is referred to and not listed again. A node is written after all that
it names, so a node that can be read means that its directory is covered. The file of a tree, which names
the root's node, is written last. Beside it a log says for which commits and by what it was made.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from typing import Any, NamedTuple

import msgpack

from ctx.errors import Damaged
from ctx.storage.partition import PARTITION_VERSION
from ctx.storage.regular_files import open_regular, without_waiting
from ctx.storage.store import Store, unusable
from ctx.types import Provenance

_KEY_BYTES = 20


TREE_BYTES = 21
"""The payload of a tree file: the key of the root node, PARTITION_VERSION."""


class Totals(NamedTuple):
    """Sums over a directory and all below it. `size` in bytes; `languages` maps a language to its lines."""

    clusters: int = 0
    files: int = 0
    chunks: int = 0
    size: int = 0
    lines: int = 0
    languages: dict[str, int] = {}  # noqa: RUF012  never changed: totals are added into new ones
    skipped: dict[str, int] = {}  # noqa: RUF012  as above

    def plus(self, other: Totals) -> Totals:
        """The sum of both."""
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
    """A stored node: keys of the nodes below it and of its own clusters, totals of everything below."""

    nodes: list[bytes]
    clusters: list[bytes]
    totals: Totals


def decode_node(payload: bytes) -> NodeRecord:
    """Raises `Damaged` unless the payload is that of a node, everything in it of its type."""
    try:
        nodes, clusters, values = msgpack.unpackb(payload)
        totals = Totals(*values)
    except (ValueError, TypeError, msgpack.UnpackException) as error:
        raise Damaged(f"a node cannot be read: {error}") from error
    if not (isinstance(nodes, list) and isinstance(clusters, list)):
        raise Damaged("a node does not list what it names")
    if any(not isinstance(key, bytes) or len(key) != _KEY_BYTES for key in [*nodes, *clusters]):
        raise Damaged("a node names something by what is no key")
    if not (all(map(_is_count, totals[:5])) and all(map(_counts, totals[5:]))):
        raise Damaged("a node holds totals that are none")
    return NodeRecord(nodes, clusters, totals)


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and value >= 0


def _counts(value: Any) -> bool:
    return isinstance(value, dict) and all(
        isinstance(name, str) and _is_count(count) for name, count in value.items()
    )


class Snapshots:
    """The snapshots of one descriptor in a store."""

    def __init__(self, store: Store, descriptor: str) -> None:
        self._store = store
        self._nodes = os.path.join("snapshots", descriptor, "nodes")
        self._trees = os.path.join("snapshots", descriptor, "trees")
        self._log = os.path.join(store.path, "snapshots", descriptor, "log")

    def node(self, key: bytes) -> NodeRecord | None:
        """A node, or None when there is none that can be read."""
        payload = self._store.read(self._nodes, key.hex())
        if payload is None:
            return None
        try:
            return decode_node(payload)
        except Damaged:
            return None

    def has_node(self, key: bytes) -> bool:
        """Whether there is a node that can be read."""
        return self.node(key) is not None

    def use_node(self, key: bytes) -> bool:
        """Keep a node and all below it from being collected; whether it is there to be relied upon."""
        return self.has_node(key) and self._store.touch(self._nodes, key.hex())

    def write_node(self, key: bytes, record: NodeRecord) -> None:
        """Store a node; everything that it names is stored already."""
        self._store.write(self._nodes, key.hex(), msgpack.packb(record))

    def tree(self, tree: bytes) -> bytes | None:
        """The key of the root node of a covered tree, or None; also where another version cut it."""
        payload = self._store.read(self._trees, tree.hex())
        if payload is None or len(payload) != TREE_BYTES or payload[20] != PARTITION_VERSION:
            return None
        return payload[:20]

    def write_tree(self, tree: bytes, root: bytes) -> None:
        """Say that a tree is covered: the last step of making a snapshot."""
        self._store.write(self._trees, tree.hex(), root + bytes([PARTITION_VERSION]))

    def owns(self, tree: bytes) -> bool:
        """Whether the snapshot of a tree lies in this store, and not in one that is only read."""
        return self._store.owns(self._trees, tree.hex())

    def covered(self, tree: bytes) -> NodeRecord | None:
        """The root node of a tree that has a snapshot, or None; the snapshot counts as used now."""
        root = self.tree(tree)
        record = None if root is None else self.node(root)
        return record if record is not None and self._store.touch(self._trees, tree.hex()) else None

    def trees(self) -> Iterator[bytes]:
        """The covered trees, in no order."""
        for name in self._store.names(self._trees):
            try:
                yield bytes.fromhex(name)
            except ValueError:
                continue

    def latest(self) -> tuple[bytes, bytes | None] | None:
        """Tree and commit of the snapshot with the latest committer time."""
        best: tuple[int, bytes, bytes | None] | None = None
        for tree in self.trees():
            for entry in self.log(tree):
                found = (entry.committer_time or 0, tree, entry.commit)
                if best is None or found[:2] > best[:2]:
                    best = found
        return best and (best[1], best[2])

    def cluster_keys(self, root: bytes) -> list[bytes]:
        """The clusters below a node in the order of the manifest.

        Raises `Damaged` where a node is lacking, and where one is met twice: a node holds its path.
        """
        found: list[bytes] = []
        met: set[bytes] = set()
        open_ = [root]
        while open_:
            key = open_.pop()
            record = self.node(key)
            if record is None or key in met:
                raise Damaged("a manifest node is missing, or below itself")
            met.add(key)
            found += record.clusters
            open_ += reversed(record.nodes)
        return found

    def log(self, tree: bytes) -> list[Provenance]:
        """Why and when a snapshot was made, oldest first; lines that cannot be read are left out."""
        found: list[Provenance] = []
        try:
            with open_regular(os.path.join(self._log, tree.hex())) as file:
                lines = file.read().decode("utf-8", "replace").splitlines()
        except OSError:
            return found
        for line in lines:
            try:
                entry = json.loads(line)
                commit = bytes.fromhex(entry["commit"]) if entry["commit"] else None
                committed = None if entry["committer_time"] is None else int(entry["committer_time"])
                created = int(entry["created_at"])
                words = (str(entry[name]) for name in ("tool_version", "trigger"))
                found.append(Provenance(commit, str(entry["revision"]), committed, created, *words))
            except (ValueError, KeyError, TypeError, OverflowError):
                continue
        return found

    def add_to_log(self, tree: bytes, entry: Provenance) -> None:
        """Append one line; the same commit and trigger are logged once."""
        if any((entry.commit, entry.trigger) == (known.commit, known.trigger) for known in self.log(tree)):
            return
        line = entry._asdict() | {"commit": entry.commit.hex() if entry.commit else None}
        try:
            self._store.permissions.make_directories(self._log)
            # One short write in append mode: two processes do not mix their lines.
            path = os.path.join(self._log, tree.hex())
            with open(path, "a", encoding="utf-8", errors="replace", opener=without_waiting) as file:
                file.write(json.dumps(line) + "\n")
                if os.fstat(file.fileno()).st_size == 0:
                    self._store.permissions.give(file.fileno())
        except OSError as error:
            raise unusable(self._store.path, error) from error


def _sum(one: dict[str, int], other: dict[str, int]) -> dict[str, int]:
    return {key: one.get(key, 0) + other.get(key, 0) for key in {**one, **other}}
