"""Making a tree searchable: cover it by a snapshot and prepare its view."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import suppress

from ctx.errors import BlobsMissing, Damaged, GitFailed, StoreUnusable, UsageError
from ctx.git.repository import Repository
from ctx.git.resolution import Resolution
from ctx.indexing.cover import Covered, Coverer, keys_of, manifest
from ctx.indexing.documents import DocumentBuilder
from ctx.indexing.lock import IndexLock, TreeLock, at_work
from ctx.indexing.prepare import Located, prepare_view
from ctx.indexing.tree_walk import TreeReader
from ctx.storage.cluster_store import ClusterStore
from ctx.storage.clusters import Document
from ctx.storage.descriptor import Descriptor
from ctx.storage.partition import Cluster, Node
from ctx.storage.snapshots import Partial, Snapshots, log_snapshot
from ctx.storage.store import Store
from ctx.storage.views.catalog import Catalog
from ctx.storage.views.segments import Key
from ctx.storage.views.view import View
from ctx.text.contents import MISSING
from ctx.types import Progress

Report = Callable[[Progress], None]

_REPAIRS = 4
"""Attempts to repair a tree before its damage is reported."""
ALWAYS, AUTO, NEVER = "always", "auto", "never"
"""Values of `ctx.catchUp`: when a search first indexes the missing part of its tree."""
_CATCH_UP_BYTES = 4 << 20
"""Bytes of new sources that a search indexes at most: about a second of work."""
_SCAN_BYTES = 5 << 20
"""Bytes that are scanned without indexing if more than `_CATCH_UP_BYTES` are missing."""


class Indexer:
    """Indexer of one repository. `jobs` of None means all cores, one less in the background."""

    def __init__(
        self,
        repository: Repository,
        store: Store,
        descriptor: Descriptor,
        catalog: Catalog,
        committed: bool = True,
    ) -> None:
        """Initialize; `committed` is False for trees of uncommitted files, which get no snapshot."""
        self._repository = repository
        self._store = store
        self._catalog = catalog
        self._committed = committed
        self._clusters = ClusterStore(store, descriptor)
        self._snapshots = Snapshots(store, str(descriptor))
        self.trees = TreeReader(repository, str(descriptor))
        self._coverer = Coverer(repository, store, descriptor, catalog, self._snapshots, self._clusters)

    @property
    def builder(self) -> DocumentBuilder:
        """Builder of documents from the blobs of the repository."""
        return self._coverer.worker.builder

    def cover(
        self,
        resolution: Resolution,
        trigger: str,
        *,
        jobs: int | None = None,
        background: bool = False,
        progress: Report | None = None,
        root: Node | None = None,
    ) -> Covered:
        """Cover a tree, prepare its view and log the trigger. `root` is its node, if already read.

        Waits if another process is covering the tree. Raises `StoreUnusable` if the store is not writable,
        unless the store may use memory.
        """
        jobs = jobs or max(1, _cores() - background)
        root = root or self.trees.root(resolution.tree)
        try:
            with TreeLock(self._store, resolution.tree) as lock:

                def report(state: Progress) -> None:
                    lock.touch()
                    if progress is not None:
                        progress(state)

                return self._cover(resolution, root, trigger, jobs, background, report)
        except StoreUnusable:
            if not self._store.may_use_memory:
                raise
        # Results of worker processes cannot stay in the memory of this one.
        return self._cover(resolution, root, trigger, 1, background, progress or (lambda _: None))

    def _cover(
        self, resolution: Resolution, root: Node, trigger: str, jobs: int, background: bool, progress: Report
    ) -> Covered:
        try:
            covered = self._build(resolution.tree, root, jobs, background, progress)
        except Damaged:
            covered = self._repair_beside_others(resolution.tree, jobs, progress)
        if covered.missing:
            keys, _ = manifest(root, self._snapshots)
            partial = Partial(list(keys), covered.totals.skipped, covered.missing, self._repository.packs())
            self._snapshots.write_partial(resolution.tree, partial)
        known = self._catalog.view(resolution.tree)
        if known is not None and (covered.missing or known.skipped.get(MISSING)):
            self._catalog.forget(resolution.tree)
            known = None
        if known is None:
            with suppress(BlobsMissing):  # a search determines what can be searched
                self.prepare(resolution.tree, root)
        if not covered.missing and self._committed:
            made = covered.new_clusters, covered.embedded_chunks
            try:
                log_snapshot(self._repository, self._snapshots, resolution, trigger, covered.totals, made)
            except StoreUnusable:
                if not self._store.may_use_memory:
                    raise
        return covered

    def repair(self, tree: bytes, jobs: int = 1, progress: Report = lambda _: None) -> Covered:
        """Check every stored object of a tree, and rebuild those that do not match their key."""
        return self._build(tree, self.trees.root(tree), jobs, False, progress, trust=False)

    def _build(
        self, tree: bytes, root: Node, jobs: int, background: bool, progress: Report, trust: bool = True
    ) -> Covered:
        with at_work(self._store):
            return self._coverer.cover(
                tree,
                root,
                jobs=jobs,
                background=background,
                trust=trust,
                committed=self._committed,
                progress=progress,
            )

    def _repair_beside_others(self, tree: bytes, jobs: int = 1, progress: Report = lambda _: None) -> Covered:
        """Repair a tree; start over if another process removes the index meanwhile."""
        for _ in range(_REPAIRS - 1):
            with suppress(Damaged):
                return self.repair(tree, jobs, progress)
        return self.repair(tree, jobs, progress)

    def missing(self, tree: bytes) -> list[Cluster]:
        """Return the clusters of a tree that are not stored, without reading blobs."""
        return self._coverer.missing(self.trees.root(tree))[1]

    def new_blobs(self, clusters: Sequence[Cluster]) -> set[bytes]:
        """Return the blobs of clusters whose documents are not stored in other clusters."""
        keys = keys_of(clusters)
        return {oid for oid, _ in keys - self._coverer.known(keys).keys()}

    def prepare(self, tree: bytes, root: Node | None = None) -> View:
        """Return the view of a covered tree, built from its clusters. Raises `BlobsMissing`."""
        with suppress(Damaged):
            return self._prepared(tree, root)
        self._repair_beside_others(tree)
        with suppress(Damaged):
            return self._prepared(tree, root)
        # What is derived from clusters may be wrong although its checksums match.
        self._catalog.clear()
        return self._prepared(tree, root)

    def view(self, resolution: Resolution, progress: Report | None = None, named: bool = False) -> View:
        """Return the view of a tree for a search; build what is missing, in memory if nothing can be written.

        For a `named` revision everything missing is built, whatever its size, unless `ctx.catchUp` is never.
        """
        root = None if self._committed else self.trees.root(resolution.tree)
        self._store.may_use_memory = True
        if self._is_covered(resolution.tree, root):
            return self._ready(resolution.tree, root)
        root = root or self.trees.root(resolution.tree)
        if (borrowed := self._borrowed(resolution.tree, root, named)) is not None:
            return borrowed
        self.cover(resolution, "search", progress=progress, root=root)
        return self._ready(resolution.tree, root)

    def _ready(self, tree: bytes, root: Node | None) -> View:
        """Return the view of a covered tree; without the missing files if counting terms would need them."""
        if (found := self._catalog.view(tree)) is not None:
            return found
        try:
            try:
                with TreeLock(self._store, tree):
                    return self._catalog.view(tree) or self.prepare(tree, root)
            except StoreUnusable:
                return self.prepare(tree, root)
        except BlobsMissing:
            return self._borrow(tree, root or self.trees.root(tree), {})

    def uncounted(self, tree: bytes) -> list[bytes]:
        """Return the blobs of a covered tree whose terms were never counted here. Raises `Damaged`."""
        key = self._root_key(tree, None)
        if key is None or self._catalog.view(tree) is not None:
            return []
        clusters = [self._clusters.stored(one) for one in self._snapshots.cluster_keys(key)]
        keys = dict.fromkeys(one for stored in clusters for one in stored.documents)
        return [oid for oid, _ in Located.among(list(keys), self._catalog.segments()).missing()]

    def _borrowed(self, tree: bytes, root: Node, named: bool) -> View | None:
        """Return a borrowed view if catching up would take too long or is disabled, else None."""
        mode = self._repository.settings.get("ctx.catchUp") or AUTO
        if mode not in (ALWAYS, AUTO, NEVER):
            raise UsageError(f"ctx.catchUp is {mode!r}: set it to always, auto or never with `git config`")
        if mode == ALWAYS or (mode == AUTO and (named or self._catalog.latest() is None)):
            return None
        _, clusters = self._coverer.missing(root)
        keys = keys_of(clusters)
        known = self._coverer.known(keys)
        documents = {key: found for key, found in known.items() if not isinstance(found, str)}
        new = [oid for oid, language in keys if (oid, language) not in documents]
        if mode == AUTO and sum(filter(None, self._repository.blob_sizes(new))) <= _CATCH_UP_BYTES:
            return None
        return self._borrow(tree, root, documents)

    def _borrow(self, tree: bytes, root: Node, known: dict[Key, Document]) -> View:
        from ctx.indexing.borrow import borrow_view

        return borrow_view(
            tree, root, known, self._snapshots, self._clusters, self._catalog, self.builder, _SCAN_BYTES
        )

    def _root_key(self, tree: bytes, root: Node | None) -> bytes | None:
        """Return the key of the root node of a covered tree, or None."""
        key = self._snapshots.tree(tree) if self._committed else (root or self.trees.root(tree)).key
        return key if key is not None and self._snapshots.node(key) is not None else None

    def _is_covered(self, tree: bytes, root: Node | None) -> bool:
        """Return True if a view of the tree can be built.

        A tree with missing blobs counts as covered until one of them is present.
        """
        if self._root_key(tree, root) is not None:
            return True
        return self._snapshots.current_partial(tree, self._repository) is not None

    def _prepared(self, tree: bytes, root: Node | None) -> View:
        with at_work(self._store):
            key = self._root_key(tree, root)
            record = key and self._snapshots.node(key)
            if key and record:
                keys, skipped = self._snapshots.cluster_keys(key), record.totals.skipped
            elif partial := self._snapshots.current_partial(tree, self._repository):
                keys, skipped = partial.clusters, partial.skipped
            else:
                raise Damaged("there is no snapshot")
            return prepare_view(
                tree,
                keys,
                skipped,
                self._clusters,
                self._catalog,
                self.builder,
                self._are_tips,
                self._committed,
            )

    def _are_tips(self, trees: Sequence[bytes]) -> set[bytes]:
        """Return the trees that were indexed for the current tip of a branch or the checked-out commit."""
        tips = {commit.hex() for commit in self._repository.tips()}
        logs = {tree: self._snapshots.log(tree) for tree in trees}
        return {tree for tree, log in logs.items() if any(entry.commit in tips for entry in log)}

    def serve_requests(self, lock: IndexLock, jobs: int | None = None, background: bool = False) -> None:
        """Take the lock again to cover the trees that other processes requested while it was held."""
        while lock.requests() and lock.acquire():
            with lock:
                for tree in lock.requests():
                    if self._snapshots.covered(tree) is None:
                        requested = Resolution(tree, None, tree.hex(), "wish")
                        with suppress(GitFailed, Damaged):  # the other process gets the error when it tries
                            self.cover(requested, "wish", jobs=jobs, background=background)
                    lock.discard_request(tree)


def _cores() -> int:
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:
        return os.cpu_count() or 1
