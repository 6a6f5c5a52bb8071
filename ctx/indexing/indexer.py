"""Making sure that a tree can be searched: covered by a snapshot, and with a view at hand."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import suppress

from ctx.errors import BlobsMissing, Damaged, GitFailed, StoreUnusable, UsageError
from ctx.git.repository import Repository
from ctx.git.revisions import Resolution
from ctx.indexing.cover import Covered, Coverer
from ctx.indexing.lock import IndexLock, at_work
from ctx.indexing.prepare import Located, prepare_view
from ctx.indexing.tree_walk import Trees
from ctx.indexing.worker import Place
from ctx.storage.cluster_store import ClusterStore
from ctx.storage.clusters import Document, document_key
from ctx.storage.descriptor import Descriptor
from ctx.storage.partition import Cluster, Node
from ctx.storage.provenance import log_snapshot
from ctx.storage.snapshots import Snapshots
from ctx.storage.store import Store
from ctx.storage.views.catalog import Catalog
from ctx.storage.views.segments import Key
from ctx.storage.views.view import View
from ctx.types import Progress

Report = Callable[[Progress], None]

ALWAYS, AUTO, NEVER = "always", "auto", "never"
"""What `ctx.catchUp` can be: whether a search indexes first what its tree lacks."""
_CATCH_UP_BYTES = 4 << 20
"""So many bytes of new sources are indexed by a search that needs them: about a second of work."""
_SCAN_BYTES = 5 << 20
"""So many bytes are looked through where more than that is lacking."""
_SEARCH_WAITS = 1.0
"""Seconds that a search waits for a process that indexes, before it computes what it needs itself."""


class Indexer:
    """Covers trees and prepares views. `jobs` of None means all cores, one less in the background."""

    def __init__(
        self,
        repository: Repository,
        store: Store,
        descriptor: Descriptor,
        catalog: Catalog,
        committed: bool = True,
    ) -> None:
        """`committed` is off for the trees of a work tree, which get no snapshot of their own."""
        self._repository = repository
        self._store = store
        self._catalog = catalog
        self._committed = committed
        self._clusters = ClusterStore(store, descriptor)
        self._snapshots = Snapshots(store, str(descriptor))
        self.trees = Trees(repository, str(descriptor))
        self.coverer = Coverer(
            store, descriptor, catalog, Place(repository.place, descriptor, store.permissions)
        )

    def cover(
        self,
        asked: Resolution,
        trigger: str,
        *,
        jobs: int | None = None,
        background: bool = False,
        progress: Report | None = None,
        root: Node | None = None,
    ) -> Covered:
        """Cover a tree, prepare its view and log why. `root` is its node, if somebody has read it before."""
        jobs = jobs or max(1, _cores() - background)
        root = root or self.trees.root(asked.tree)
        try:
            covered = self.coverer.cover(
                asked.tree,
                root,
                jobs=jobs,
                background=background,
                committed=self._committed,
                progress=progress,
            )
        except Damaged:
            covered = self.repair(asked.tree, jobs, progress)
        if covered.complete:
            if self._catalog.view(asked.tree) is None:
                with suppress(BlobsMissing):  # what can be searched of it, a search finds out
                    self.prepare(asked.tree, root)
            if self._committed:
                self._log(asked, trigger)
        return covered

    def repair(self, tree: bytes, jobs: int = 1, progress: Report | None = None) -> Covered:
        """Look into everything that is stored of a tree, and make anew what is not what its name says."""
        root = self.trees.root(tree)
        return self.coverer.cover(
            tree, root, jobs=jobs, progress=progress, committed=self._committed, trust=False
        )

    def missing(self, tree: bytes) -> list[Cluster]:
        """The clusters of a tree that are not stored, known without reading a file of it."""
        return self.coverer.missing(self.trees.root(tree))[1]

    def prepare(self, tree: bytes, root: Node | None = None) -> View:
        """The view of a covered tree, made from its clusters. Raises `BlobsMissing`."""
        for mend in (self.repair, self.renew):
            try:
                return self._prepared(tree, root)
            except Damaged:
                mend(tree)
        return self._prepared(tree, root)

    def renew(self, tree: bytes) -> None:
        """Give up everything that was made of clusters; where only the checksums are right, that is left."""
        self._catalog.clear()

    def view(self, asked: Resolution, progress: Report | None = None, named: bool = False) -> View:
        """The view of a tree for a search; what lacks is made, in memory where nothing may be written.

        Of a revision that was `named` all that lacks is made, however much it is, unless that is not wanted.
        """
        root = None if self._committed else self.trees.root(asked.tree)
        self._store.may_use_memory = True
        if self._root_key(asked.tree, root) is not None:
            return self._ready(asked.tree, root)
        root = root or self.trees.root(asked.tree)
        if (borrowed := self._borrowed(asked.tree, root, named)) is not None:
            return borrowed
        jobs = None
        try:
            # Whoever indexes may be about to finish just this tree. The lock is not kept: who finds it
            # held leaves a wish to the holder, and a search has no time to grant wishes.
            with IndexLock(self._store) as lock:
                lock.acquire(_SEARCH_WAITS)
        except StoreUnusable:
            # Only what this process makes itself can stay in its memory.
            jobs = 1
        if self._root_key(asked.tree, root) is None:
            try:
                self.cover(asked, "search", jobs=jobs, progress=progress, root=root)
            except StoreUnusable:
                self.cover(asked, "search", jobs=1, progress=progress, root=root)
        if self._root_key(asked.tree, root) is None:
            # Blobs are not here, as in a partial clone: what is here is searched.
            return self._catalog.view(asked.tree) or self._borrow(asked.tree, root, self._at_hand(root)[1])
        return self._ready(asked.tree, root)

    def _ready(self, tree: bytes, root: Node | None) -> View:
        """The view of a covered tree, or of what is here of it where words would need files that are not."""
        try:
            return self._catalog.view(tree) or self.prepare(tree, root)
        except BlobsMissing:
            return self._borrow(tree, root or self.trees.root(tree), {})

    def uncounted(self, tree: bytes) -> list[bytes]:
        """The blobs of a covered tree whose words were never counted here. Raises `Damaged`."""
        key = self._root_key(tree, None)
        if key is None or self._catalog.view(tree) is not None:
            return []
        clusters = [self._clusters.stored(one) for one in self._snapshots.cluster_keys(key)]
        keys = dict.fromkeys(one for stored in clusters for one in stored.documents)
        return [oid for oid, _ in Located.among(list(keys), self._catalog.segments()).lacking()]

    def _borrowed(self, tree: bytes, root: Node, named: bool) -> View | None:
        """A view of what is at hand, where catching up would take too long or is not wanted."""
        wish = self._repository.config("ctx.catchUp") or AUTO
        if wish not in (ALWAYS, AUTO, NEVER):
            raise UsageError(f"ctx.catchUp is {wish!r}: set it to always, auto or never with `git config`")
        if wish == ALWAYS or (wish == AUTO and (named or self._catalog.latest() is None)):
            return None
        keys, known = self._at_hand(root)
        lacking = [oid for oid, language in keys if (oid, language) not in known]
        if wish == AUTO and sum(filter(None, self._repository.blob_sizes(lacking))) <= _CATCH_UP_BYTES:
            return None
        return self._borrow(tree, root, known)

    def _at_hand(self, root: Node) -> tuple[list[Key], dict[Key, Document]]:
        """The documents of the clusters that a tree lacks, and those of them that other trees have."""
        _, clusters = self.coverer.missing(root)
        keys = list(dict.fromkeys(document_key(member) for one in clusters for member in one.members))
        known = self.coverer.known(keys)
        return keys, {key: found for key, found in known.items() if not isinstance(found, str)}

    def _borrow(self, tree: bytes, root: Node, known: dict[Key, Document]) -> View:
        from ctx.indexing.borrow import borrow_view

        return borrow_view(
            tree,
            root,
            known,
            self._snapshots,
            self._clusters,
            self._catalog,
            self.coverer.worker.maker,
            _SCAN_BYTES,
        )

    def _root_key(self, tree: bytes, root: Node | None) -> bytes | None:
        """The key of the root node of a tree that is covered, or None."""
        key = self._snapshots.tree(tree) if self._committed else (root or self.trees.root(tree)).key
        return key if key is not None and self._snapshots.node(key) is not None else None

    @at_work
    def _prepared(self, tree: bytes, root: Node | None) -> View:
        key = self._root_key(tree, root)
        record = key and self._snapshots.node(key)
        if not key or not record:
            raise Damaged("there is no snapshot")
        return prepare_view(
            tree,
            self._snapshots.cluster_keys(key),
            record.totals.skipped,
            self._clusters,
            self._catalog,
            self.coverer.worker.maker,
            self._are_tips,
            self._committed,
        )

    def _are_tips(self, trees: Sequence[bytes]) -> set[bytes]:
        """Those of some trees that were indexed for what is now the tip of a branch, or checked out."""
        tips = self._repository.tips()
        logs = {tree: self._snapshots.log(tree) for tree in trees}
        return {tree for tree, log in logs.items() if any(entry.commit in tips for entry in log)}

    def grant_wishes(self, lock: IndexLock, jobs: int | None, background: bool) -> None:
        """Cover what others wished for while the lock was held."""
        while wishes := lock.wishes():
            for tree in wishes:
                if self._snapshots.covered(tree) is None:
                    wished = Resolution(tree, None, tree.hex(), "wish")
                    try:
                        self.cover(wished, "wish", jobs=jobs, background=background)
                    except (GitFailed, Damaged):
                        pass  # whoever wished for it will be told when asking again
                lock.granted(tree)

    def _log(self, asked: Resolution, trigger: str) -> None:
        try:
            log_snapshot(self._repository, self._snapshots, asked, trigger)
        except StoreUnusable:
            if not self._store.may_use_memory:
                raise


def _cores() -> int:
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:
        return os.cpu_count() or 1
