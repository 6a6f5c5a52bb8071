"""A session for searches: it opens the views of trees, reads their rows and tunes the ranking.

Functions of search and of the packages above it take one; `ctx.index.Index` has one.
"""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable
from dataclasses import replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Protocol

from ctx.git.repository import Repository
from ctx.git.resolution import BRANCH, REVISION, Resolution
from ctx.git.revisions import resolve
from ctx.search.overlay import UncommittedStates
from ctx.session import Session, take_shared
from ctx.text.contents import MISSING, to_text
from ctx.types import Answer, Hit, RankedHits

if TYPE_CHECKING:
    from ctx.git.worktree import WorkTree
    from ctx.indexing.indexer import Indexer
    from ctx.indexing.reports import IndexReport
    from ctx.ranking.correction import RepositoryCorrection
    from ctx.ranking.tuning import Tuning
    from ctx.search.dependencies.edges import Dependencies
    from ctx.storage.views.view import View


class JoinedTrees(Protocol):
    """A tree and its submodules, searched together; implemented in `ctx.search.submodules`."""

    def trees(self) -> list[tuple[SearchSession, View]]:
        """Return the session and the view of each tree."""

    def record(self, cluster: bytes, document: tuple[bytes, str]) -> bytes:
        """Return the record of a document; the cluster may be in any store. Raises `Damaged`."""

    def reader(self, path: str) -> Repository:
        """Return the repository that reads the objects of the tree with a path."""

    def in_words(self, answer: Answer) -> str | None:
        """Return a message about the submodules that were not searched."""

    def rest(self) -> None:
        """End the git processes of the submodules; a later question starts them again."""

    def close(self) -> None:
        """Close the submodules' repositories."""


