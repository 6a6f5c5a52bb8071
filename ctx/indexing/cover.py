"""Covering a tree: build its missing clusters and manifest nodes, then its snapshot."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, KeysView, Sequence
from contextlib import suppress
from functools import cached_property
from typing import NamedTuple

from ctx.errors import Damaged
from ctx.git.repository import Repository
from ctx.indexing.batch import Batch, BatchResult, Worker, WorkerSetup, cluster_totals, missing_blobs
from ctx.storage.cluster_key import Member
from ctx.storage.cluster_store import ClusterStore
from ctx.storage.clusters import Document, StoredCluster, contents, document_key
from ctx.storage.descriptor import Descriptor
from ctx.storage.document_index import DocumentIndex
from ctx.storage.partition import Cluster, Content, Node
from ctx.storage.snapshots import NodeRecord, Snapshots, Totals
from ctx.storage.store import Store
from ctx.storage.views.catalog import Catalog, SegmentWriter
from ctx.storage.views.segments import Key
from ctx.types import Progress

_BATCH_FILES = 48
_ALONE = 200
"""Number of files below which starting processes costs more than it saves."""


class Covered(NamedTuple):
    """Result of covering a tree; `missing` are its blobs that are not in this repository."""

    totals: Totals
    new_clusters: int
    embedded_chunks: int
    missing: list[bytes]


class Coverer:
    """Covers trees of one repository under one descriptor."""

    def __init__(
        self,
        repository: Repository,
        store: Store,
        descriptor: Descriptor,
        catalog: Catalog,
        snapshots: Snapshots,
        clusters: ClusterStore,
    ) -> None:
        self._repository = repository
        self._store = store
        self._descriptor = descriptor
        self._catalog = catalog
        self._snapshots = snapshots
        self._clusters = clusters
        self._documents = DocumentIndex(store, str(descriptor))

    @cached_property
    def worker(self) -> Worker:
        """Worker of this process."""
        return Worker(self._repository, self._store, self._descriptor)

    def missing(
        self, root: Node, trust: bool = True, use: bool = False
    ) -> tuple[list[tuple[Node, Content]], list[Cluster]]:
        """Return directories without a node, parents first, and clusters that are not stored.

        Without `trust`, every node and cluster is decoded and checked. With `use`, whatever is found is
        protected from garbage collection until the objects that refer to it are written.
        """
        if trust:
            directories = list(root.walk(self._snapshots.use_node if use else self._snapshots.has_node))
        else:
            directories = list(root.walk())
        clusters = [
            cluster
            for _, content in directories
            for cluster in content.clusters
            if (use and not self._clusters.use(cluster.key))
            or (trust and self._clusters.absent([cluster.key]))
            or (not trust and self._totals(cluster, thorough=True) is None)
        ]
        return directories, clusters

    def cover(
        self,
        tree: bytes,
        root: Node,
        *,
        jobs: int = 1,
        background: bool = False,
        trust: bool = True,
        committed: bool,
        progress: Callable[[Progress], None],
    ) -> Covered:
        """Build everything missing of a tree; write the snapshot if the tree is committed.

        A cluster with missing blobs is built once, and again when one of them is present.
        """
        directories, clusters = self.missing(root, trust, use=True)
        gaps = self._gaps(clusters) if trust else {}
        incomplete = set(gaps)
        missing = {oid for stored in gaps.values() for oid in missing_blobs(stored)}
        totals = {key: cluster_totals(stored) for key, stored in gaps.items()}
        clusters = [cluster for cluster in clusters if cluster.key not in gaps]
        embedded = files = done = 0
        files_total = sum(len(cluster.members) for cluster in clusters)

        def report() -> None:
            progress(
                Progress(
                    files_done=files,
                    files_total=files_total,
                    chunks=embedded,
                    clusters_done=done,
                    clusters_total=total,
                )
            )

        total = len(clusters)
        report()
        segment = SegmentWriter(self._catalog.add_segment)
        for batch, built in self._build(clusters, jobs, background):
            totals |= built.totals
            incomplete |= built.incomplete.keys()
            missing.update(*built.incomplete.values())
            embedded += sum(len(part.lengths) for part in built.parts)
            files += sum(len(cluster.members) for cluster in batch.clusters)
            done += len(batch.clusters)
            segment.add(built.parts)
            self._documents.add(_new_documents(batch), self._clusters)
            report()
        segment.flush()
        for node, content in reversed(directories):
            self._write_node(node, content, totals, incomplete)
        if missing:
            return Covered(totals[root.key], len(clusters), embedded, sorted(missing))
        if committed:
            self._snapshots.write_tree(tree, root.key)
        record = self._snapshots.node(root.key)
        if record is None:
            raise Damaged("the snapshot that was just written cannot be read: is the disk sound?")
        return Covered(record.totals, len(clusters), embedded, [])

    def _gaps(self, clusters: Sequence[Cluster]) -> dict[bytes, StoredCluster]:
        """Return the clusters built without blobs that are still missing."""
        found = {
            one.key: stored for one in clusters if (stored := self._clusters.partial(one.key)) is not None
        }
        gaps = {key: missing_blobs(stored) for key, stored in found.items()}
        oids = list(dict.fromkeys(oid for gap in gaps.values() for oid in gap))
        sizes = self._repository.blob_sizes(oids)
        absent = {oid for oid, size in zip(oids, sizes, strict=True) if size is None}
        return {key: found[key] for key, gap in gaps.items() if absent.issuperset(gap)} if oids else {}

    def _build(
        self, clusters: Sequence[Cluster], jobs: int, background: bool
    ) -> Iterator[tuple[Batch, BatchResult]]:
        # Document -> cluster that stores it, for documents of this run.
        taken: dict[Key, bytes] = {}
        # A document of an earlier batch is read from its cluster later, not built twice.
        postponed: list[Cluster] = []
        known = self.known(keys_of(clusters))

        def batches() -> Iterator[Batch]:
            batch: list[Cluster] = []
            keys: dict[Key, bytes] = {}
            for cluster in clusters:
                own = keys_of([cluster]) - known.keys()
                if own & taken.keys():
                    postponed.append(cluster)
                    continue
                batch.append(cluster)
                keys |= dict.fromkeys(own, cluster.key)
                if sum(len(one.members) for one in batch) >= _BATCH_FILES:
                    taken.update(keys)
                    yield batch_of(batch)
                    batch, keys = [], {}
            if batch:
                taken.update(keys)
                yield batch_of(batch)

        def batch_of(clusters: list[Cluster]) -> Batch:
            return Batch(clusters, {key: known[key] for key in keys_of(clusters) & known.keys()})

        if jobs > 1 and len(keys_of(clusters) - known.keys()) >= _ALONE:
            from ctx.indexing.workers import in_processes

            setup = WorkerSetup(self._repository.location, self._descriptor, self._store.permissions)
            yield from in_processes(batches(), setup, jobs, background)
        else:
            for batch in batches():
                yield batch, self.worker.run(batch)
        for cluster in postponed:
            own = keys_of([cluster])
            batch = batch_of([cluster])
            for key in own & taken.keys():
                with suppress(Damaged, KeyError):
                    batch.known[key] = contents(self._clusters.stored(taken[key]))[key]
            yield batch, self.worker.run(batch)
            taken |= dict.fromkeys(own, cluster.key)

    def known(self, keys: Collection[Key]) -> dict[Key, Document | str]:
        """Return stored documents or skip reasons for these keys, so that no blob is processed twice."""
        found: dict[Key, Document | str] = {}
        latest = self._catalog.latest()
        # The latest view first, because it needs no search.
        for source in (self._documents,) if latest is None else (latest, self._documents):
            left = [key for key in keys if key not in found]
            for cluster in dict.fromkeys(source.clusters_of(left).values()):
                with suppress(Damaged):
                    there = contents(self._clusters.stored(cluster))
                    found |= {key: there[key] for key in left if key in there}
        return found

    def _write_node(
        self, node: Node, content: Content, made: dict[bytes, Totals], incomplete: set[bytes]
    ) -> None:
        """Store a directory's node, or add it to `incomplete`; its totals go to `made`."""
        totals = Totals(skipped=content.skipped)
        for cluster in content.clusters:
            known = made.get(cluster.key) or self._totals(cluster)
            if known is None:
                raise Damaged("a cluster vanished while its tree was being covered: run the command again")
            totals = totals.plus(known)
        for below in content.nodes:
            record = self._snapshots.node(below.key)
            known = made.get(below.key) or (record.totals if record else None)
            if known is None:
                raise Damaged("a manifest node vanished while its tree was being covered: run it again")
            totals = totals.plus(known)
        made[node.key] = totals
        nodes, clusters = [one.key for one in content.nodes], [one.key for one in content.clusters]
        if incomplete.isdisjoint(nodes + clusters):
            self._snapshots.write_node(node.key, NodeRecord(nodes, clusters, totals))
        else:
            incomplete.add(node.key)

    def _totals(self, cluster: Cluster, thorough: bool = False) -> Totals | None:
        payload = self._clusters.get(cluster.key)
        if payload is None:
            return None
        try:
            stored = self._clusters.decoded(cluster.key, payload, thorough=thorough)
        except Damaged:
            return None
        return cluster_totals(stored)


