"""One repository with its index: what the commands, the MCP server and other programs call."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import cached_property, partial
from hashlib import blake2b
from types import TracebackType
from typing import TYPE_CHECKING

from ctx import text as words
from ctx.errors import UsageError
from ctx.git.repository import Repository, open_repository
from ctx.git.revisions import BRANCH, REVISION, Resolution, resolve
from ctx.search.coverage import lacks_in_words
from ctx.search.opening import (
    BASE,
    COMMITTED,
    OURS,
    STAGED,
    THEIRS,
    WORK_TREE,
    Mend,
    Opened,
    mending,
    open_resolved,
    open_tree,
)
from ctx.search.overlay import Uncommitted
from ctx.storage.descriptor import Descriptor, embedded_model
from ctx.storage.snapshots import Snapshots
from ctx.storage.store import DIRECTORY, Store
from ctx.types import ALL, Answer, Cited, Found, Hit, IndexReport, Plan, Progress, Removal, Status

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from ctx.git.worktree import WorkTree
    from ctx.history.answer import Filters as HistoryFilters
    from ctx.history.results import HistoryAnswer
    from ctx.indexing.indexer import Indexer
    from ctx.models.configured import Models
    from ctx.models.remote import RemoteModel
    from ctx.pack.making import Made
    from ctx.pack.shelf import Shelf
    from ctx.pack.updating import Wishes as PackWishes
    from ctx.pack.values import Options as PackOptions
    from ctx.pack.values import Pack
    from ctx.ranking.prior import Fitting
    from ctx.ranking.tuning import Tuning
    from ctx.search.dependencies.edges import Dependencies
    from ctx.search.evidence.values import Explanation, FileAnswer
    from ctx.search.remote.searching import Wishes
    from ctx.search.submodules import Below, Joined
    from ctx.storage.cluster_store import ClusterStore
    from ctx.storage.views.catalog import Catalog
    from ctx.storage.views.view import View

__all__ = ["BASE", "COMMITTED", "OURS", "STAGED", "THEIRS", "WORK_TREE", "RepositoryIndex"]

Report = Callable[[Progress], None]
Announce = Callable[[Plan], None]


class RepositoryIndex:
    """The index of one repository. Close it, or use it as a context manager."""

    def __init__(self, path: str | os.PathLike[str] = ".", *, repository: Repository | None = None) -> None:
        """The index of the repository that `path` lies in, or of an open one, which is closed with it."""
        self.repository: Repository = repository or open_repository(path)
        self.descriptor: Descriptor = embedded_model()
        lenders = self.repository.lenders(DIRECTORY)
        self.store = Store(self.repository.common_dir, lenders, self.repository.permissions)
        self.store.check_layout()
        self.snapshots = Snapshots(self.store, str(self.descriptor))
        self.uncommitted = Uncommitted(self.repository)
        self._joined: Joined | None = None
        self.fetch_failed: str | None = None

    def __enter__(self) -> RepositoryIndex:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the repository's files and processes."""
        self.forget_submodules()
        self.uncommitted.close()
        if (models := self.__dict__.get("models")) is not None:
            models.close()
        self.repository.close()

    def resolve(self, revision: str | None = None, branch: str | None = None) -> Resolution:
        """Which tree is asked for, and by which rule. Raises `UnknownRevision` and `NothingCommitted`."""
        return resolve(self.repository, revision, branch, self.snapshots.latest)

    def index(
        self,
        revision: str | None = None,
        *,
        branch: str | None = None,
        jobs: int | None = None,
        trigger: str = "manual",
        background: bool = False,
        progress: Report | None = None,
        ask_model: bool = True,
    ) -> IndexReport:
        """Cover the tree of a revision, and whatever other processes wish for meanwhile.

        Without `ask_model` nothing is sent to a remote model: what it has embedded already is used.
        """
        from ctx.indexing.running import run

        self.store.insist_on_disk()
        asked = self.resolve(revision, branch)
        report = run(
            self, asked, trigger, jobs=jobs, background=background, progress=progress, ask_model=ask_model
        )
        if self._wants_fit:
            self._fitting.bring_up_to_date()
        return report

    def fetch(
        self,
        revision: str | None = None,
        *,
        branch: str | None = None,
        told: Callable[[int], None] | None = None,
    ) -> int:
        """Get from the remotes of a partial clone what indexing a revision lacks; the number of objects.

        `told` is called with the number of objects before each fetch. No other method fetches objects. Raises
        `GitFailed`.
        """
        from ctx.indexing.lacking import fetch_lacking

        tree = self.resolve(revision, branch).tree
        if self.snapshots.covered(tree) is not None and not self.indexer.uncounted(tree):
            return 0

        def files() -> list[bytes]:
            if self.snapshots.covered(tree) is not None:
                return self.indexer.uncounted(tree)
            _, clusters = self.indexer.coverer.missing(self.indexer.trees.root(tree))
            return [member.oid for cluster in clusters for member in cluster.members]

        return fetch_lacking(self.repository, tree, files, told or (lambda _: None))

    def below(self, revision: str | None = None, *, branch: str | None = None) -> Iterator[Below]:
        """Yield the submodules of a revision at their pinned commits, nested ones too."""
        from ctx.search.submodules import pinned_below

        return pinned_below(self, self.resolve(revision, branch).tree)

    def search(
        self,
        query: str,
        *,
        limit: int = 10,
        paths: Sequence[str] = (),
        languages: Sequence[str] = (),
        content: str = ALL,
        revision: str | None = None,
        branch: str | None = None,
        overlay: str | None = None,
        recurse_submodules: bool = False,
        progress: Report | None = None,
        announce: Announce | None = None,
        within: str | None = None,
        states: Collection[str] = (),
        wishes: Wishes | None = None,
    ) -> Answer:
        """The best chunks of one tree for a question. What the tree lacks is indexed first.

        `overlay` is what to put on top of HEAD: the files as they lie in the work tree (WORK_TREE), what is
        staged (STAGED), of each path in conflict one side (OURS, THEIRS, BASE), or nothing (COMMITTED). All
        but the last ask for HEAD by themselves. By default it is WORK_TREE where HEAD is searched in a work
        tree. `content` is one of `values.CONTENTS`.

        `recurse_submodules` searches the submodules of the tree too, all as one, see `ctx.search.submodules`.

        `announce` is told what it costs to index a named revision, before that is done. `wishes` are what is
        wanted of remote models, where some are configured.

        `within` searches only the chunks that differ between the two trees of a range (`ctx.git.ranges`);
        where it names one, the other is what `overlay` says. `states` are those to answer with (ADDED, MODIFIED,
        REMOVED of `ctx.types`), all by default.
        """
        from ctx.search.answering import Question, answer, check, refuse_beside_range

        check(query, limit, "hit")
        self.forget_submodules()
        question = Question(query, limit, paths, languages, content, wishes)
        if within is None:
            return answer(self, question, revision, branch, overlay, recurse_submodules, progress, announce)
        refuse_beside_range(revision or branch, overlay, recurse_submodules)
        from ctx.search.changes import search_changes

        staged = overlay == STAGED
        return search_changes(
            self, question, within, states, staged=staged, progress=progress, announce=announce
        )

    def related(
        self,
        place: str | None,
        text: str | None = None,
        *,
        limit: int = 10,
        paths: Sequence[str] = (),
        languages: Sequence[str] = (),
        revision: str | None = None,
        branch: str | None = None,
        overlay: str | None = None,
        progress: Report | None = None,
        announce: Announce | None = None,
    ) -> Answer:
        """Code like that at a place (`<path>:<line>`, a citation), or like a text, in one tree, if any is.

        The score is that of `ctx.ranking.code_similarity`, 0..1, and compares between answers.
        """
        from ctx.search.related import related

        return related(
            self,
            place,
            text,
            revision=revision,
            branch=branch,
            overlay=overlay,
            limit=limit,
            paths=paths,
            languages=languages,
            progress=progress,
            announce=announce,
        )

    def related_changes(
        self,
        within: str,
        *,
        staged: bool = False,
        limit: int = 3,
        paths: Sequence[str] = (),
        languages: Sequence[str] = (),
        progress: Report | None = None,
        announce: Announce | None = None,
    ) -> tuple[Answer, list[tuple[Hit, list[Hit]]]]:
        """For each chunk that a range added or modified, what the new tree has like it elsewhere."""
        from ctx.search.related import related_changes

        return related_changes(
            self,
            within,
            staged=staged,
            limit=limit,
            paths=paths,
            languages=languages,
            progress=progress,
            announce=announce,
        )

    def evolved(self, answer: Answer) -> Answer:
        """The answer with the commits at which its best hits changed. Raises UsageError without a commit."""
        from ctx.search.evolution import evolved

        return evolved(self, answer)

    def history(
        self,
        query: str,
        filters: HistoryFilters,
        *,
        limit: int = 10,
        asks: str | None = None,
        timeline: bool = False,
        revision: str | None = None,
        branch: str | None = None,
        told: Callable[[int, int], None] | None = None,
    ) -> HistoryAnswer:
        """The commits that did what the query says, see `ctx.history.answer`."""
        from ctx.history.answer import answer

        asked = self.resolve(revision, branch)
        if asked.commit is None:
            raise UsageError(f"'{asked.revision}' is a tree, which has no history; name a commit or a branch")
        self.store.may_use_memory = True
        return answer(
            self.repository,
            self.store,
            asked.commit,
            asked.revision,
            query,
            filters,
            limit=limit,
            asks=asks,
            timeline=timeline,
            told=told,
        )

    def search_files(
        self,
        query: str,
        *,
        limit: int = 10,
        paths: Sequence[str] = (),
        languages: Sequence[str] = (),
        kind: str = ALL,
        revision: str | None = None,
        branch: str | None = None,
        overlay: str | None = None,
        content: bool = True,
        progress: Report | None = None,
        announce: Announce | None = None,
    ) -> FileAnswer:
        """The best files of one tree for a question, with the reasons of each; see `ctx.search.evidence`.

        Files are those of `search` without remote models. `kind` is one of `values.CONTENTS`; `content` says
        whether excerpts are wanted.
        """
        from ctx.search.answering import check
        from ctx.search.evidence.answering import answer_files
        from ctx.search.hits import Filters

        check(query, limit, "file")
        self.forget_submodules()
        started = time.monotonic()
        filters = Filters(self.repository, paths, languages, kind)

        def ask() -> tuple[Mend, Callable[[], FileAnswer]]:
            opened = open_tree(self, revision, branch, overlay, progress, announce)
            return opened.mend, partial(answer_files, self, opened, query, limit, filters, content=content)

        answer = mending(ask)
        lacking = lacks_in_words(answer.about, self.repository.settings.is_partial_clone)
        seconds = time.monotonic() - started
        message = self.remark(answer.about.message or lacking)
        about = answer.about._replace(message=message, seconds=seconds)
        return answer._replace(about=about)

    def explain(
        self,
        path: str,
        task: str,
        options: PackOptions | None = None,
        *,
        progress: Report | None = None,
        announce: Announce | None = None,
    ) -> Explanation:
        """Why a file is, or is not, part of what a task needs. See `ctx.pack.explaining`."""
        from ctx.pack.explaining import explain_file
        from ctx.pack.values import Options

        self.forget_submodules()
        return explain_file(self, path, task, options or Options(), progress, announce)

    def pack(
        self,
        task: str,
        options: PackOptions | None = None,
        *,
        log: str | None = None,
        progress: Report | None = None,
        announce: Announce | None = None,
    ) -> Made:
        """A pack of excerpts for a task, and its text; `packs` keeps it. See `ctx.pack.making.make`."""
        from ctx.pack.making import make
        from ctx.pack.values import Options

        self.forget_submodules()
        return make(self, task, options or Options(), log, progress, announce)

    def update_pack(
        self,
        parent: Pack,
        wishes: PackWishes | None = None,
        *,
        log: str | None = None,
        progress: Report | None = None,
        announce: Announce | None = None,
    ) -> Made:
        """What has changed since a pack was made, as another pack. See `ctx.pack.updating.update`."""
        from ctx.pack.updating import Wishes, update

        self.forget_submodules()
        return update(self, self.packs, parent, wishes or Wishes(), log, progress, announce)

    @cached_property
    def packs(self) -> Shelf:
        """The packs that are kept in this repository."""
        from ctx.pack.shelf import Shelf

        return Shelf(self.store)

    def search_vector(
        self, vector: npt.NDArray[np.float32], *, limit: int = 10, revision: str | None = None
    ) -> list[Hit]:
        """The chunks whose vectors lie nearest to one, (dimensions,) float; the score is the agreement."""
        from ctx.search.hits import nearest_chunks

        def ask() -> tuple[Mend, Callable[[], list[Hit]]]:
            opened = open_resolved(self, self.resolve(revision), COMMITTED)
            record = partial(self.record, opened.view)
            return opened.mend, partial(nearest_chunks, opened.view, record, vector, limit)

        self.forget_submodules()
        return mending(ask)

    def similarity(self, one: str, other: str) -> float:
        """The cosine of the vectors of two texts, in -1..1; 0 where one of them has no word."""
        from ctx.models.static_embedding import word_table

        table = word_table()
        return float(table.embed_text(one) @ table.embed_text(other))

    def missing(self, revision: str | None = None) -> list[bytes]:
        """The keys of the clusters that a tree lacks, known without reading a file of it."""
        return [cluster.key for cluster in self.indexer.missing(self.resolve(revision).tree)]

    def plan(self, revision: str | None = None, *, branch: str | None = None) -> Plan:
        """What it would take to index a tree, before anything is done."""
        from ctx.indexing.cost import plan

        return plan(self, self.resolve(revision, branch))

    def cited(self, citation: str) -> Cited:
        """The lines that a citation names. Raises UsageError for what is none, UnknownRevision, CtxError."""
        from ctx.search.citations import look_up

        return look_up(self, citation)

    def text(self, hit: Hit) -> str | None:
        """The text of a hit, read from the git object now; None where the object is gone or damaged."""
        from ctx.text.contents import to_text

        try:
            reader = self.reader if self._joined is None else self._joined.reader(hit.path)
            blob = reader.read_blob(hit.blob)
        except KeyError:
            return None
        return to_text(blob, hit.position.start, hit.position.end)

    def status(self) -> Status:
        """What is indexed, and what it would cost to catch up with HEAD."""
        from ctx.maintenance.status import status

        return status(self)

    def remove(self) -> Removal:
        """Remove all snapshots and derived data of this repository."""
        from ctx.maintenance.removal import remove

        return remove(self)

    @property
    def repository_id(self) -> str:
        """16 hexadecimal digits that stand for this repository on this machine."""
        place = os.fsencode(os.path.realpath(self.repository.common_dir))
        return blake2b(place, digest_size=8).hexdigest()

    # What needs numpy is imported when it is needed: to say that a tree is indexed already takes none of it.

    @cached_property
    def clusters(self) -> ClusterStore:
        """The stored clusters."""
        from ctx.storage.cluster_store import ClusterStore

        return ClusterStore(self.store, self.descriptor)

    @cached_property
    def catalog(self) -> Catalog:
        """The views and segments."""
        from ctx.storage.views.catalog import Catalog

        return Catalog(self.store, str(self.descriptor), words.VERSION)

    @property
    def has_remote_models(self) -> bool:
        """Whether a search asks a remote model."""
        settings = self.repository.settings
        return any(settings.get(f"ctx.{kind}.url") for kind in ("embedder", "reranker"))

    @property
    def remote_model(self) -> RemoteModel | None:
        """The embedder that is configured now, with what it has made here. Raises UsageError."""
        return self.models.configured if self.repository.settings.get("ctx.embedder.url") else None

    @cached_property
    def models(self) -> Models:
        """The remote models of this repository."""
        from ctx.models.configured import Models

        return Models(self.repository, self.store)

    @cached_property
    def indexer(self) -> Indexer:
        """What makes the snapshots and views of this repository."""
        return self.make_indexer(self.repository, True)

    def make_indexer(self, repository: Repository, committed: bool) -> Indexer:
        """What makes views of trees that `repository` reads; of those that are committed, snapshots too."""
        from ctx.indexing.indexer import Indexer

        return Indexer(repository, self.store, self.descriptor, self.catalog, committed)

    def overlaid(self, overlay: str) -> tuple[Callable[[], Indexer], WorkTree]:
        """What makes views of HEAD with the uncommitted state on top of it, and that state.

        Only the last one that was asked for can be read. Raises GitFailed and CtxError.
        """
        state = self.uncommitted.now(overlay)
        if state.tree is not None:
            return partial(self.make_indexer, state.repository, False), state
        return (lambda: self.indexer), state

    @property
    def reader(self) -> Repository:
        """What reads the objects of the last tree that was searched, those of uncommitted files included."""
        return self.uncommitted.reader

    def join_submodules(self, opened: Opened, progress: Report | None) -> tuple[Joined, Opened]:
        """A tree with its submodules in it, which stay open until `forget_submodules`."""
        from ctx.search.submodules import join

        self._joined, opened = join(self, opened, progress)
        return self._joined, opened

    def forget_submodules(self) -> None:
        """Close the submodules of the last tree that was searched."""
        if self._joined is not None:
            self._joined.close()
            self._joined = None

    def view(
        self,
        indexer: Callable[[], Indexer],
        asked: Resolution,
        progress: Report | None = None,
        announce: Announce | None = None,
    ) -> View:
        """The view of a tree; what lacks is made by what `indexer` gives."""
        self.store.may_use_memory = True  # a search answers where nothing may be written
        # The usual case needs nothing of what makes an index, whose import would cost more than the search.
        found = self.catalog.view(asked.tree)
        if found is not None and (found.is_overlay or self.snapshots.covered(asked.tree) is not None):
            return found
        self.take_shared(asked.tree, indexing=False)
        named = asked.resolved_by in (REVISION, BRANCH)
        if named and announce is not None:
            from ctx.indexing.cost import plan

            announce(plan(self, asked))
        return indexer().view(asked, progress, named)

    def mend(self, indexer: Indexer, tree: bytes, everything: bool) -> None:
        """Make anew what is stored of a tree and is not what its name says, or `everything` made of that."""
        if everything:
            indexer.renew(tree)
        else:
            indexer.repair(tree)
        self.catalog.forget(tree)
        self.clusters.forget()

    def take_shared(self, tree: bytes, *, indexing: bool) -> None:
        """Take what the tree lacks from the remote, where the user has allowed that once and for all."""
        from ctx.storage import sharing as share

        if share.may_fetch(self.repository, indexing=indexing):
            from ctx.share.fetch import fetch_on_miss

            self.fetch_failed = fetch_on_miss(self, tree)

    @property
    def _wants_fit(self) -> bool:
        return self.repository.settings.get_bool("ctx.fit", False)

    @property
    def tuning(self) -> Tuning:
        """How to rank: by the texts too, and by what the past says of the files where the user wants it."""
        from ctx.ranking.tuning import PLAIN
        from ctx.search.hits import texts_of_rows

        tuning = self._fitting.tuning() if self._wants_fit else PLAIN
        return tuning._replace(text_of=texts_of_rows(lambda view: partial(self.record, view), self.text))

    @property
    def past_unread(self) -> str | None:
        """Why the past of the files does not count though the user wants it, None where it does."""
        why = self._fitting.unread if self._wants_fit else None
        return why and f"ctx.fit has no effect, since {why}"

    def answered(self, about: Answer, found: Found, *said: str | None) -> Answer:
        """An answer with what a ranking gave it, what had a part in that, and what else is to be said."""
        return about._replace(
            hits=found.hits,
            message=self.remark(found.message, *said),
            ranked_with=(*self.tuning.ranked_with, *found.ranked_with),
            further_queries=found.further_queries,
        )

    def remark(self, *said: str | None) -> str | None:
        """What to say beside an answer that counts the past: what is given, and where there is none, why."""
        return "; ".join(filter(None, (*said, self.past_unread))) or None

    @cached_property
    def _fitting(self) -> Fitting:
        from ctx.ranking.prior import Fitting

        return Fitting(self.repository, self.store)

    def dependencies(self, view: View) -> Dependencies:
        """Who uses whom among the files of a view, as long as its tree is the last one that was opened."""
        from ctx.search.dependencies.edges import Dependencies
        from ctx.search.hits import corpus_of

        return Dependencies(corpus_of(view), self.reader.read_blob, partial(self.record, view))

    def record(self, view: View, cluster: bytes, document: tuple[bytes, str]) -> bytes:
        """The record of a document of a view. Raises `Damaged`."""
        known = view.records.get(document)
        return (self._joined or self.clusters).record(cluster, document) if known is None else known