class SearchSession(Session):
    """A session that can open trees for a search."""

    def __init__(self, path: str | os.PathLike[str] = ".", *, repository: Repository | None = None) -> None:
        """Open the repository that contains `path`, or take an open one, which is closed with the index."""
        super().__init__(path, repository=repository)
        self.uncommitted = UncommittedStates(self.repository)
        self._joined: JoinedTrees | None = None
        self._joined_before: weakref.WeakSet[JoinedTrees] = weakref.WeakSet()

    def close(self) -> None:
        """Release the files, connections and processes of the repository, and the views kept in memory."""
        self.forget_submodules()
        for joined in list(self._joined_before):
            joined.close()
        self.uncommitted.close()
        super().close()

    def resolve(self, revision: str | None = None, branch: str | None = None) -> Resolution:
        """Resolve the requested tree. Raises `UnknownRevision` and `NothingCommitted`."""
        return resolve(self.repository, revision, branch, self.snapshots.latest)

    def index(
        self,
        revision: str | None = None,
        *,
        branch: str | None = None,
        jobs: int | None = None,
        trigger: str = "manual",
        background: bool = False,
        ask_model: bool = True,
    ) -> IndexReport:
        """Cover the tree of a revision, and the trees that other processes request meanwhile.

        Without `ask_model` nothing is sent to a model service; embeddings that it returned before are used.
        """
        from ctx.indexing.running import run

        self.store.insist_on_disk()
        asked = self.resolve(revision, branch)
        report = run(
            self, lambda: self.indexer, asked, trigger, jobs=jobs, background=background, ask_model=ask_model
        )
        if self._wants_fit:
            self._correction.bring_up_to_date()
        return report

    def fetch(
        self,
        revision: str | None = None,
        *,
        branch: str | None = None,
        on_fetch: Callable[[int], None] | None = None,
    ) -> int:
        """Fetch the objects that indexing a revision needs; return their number.

        They are fetched from the remotes of a partial clone; no other method fetches objects.
        `on_fetch` is called with their number before each fetch. Raises `GitFailed`.
        """
        from ctx.git.promised import fetch_missing

        tree = self.resolve(revision, branch).tree
        if self.snapshots.covered(tree) is not None and not self.indexer.uncounted(tree):
            return 0

        def files() -> list[bytes]:
            if self.snapshots.covered(tree) is not None:
                return self.indexer.uncounted(tree)
            return [member.oid for cluster in self.indexer.missing(tree) for member in cluster.members]

        return fetch_missing(self.repository, tree, files, on_fetch or (lambda _: None))

    @cached_property
    def indexer(self) -> Indexer:
        """The indexer of this repository, which makes its snapshots and views."""
        return self.make_indexer(self.repository, True)

    def make_indexer(self, repository: Repository, committed: bool) -> Indexer:
        """Return an indexer of trees read from `repository`.

        It makes snapshots if the trees are `committed`, else only views.
        """
        from ctx.indexing.indexer import Indexer

        return Indexer(repository, self.store, self.descriptor, self.catalog, committed)

    def overlaid(self, overlay: str) -> tuple[Callable[[], Indexer], WorkTree]:
        """Return a factory of the indexer of HEAD with the uncommitted state on top, and that state.

        Only the last state requested can be read. Raises GitFailed and CtxError.
        """
        state = self.uncommitted.now(overlay)
        if state.tree is not None:
            return partial(self.make_indexer, state.repository, False), state
        return (lambda: self.indexer), state

    @property
    def reader(self) -> Repository:
        """Reader of the objects of the last tree searched, including those of uncommitted files."""
        return self.uncommitted.reader

    def keep_submodules(self, joined: JoinedTrees) -> None:
        """Keep the submodules of the last tree searched open while an answer reads them."""
        self._joined = joined
        self._joined_before.add(joined)

    def forget_submodules(self) -> None:
        """Release the submodules of the last tree searched; its answers can still be read."""
        if self._joined is not None:
            self._joined.rest()
            self._joined = None

    def view(self, indexer: Callable[[], Indexer], asked: Resolution) -> View:
        """Return the view of a tree; `indexer` returns the indexer that makes missing parts."""
        self.store.may_use_memory = True  # a search must work in a read-only repository
        # Import the indexer only if needed: the import costs more than a search.
        found = self.catalog.view(asked.tree)
        if found is not None and self._is_current(found, asked.tree):
            return found
        take_shared(self, asked.tree, indexing=False)
        named = asked.resolved_by in (REVISION, BRANCH)
        if named and self.on_plan is not None:
            from ctx.indexing.cost import plan

            self.on_plan(plan(self, lambda: self.indexer, asked))
        return indexer().view(asked, self.on_progress, named)

    def _is_current(self, view: View, tree: bytes) -> bool:
        """Return True unless the tree has no snapshot, or has a blob now that was missing."""
        if MISSING in view.skipped:
            return self.snapshots.current_partial(tree, self.repository) is not None
        return view.is_overlay or self.snapshots.covered(tree) is not None

    def repair(self, indexer: Indexer, tree: bytes, everything: bool) -> None:
        """Rebuild stored data of a tree that does not match its name; with `everything`, all of it."""
        if everything:
            self.catalog.clear()
        else:
            indexer.repair(tree)
        self.catalog.forget(tree)
        self.clusters.forget()

    @property
    def _wants_fit(self) -> bool:
        return self.repository.settings.get_bool("ctx.fit", False)

    @property
    def tuning(self) -> Tuning:
        """Tuning of the ranking: texts of rows, and the correction by history if it is enabled."""
        from ctx.ranking.tuning import PLAIN
        from ctx.search.hits import texts_of_rows

        tuning = self._correction.tuning() if self._wants_fit else PLAIN
        return tuning._replace(text_of=texts_of_rows(lambda view: partial(self.record, view), self.text))

    @property
    def past_unread(self) -> str | None:
        """Reason why the history of the files is not used although it is enabled; None if it is used."""
        why = self._correction.unread if self._wants_fit else None
        return why and f"ctx.fit has no effect, since {why}"

    def answered(self, about: Answer, found: RankedHits, *said: str | None) -> Answer:
        """Return an answer with the hits of a ranking, the models used, and further messages."""
        return replace(
            about,
            hits=[replace(hit, reader=about.reader) for hit in found.hits],
            message=self.remark(found.message, *said, _doubt(found)),
            ranked_with=(*self.tuning.ranked_with, *found.ranked_with),
            further_queries=found.further_queries,
            confidence=found.confidence,
        )

    def remark(self, *said: str | None) -> str | None:
        """Join messages with the reason, if any, why history is enabled and not used."""
        return "; ".join(filter(None, (*said, self.past_unread))) or None

    @cached_property
    def _correction(self) -> RepositoryCorrection:
        from ctx.ranking.correction import RepositoryCorrection

        return RepositoryCorrection(self.repository, self.store)

    def dependencies(self, view: View) -> Dependencies:
        """Return the import graph of the files of a view, cached while its tree is the last one opened."""
        from ctx.search.dependencies.edges import Dependencies
        from ctx.search.hits import corpus_of

        return Dependencies(corpus_of(view), self.reader.read_blob, partial(self.record, view))

    def record(self, view: View, cluster: bytes, document: tuple[bytes, str]) -> bytes:
        """Return the record of a document of a view. Raises `Damaged`."""
        known = view.records.get(document)
        return (self._joined or self.clusters).record(cluster, document) if known is None else known

    def text(self, hit: Hit) -> str | None:
        """Return the text of a hit of the last tree opened, None if its blob is missing or damaged."""
        if hit.reader is not None:
            return hit.text
        return text_of(self.reader if self._joined is None else self._joined.reader(hit.path), hit)


def _doubt(found: RankedHits) -> str | None:
    """Return a message if the tree probably does not answer the question."""
    from ctx.ranking.confidence import DOUBTFUL

    sure = 1.0 if found.confidence is None or not found.hits else found.confidence
    return None if sure >= DOUBTFUL else f"perhaps nothing here answers this (confidence {sure:.2f})"


def text_of(repository: Repository, hit: Hit) -> str | None:
    """Return the text of a hit, None if its blob is missing or damaged."""
    try:
        blob = repository.read_blob(bytes.fromhex(hit.blob))
    except KeyError:
        return None
    return to_text(blob, hit.position.start, hit.position.end)