def keys_of(clusters: Iterable[Cluster]) -> KeysView[Key]:
    """Return the keys of the documents of clusters."""
    return dict.fromkeys(document_key(member) for one in clusters for member in one.members).keys()


def manifest(root: Node, snapshots: Snapshots) -> tuple[dict[bytes, tuple[Member, ...]], dict[str, int]]:
    """Return the clusters of a tree by key in the order of the manifest, and counts of skipped files.

    The members of clusters below a stored node are left out.
    """
    clusters: dict[bytes, tuple[Member, ...]] = {}
    skipped: Counter[str] = Counter()

    def is_stored(key: bytes) -> bool:
        record = snapshots.node(key)
        try:
            keys = snapshots.cluster_keys(key)
        except Damaged:
            return False
        clusters.update(dict.fromkeys(keys, ()))
        skipped.update(record.totals.skipped if record else {})
        return True

    for _, content in root.walk(is_stored):
        clusters.update((cluster.key, cluster.members) for cluster in content.clusters)
        skipped.update(content.skipped)
    return clusters, dict(skipped)


def _new_documents(batch: Batch) -> dict[Key, bytes]:
    """Return the documents built for a batch, with the cluster of each."""
    return {
        document_key(member): cluster.key
        for cluster in batch.clusters
        for member in cluster.members
        if document_key(member) not in batch.known
    }
