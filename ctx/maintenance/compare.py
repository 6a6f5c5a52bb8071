"""Comparison of snapshots with their trees as git lists them."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING

from ctx.errors import Damaged, GitFailed
from ctx.indexing.batch import cluster_totals
from ctx.storage.partition import Node
from ctx.storage.records import decode_record
from ctx.storage.snapshots import NodeRecord, Totals

if TYPE_CHECKING:
    from ctx.search.session import SearchSession


def compare_trees(
    session: SearchSession, trees: Iterable[bytes]
) -> tuple[list[tuple[str, str]], list[bytes]]:
    """Return files of nodes, clusters and trees that do not match the trees, each with its problem.

    The partition is recomputed, and each record's size is compared with that of its blob. Also return the
    trees that are no longer in the repository and cannot be compared.
    """
    comparison = _Comparison(session)
    uncompared = []
    for tree in trees:
        try:
            comparison.tree(tree)
        except GitFailed:
            uncompared.append(tree)
    return comparison.mismatches, uncompared


class _Comparison:
    def __init__(self, session: SearchSession) -> None:
        self._session = session
        self._done: dict[bytes, Totals | None] = {}
        """Totals of each checked node and cluster, None for a wrong one."""
        self.mismatches: list[tuple[str, str]] = []

    def tree(self, tree: bytes) -> None:
        """Compare one snapshot. Raises GitFailed where a tree is missing."""
        root = self._session.indexer.trees.root(tree)
        if self._session.snapshots.tree(tree) != root.key:
            self._report("snapshots", "trees", tree, "it names the root of another tree")
        elif self._node(root) is None:
            self._report("snapshots", "trees", tree, "a node or cluster below it is wrong")

    def _node(self, node: Node) -> Totals | None:
        if node.key in self._done:
            return self._done[node.key]
        content = node.read()
        below: list[Totals | None] = [self._node(child) for child in content.nodes]
        below += [self._cluster(cluster.key) for cluster in content.clusters]
        totals = Totals(skipped=content.skipped)
        for more in below:
            totals = totals.plus(more or Totals())
        expected = NodeRecord(
            [child.key for child in content.nodes], [cluster.key for cluster in content.clusters], totals
        )
        found = self._session.snapshots.node(node.key)
        sound = found == expected and None not in below
        if not sound:
            self._report("snapshots", "nodes", node.key, "it does not match its directory")
        self._done[node.key] = totals if sound else None
        return self._done[node.key]

    def _cluster(self, key: bytes) -> Totals | None:
        if key not in self._done:
            self._done[key] = self._totals(key)
            if self._done[key] is None:
                self._report("objects", "", key, "it does not match the contents of its files")
        return self._done[key]

    def _totals(self, key: bytes) -> Totals | None:
        try:
            stored = self._session.clusters.stored(key, thorough=True)
        except Damaged:
            return None
        oids = [oid for oid, _ in stored.documents]
        sizes = self._session.repository.blob_sizes(oids)
        for size, document in zip(sizes, stored.documents.values(), strict=True):
            if size is not None and decode_record(document.record).size != size:
                return None
        return cluster_totals(stored)

    def _report(self, area: str, folder: str, name: bytes, problem: str) -> None:
        place = os.path.join(area, str(self._session.descriptor), folder)
        self.mismatches.append((self._session.store.file(place, name.hex()), problem))
