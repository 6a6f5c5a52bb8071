"""Covering a tree: build its missing clusters and manifest nodes, then its snapshot."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from ctx.errors import Damaged
from ctx.indexing.batch import Made, cluster_totals, missing_of
from ctx.indexing.lock import at_work
from ctx.indexing.worker import Task, Worker, WorkerSetup
from ctx.storage.cluster_store import ClusterStore
from ctx.storage.clusters import Document, Stored, contents, document_key
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
    """Result of covering a tree; not `complete` if blobs are `missing` in this repository."""

    totals: Totals
    new_clusters: int
    embedded_chunks: int
    reused_chunks: int
    complete: bool
    missing: list[bytes]


class _Directory(NamedTuple):
    node: Node
    content: Content


class Coverer:
    """Covers trees of one repository under one descriptor."""

    def __init__(self, store: Store, descriptor: Descriptor, catalog: Catalog, setup: WorkerSetup) -> None:
        self._store = store
        self._snapshots = Snapshots(store, str(descriptor))
        self._catalog = catalog
        self._setup = setup
        self._clusters = ClusterStore(store, descriptor)
        self._documents = DocumentIndex(store, str(descriptor))
        self._worker: Worker | None = None

    @property
    def worker(self) -> Worker:
        """Worker of this process, created on first use."""
        if self._worker is None:
            self._worker = Worker(self._setup, self._store)
        return self._worker

    def missing(
        self, root: Node, trust: bool = True, use: bool = False
    ) -> tuple[list[_Directory], list[Cluster]]:
        """Return directories without a node, parents first, and clusters that are not stored.

        Without `trust`, every node and cluster is decoded and checked. With `use`, whatever is found is
        protected from garbage collection until the objects that refer to it are written.
        """
        known = self._snapshots.use_node if use else self._snapshots.has_node
        directories: list[_Directory] = []
        clusters: list[Cluster] = []
        open_ = [root]
        while open_:
            node = open_.pop()
            if trust and known(node.key):
                continue
            content = node.read()
            directories.append(_Directory(node, content))
            open_ += reversed(content.nodes)
            for cluster in content.clusters:
                if (
                    (use and not self._clusters.use(cluster.key))
                    or (trust and self._clusters.absent([cluster.key]))
                    or (not trust and self._totals(cluster, thorough=True) is None)
                ):
                    clusters.append(cluster)
        return directories, clusters

    def every(self, root: Node) -> Iterator[Cluster]:
        """Yield all clusters of the partition of a tree, stored or not."""
        open_ = [root]
        while open_:
            content = open_.pop().read()
            open_ += reversed(content.nodes)
            yield from content.clusters

    @at_work
    def cover(
        self,
        tree: bytes,
        root: Node,
        *,
        jobs: int = 1,
        background: bool = False,
        trust: bool = True,
        committed: bool = True,
        progress: Callable[[Progress], None] | None = None,
    ) -> Covered:
        """Build everything missing of a tree; write the snapshot if the tree is committed.

        A cluster with missing blobs is built once, and again when one of them is present.
        """
        directories, clusters = self.missing(root, trust, use=True)
        totals: dict[bytes, Totals] = {}
        gaps = self._gaps(clusters) if trust else {}
        incomplete = set(gaps)
        missing = {oid for stored in gaps.values() for oid in missing_of(stored.members, stored.skips)}
        for key, stored in gaps.items():
            totals[key] = cluster_totals(stored.members, stored.skips, stored.documents)
        clusters = [cluster for cluster in clusters if cluster.key not in gaps]
        embedded = reused = files = done = 0
        files_total = sum(len(cluster.members) for cluster in clusters)
        report = progress or (lambda _: None)
        report(Progress(0, files_total, 0, 0, len(clusters)))
        segment = SegmentWriter(self._catalog)
        for task, made in self._make(clusters, segment, jobs, background):
            totals |= made.totals
            incomplete |= made.incomplete.keys()
            missing.update(*made.incomplete.values())
            embedded += made.chunks
            reused += sum(made.totals[cluster.key].chunks for cluster in task.clusters)
            files += sum(len(cluster.members) for cluster in task.clusters)
            done += len(task.clusters)
            segment.add(made.parts)
            self._documents.add(_new(task, made), self._clusters)
            report(Progress(files, files_total, embedded, done, len(clusters)))
        segment.flush()
        for directory in reversed(directories):
            self._write_node(directory, totals, incomplete)
        complete = root.key not in incomplete
        if complete and committed:
            self._snapshots.write_tree(tree, root.key)
        record = self._snapshots.node(root.key)
        if complete and record is None:
            raise Damaged("the snapshot that was just written cannot be read: is the disk sound?")
        all_below = record.totals if record is not None else totals[root.key]
        return Covered(all_below, len(clusters), embedded, reused - embedded, complete, sorted(missing))

    def _gaps(self, clusters: Sequence[Cluster]) -> dict[bytes, Stored]:
        """Return the clusters built without blobs that are still missing."""
        found = {
            one.key: stored for one in clusters if (stored := self._clusters.partial(one.key)) is not None
        }
        gaps = {key: missing_of(stored.members, stored.skips) for key, stored in found.items()}
        oids = list(dict.fromkeys(oid for gap in gaps.values() for oid in gap))
        absent = {oid for oid, size in zip(oids, self.worker.maker.sizes(oids), strict=True) if size is None}
        return {key: found[key] for key, gap in gaps.items() if absent.issuperset(gap)} if oids else {}

    def keys(self, root: Node) -> list[bytes]:
        """Return the keys of all clusters of a tree in the order of the manifest. Raises `Damaged`."""
        found: list[bytes] = []
        open_ = [root]
        while open_:
            node = open_.pop()
            if self._snapshots.has_node(node.key):
                found += self._snapshots.cluster_keys(node.key)
                continue
            content = node.read()
            found += [cluster.key for cluster in content.clusters]
            open_ += reversed(content.nodes)
        return found

    def _make(
        self, clusters: Sequence[Cluster], segment: SegmentWriter, jobs: int, background: bool
    ) -> Iterator[tuple[Task, Made]]:
        # Document -> cluster that stores it, for documents of this run.
        taken: dict[Key, bytes] = {}
        # A document of an earlier batch is read from its cluster later, not built twice.
        postponed: list[Cluster] = []
        known = self.known([document_key(member) for cluster in clusters for member in cluster.members])

        def tasks() -> Iterator[Task]:
            batch: list[Cluster] = []
            keys: dict[Key, bytes] = {}
            for cluster in clusters:
                own = {document_key(member) for member in cluster.members} - known.keys()
                if own & taken.keys():
                    postponed.append(cluster)
                    continue
                batch.append(cluster)
                keys |= dict.fromkeys(own, cluster.key)
                if sum(len(one.members) for one in batch) >= _BATCH_FILES:
                    taken.update(keys)
                    yield task(batch)
                    batch, keys = [], {}
            if batch:
                taken.update(keys)
                yield task(batch)

        def task(batch: list[Cluster]) -> Task:
            keys = {document_key(member) for cluster in batch for member in cluster.members}
            return Task(batch, {key: known[key] for key in keys & known.keys()})

        lacking = {document_key(member) for cluster in clusters for member in cluster.members} - known.keys()
        if jobs > 1 and len(lacking) >= _ALONE:
            from ctx.indexing.workers import in_processes

            yield from in_processes(tasks(), self._setup, jobs, background)
        else:
            for one in tasks():
                yield one, self.worker.run(one)
        for cluster in postponed:
            own = [document_key(member) for member in cluster.members]
            again = {key: known[key] for key in own if key in known}
            for key in own:
                if key in taken and key not in again:
                    try:
                        again[key] = contents(self._clusters.stored(taken[key]))[key]
                    except (Damaged, KeyError):
                        continue
            task_ = Task([cluster], again)
            yield task_, self.worker.run(task_)
            taken |= dict.fromkeys(own, cluster.key)

    def known(self, keys: Sequence[Key]) -> dict[Key, Document | str]:
        """Return stored documents or skip reasons for these keys, so that no blob is processed twice."""
        found: dict[Key, Document | str] = {}
        wanted = list(dict.fromkeys(keys))
        for clusters in self._having(wanted):
            for cluster in dict.fromkeys(clusters.values()):
                try:
                    there = contents(self._clusters.stored(cluster))
                except Damaged:
                    continue
                found |= {key: there[key] for key in wanted if key in there}
            wanted[:] = [key for key in wanted if key not in found]
            if not wanted:
                break
        return found

    def _having(self, keys: list[Key]) -> Iterator[dict[Key, bytes]]:
        """Yield clusters that may have these documents; the latest view first, because it needs no search."""
        latest = self._catalog.latest()
        if latest is not None:
            yield latest.clusters_of(keys)
        yield self._documents.clusters_of(keys)

    def _write_node(self, directory: _Directory, made: dict[bytes, Totals], incomplete: set[bytes]) -> None:
        """Store a directory's node, or add it to `incomplete`; its totals go to `made`."""
        node, content = directory
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
        return cluster_totals(stored.members, stored.skips, stored.documents)


def _new(task: Task, made: Made) -> dict[Key, bytes]:
    """Return the documents built by a task, with the cluster of each."""
    return {
        document_key(member): cluster.key
        for cluster in task.clusters
        for member in cluster.members
        if document_key(member) not in task.known
    }
