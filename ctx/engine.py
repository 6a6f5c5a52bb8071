"""One repository with its index: what the commands, the MCP server and other programs call."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Sequence
from functools import cached_property
from hashlib import blake2b
from types import TracebackType
from typing import TYPE_CHECKING

from ctx import words
from ctx._version import __version__
from ctx.cluster_store import ClusterStore
from ctx.descriptor import Descriptor, embedded_model
from ctx.errors import Damaged, GitFailed, StoreUnusable, UsageError
from ctx.git.repository import Repository, open_repository
from ctx.indexing.lock import IndexLock
from ctx.resolve import Resolution, resolve
from ctx.snapshots import NodeRecord, Snapshots, Totals
from ctx.store import Store
from ctx.values import (
    ALREADY_INDEXED,
    INDEXING_IN_PROGRESS,
    Answer,
    Hit,
    IndexReport,
    Progress,
    Provenance,
    Removal,
    Status,
)
from ctx.views.catalog import Catalog

if TYPE_CHECKING:
    from ctx.git.formats import TreeEntry
    from ctx.indexing.cover import Coverer
    from ctx.partition import Node
    from ctx.views.view import View

Report = Callable[[Progress], None]

_SEARCH_WAITS = 1.0
"""Seconds that a search waits for a process that indexes, before it computes what it needs itself."""


class RepositoryIndex:
    """The index of one repository. Close it, or use it as a context manager."""

    def __init__(self, path: str | os.PathLike[str] = ".") -> None:
        self.repository: Repository = open_repository(path)
        self.descriptor: Descriptor = embedded_model()
        self.store = Store(self.repository.common_dir)
        self.store.check_layout()
        self.snapshots = Snapshots(self.store, str(self.descriptor))
        self._trees: dict[bytes, Sequence[TreeEntry]] = {}
        self.clusters = ClusterStore(self.store, self.descriptor)
        self.catalog = Catalog(self.store, str(self.descriptor), words.VERSION)

    def __enter__(self) -> RepositoryIndex:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the repository's files and processes."""
        self.repository.close()

    def resolve(self, revision: str | None = None, branch: str | None = None) -> Resolution:
        """Which tree is asked for, and by which rule. Raises `UnknownRevision` and `NothingCommitted`."""
        return resolve(self.repository, revision, branch, self._latest_snapshot)

    def index(
        self,
        revision: str | None = None,
        *,
        branch: str | None = None,
        jobs: int | None = None,
        trigger: str = "manual",
        background: bool = False,
        progress: Report | None = None,
    ) -> IndexReport:
        """Cover the tree of a revision, and whatever other processes wish for meanwhile."""
        started = time.monotonic()
        asked = self.resolve(revision, branch)
        if (record := self._covered(asked.tree)) is not None:
            self._log(asked, trigger)
            return self._report(asked, record, started, ALREADY_INDEXED)
        lock = IndexLock(self.store)
        if not lock.acquire():
            lock.wish(asked.tree)
            # The holder may have looked for wishes for the last time just before.
            if not lock.acquire():
                return self._report(asked, None, started, INDEXING_IN_PROGRESS)
        with lock:
            report = self._cover(asked, started, jobs, background, progress)
            self._log(asked, trigger)
            lock.granted(asked.tree)
            self._grant_wishes(lock, jobs, background)
        # A wish that came in between is seen by its process, or here.
        while lock.wishes() and lock.acquire():
            with lock:
                self._grant_wishes(lock, jobs, background)
        return report

    def search(
        self,
        query: str,
        *,
        limit: int = 10,
        paths: Sequence[str] = (),
        languages: Sequence[str] = (),
        revision: str | None = None,
        branch: str | None = None,
        progress: Report | None = None,
    ) -> Answer:
        """The best chunks of one tree for a question. What the tree lacks is indexed first."""
        from ctx.search import search

        started = time.monotonic()
        if not query.strip():
            raise UsageError("the query is empty: say in a few words what you look for")
        if limit < 1:
            raise UsageError(f"the limit is {limit}: ask for one hit at least")
        asked = self.resolve(revision, branch)
        view = self.view(asked, progress)
        for trust in (True, False):
            record = self._covered(asked.tree) or NodeRecord([], [], Totals())
            try:
                return search(
                    self.repository, view, self.clusters.record, record.totals, asked, query, limit, paths, languages, started
                )
            except Damaged:
                if not trust:
                    raise
                self.coverer.cover(asked.tree, self.root(asked.tree), trust=False)
        raise AssertionError("the second round returns or raises")

    def text(self, hit: Hit) -> str:
        """The text of a hit, read from the git object now. Raises KeyError where the object is gone."""
        from ctx.contents import to_text

        return to_text(self.repository.read_blob(hit.blob), hit.position.start, hit.position.end)

    def status(self) -> Status:
        """What is indexed, and what it would cost to catch up with HEAD."""
        from ctx.status import status

        return status(self)

    def remove(self) -> Removal:
        """Remove all snapshots and derived data of this repository."""
        removed = len(list(self.snapshots.trees()))
        if os.path.isdir(self.store.path):
            lock = IndexLock(self.store)
            if not lock.acquire(_SEARCH_WAITS):
                raise StoreUnusable(
                    "another process is indexing this repository: wait until it has ended, or end it, "
                    "then run the command again"
                )
            with lock:
                for name in os.listdir(self.store.path):
                    if name != "lock":
                        _remove_tree(os.path.join(self.store.path, name))
                shutil.rmtree(self.store.path, ignore_errors=True)
        elif os.path.lexists(self.store.path):
            _remove_tree(self.store.path)
        return Removal(self.repository_id, removed, os.path.exists(os.path.join(self.store.path, "snapshots")))

    @property
    def repository_id(self) -> str:
        """16 hexadecimal digits that stand for this repository on this machine."""
        place = os.fsencode(os.path.realpath(self.repository.common_dir))
        return blake2b(place, digest_size=8).hexdigest()

    def view(self, asked: Resolution, progress: Report | None = None) -> View:
        """The search-ready arrays of a tree; made where they are lacking, in memory if need be."""
        found = self.catalog.view(asked.tree)
        covered = self._covered(asked.tree) is not None
        if found is not None and covered:
            return found
        self.store.may_use_memory = True
        if not covered:
            lock, jobs = IndexLock(self.store), None
            try:
                lock.acquire(_SEARCH_WAITS)
            except StoreUnusable:
                jobs = 1
            with lock:
                if self._covered(asked.tree) is None:
                    self._cover_in_memory(asked, jobs, progress)
                    self._log(asked, "search")
                found = self.catalog.view(asked.tree)
        return found or self._prepare(asked.tree)

    def root(self, tree: bytes) -> Node:
        """The manifest node of a whole tree, as the path rules in it make it."""
        from ctx.files import PathRules
        from ctx.partition import root_node

        return root_node(
            str(self.descriptor),
            tree,
            lambda entries: PathRules.root(self.repository, entries),
            self._entries,
            self._fetch_trees,
        )

    def _fetch_trees(self, trees: Sequence[bytes]) -> None:
        self._trees.update(self.repository.trees_entries(trees))

    def _entries(self, tree: bytes) -> Sequence[TreeEntry]:
        if tree in self._trees:
            return self._trees.pop(tree)
        try:
            return self.repository.tree_entries(tree)
        except KeyError:
            raise GitFailed(
                f"the tree {tree.hex()} is not in this repository: fetch it (`git fetch`, "
                "`git checkout` in a partial clone), or look for damage with `git fsck`"
            ) from None

    @cached_property
    def coverer(self) -> Coverer:
        """What makes the clusters and snapshots of this repository."""
        from ctx.indexing.cover import Coverer
        from ctx.indexing.workers import Place

        place = Place(self.repository.git_dir, self.repository.common_dir, self.descriptor)
        return Coverer(self.store, self.descriptor, self.catalog, place)

    def _cover(
        self, asked: Resolution, started: float, jobs: int | None, background: bool, progress: Report | None
    ) -> IndexReport:
        jobs = jobs or max(1, _cores() - background)
        root = self.root(asked.tree)
        try:
            covered = self.coverer.cover(
                asked.tree, root, jobs=jobs, background=background, progress=progress
            )
        except Damaged:
            # Something stored is not what its name says: look into everything, and make that anew.
            covered = self.coverer.cover(
                asked.tree, root, jobs=jobs, background=background, progress=progress, trust=False
            )
        if self.catalog.view(asked.tree) is None:
            self._prepare(asked.tree)
        record = NodeRecord([], [], covered.totals)
        report = self._report(asked, record, started, None)
        return report._replace(
            processed_new_clusters=covered.new_clusters,
            reused_clusters=covered.totals.clusters - covered.new_clusters,
            embedded_chunks=covered.embedded_chunks,
            reused_chunks=covered.totals.chunks - covered.embedded_chunks,
        )

    def _cover_in_memory(self, asked: Resolution, jobs: int | None, progress: Report | None) -> None:
        """Cover a tree, and keep in this process what cannot be written."""
        try:
            self._cover(asked, time.monotonic(), jobs, False, progress)
        except StoreUnusable:
            # Only what this process makes itself can stay in its memory.
            self._cover(asked, time.monotonic(), 1, False, progress)

    def _prepare(self, tree: bytes) -> View:
        from ctx.indexing.prepare import prepare_view

        for trust in (True, False):
            try:
                root = self.snapshots.tree(tree)
                if root is None:
                    raise Damaged("there is no snapshot")
                keys = self.snapshots.cluster_keys(root)
                return prepare_view(
                    tree, keys, self.clusters, self.catalog, self.coverer.worker.maker
                )
            except Damaged:
                if not trust:
                    raise
                self.coverer.cover(tree, self.root(tree), trust=False)
        raise AssertionError("the second round returns or raises")

    def _grant_wishes(self, lock: IndexLock, jobs: int | None, background: bool) -> None:
        while wishes := lock.wishes():
            for tree in wishes:
                if self._covered(tree) is None:
                    wished = Resolution(tree, None, tree.hex(), "wish")
                    try:
                        self._cover(wished, time.monotonic(), jobs, background, None)
                        self._log(wished, "wish")
                    except (GitFailed, Damaged):
                        pass  # whoever wished for it will be told when asking again
                lock.granted(tree)

    def _covered(self, tree: bytes) -> NodeRecord | None:
        root = self.snapshots.tree(tree)
        return None if root is None else self.snapshots.node(root)

    def _log(self, asked: Resolution, trigger: str) -> None:
        time_of_commit = self.repository.commit_info(asked.commit).committer_time if asked.commit else None
        entry = Provenance(asked.commit, asked.revision, time_of_commit, int(time.time()), __version__, trigger)
        try:
            self.snapshots.add_to_log(asked.tree, entry)
        except StoreUnusable:
            if not self.store.may_use_memory:
                raise

    def _latest_snapshot(self) -> tuple[bytes, bytes | None] | None:
        """Tree and commit of the snapshot with the latest committer time."""
        best: tuple[int, bytes, bytes | None] | None = None
        for tree in self.snapshots.trees():
            for entry in self.snapshots.log(tree):
                found = (entry.committer_time or 0, tree, entry.commit)
                if best is None or found[:2] > best[:2]:
                    best = found
        return best and (best[1], best[2])

    def _report(
        self, asked: Resolution, record: NodeRecord | None, started: float, skipped: str | None
    ) -> IndexReport:
        totals = record.totals if record else Totals()
        return IndexReport(
            skipped=skipped,
            revision=asked.revision,
            commit=asked.commit,
            tree=asked.tree,
            total_clusters=totals.clusters,
            processed_new_clusters=0,
            reused_clusters=totals.clusters,
            embedded_chunks=0,
            reused_chunks=totals.chunks,
            skipped_files=dict(totals.skipped),
            storage="local",
            seconds=time.monotonic() - started,
        )


def _cores() -> int:
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:
        return os.cpu_count() or 1


def _remove_tree(path: str) -> None:
    try:
        if os.path.isdir(path) and not os.path.islink(path):
            shutil.rmtree(path)
        else:
            os.unlink(path)
    except OSError as error:
        raise StoreUnusable(f"{path} cannot be removed ({error.strerror}): mend its permissions") from error
