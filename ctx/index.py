"""One repository with its index: the interface for the commands, the MCP server and other programs."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from types import TracebackType
from typing import TYPE_CHECKING

from ctx.errors import UsageError
from ctx.maintenance import local_log
from ctx.search.session import SearchSession
from ctx.types import STAGED, Request

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ctx.git.repository import Repository
    from ctx.git.resolution import Resolution
    from ctx.history.answer import CommitFilters
    from ctx.history.results import HistoryAnswer
    from ctx.indexing.reports import IndexReport
    from ctx.maintenance.removal import Removal
    from ctx.maintenance.status import Status
    from ctx.pack.making import PackResult
    from ctx.pack.store import PackStore
    from ctx.pack.types import Pack, PackOptions
    from ctx.pack.updating import UpdateOptions
    from ctx.search.evidence.types import Explanation, FileAnswer
    from ctx.search.submodules import Below
    from ctx.types import Answer, CitedLines, Hit, IndexPlan, Progress, SearchOptions, TreeOptions


class Index:
    """The index of one repository. Close it, or use it as a context manager.

    Every method reads the current state of the repository. `session` holds the parts: the repository, its
    store and settings. The keyword options of the searches are the fields of `ctx.types.Request`.
    """

    def __init__(
        self,
        path: str | os.PathLike[str] = ".",
        *,
        on_progress: Callable[[Progress], None] | None = None,
        on_plan: Callable[[IndexPlan], None] | None = None,
    ) -> None:
        """Open the repository that contains `path`. See `ctx.open`."""
        self.session = SearchSession(path)
        self.session.on_miss = _fetch_on_miss
        self.session.on_progress, self.session.on_plan = on_progress, on_plan
        if self.repository.settings.get_bool("ctx.localLogging", False):
            local_log.current.enable(self.session.store.path, self.repository.settings.user_name)

    def __enter__(self) -> Index:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Release the files, connections and processes of the repository, and the views kept in memory."""
        self.session.close()

    @property
    def repository(self) -> Repository:
        """The git repository."""
        return self.session.repository

    def search(self, text: str, **options: Unpack[SearchOptions]) -> Answer:
        """Return the best chunks of one tree for a question. Missing parts of the tree are indexed first.

        Raises UsageError for options that cannot be combined, UnknownRevision, NothingCommitted, CtxError.
        """
        from ctx.search.answering import search

        return search(self.session, Request(text=text, **options))

    def search_files(self, text: str, *, excerpts: bool = True, **options: Unpack[TreeOptions]) -> FileAnswer:
        """Return the best files of one tree for a question, with reasons; see `ctx.search.evidence`.

        The files are those of `search` without model services. `excerpts` is False to leave out their text.
        """
        from ctx.search.evidence.answering import search_files

        return search_files(self.session, Request(text=text, **options), excerpts=excerpts)

    def related(self, place: str | None, text: str = "", **options: Unpack[TreeOptions]) -> Answer:
        """Return code of one tree similar to that at a place (`<path>:<line>`, a citation), or to a text.

        The score is that of `ctx.ranking.code_similarity`, 0..1, comparable between answers.
        """
        from ctx.search.related import related

        return related(self.session, place, Request(text=text, **options))

    def related_changes(
        self,
        within: str,
        *,
        staged: bool = False,
        limit: int = 3,
        paths: Sequence[str] = (),
        languages: Sequence[str] = (),
    ) -> tuple[Answer, list[tuple[Hit, list[Hit]]]]:
        """Return for each chunk that a range added or modified the similar code elsewhere in the new tree."""
        from ctx.search.related import related_changes

        overlay = STAGED if staged else None
        request = Request(text="", overlay=overlay, limit=limit, paths=paths, languages=languages)
        return related_changes(self.session, within, request)

    def history(
        self,
        text: str,
        filters: CommitFilters | None = None,
        *,
        limit: int = 10,
        asks: str | None = None,
        timeline: bool = False,
        revision: str | None = None,
        branch: str | None = None,
    ) -> HistoryAnswer:
        """Return the commits that match a text; index missing ones first. See `ctx.history.answer`."""
        from ctx.history.answer import CommitFilters, answer

        tip = self.resolve(revision, branch)
        if tip.commit is None:
            raise UsageError(f"'{tip.revision}' is a tree, which has no history; name a commit or a branch")
        self.session.store.may_use_memory = True
        return answer(
            self.repository,
            self.session.store,
            tip.commit,
            tip.revision,
            text,
            filters or CommitFilters(),
            limit=limit,
            asks=asks,
            timeline=timeline,
            on_progress=self.session.on_commits,
        )

    def explain(self, path: str, task: str, options: PackOptions | None = None) -> Explanation:
        """Explain why a file is part of the context for a task, or not. See `ctx.pack.explaining`."""
        from ctx.pack.explaining import explain_file
        from ctx.pack.types import PackOptions

        return explain_file(self.session, path, task, options or PackOptions())

    def pack(self, task: str, options: PackOptions | None = None, *, log: str | None = None) -> PackResult:
        """Return a pack of excerpts for a task, and its text; `packs` keeps it. See `ctx.pack.making`."""
        from ctx.pack.making import make
        from ctx.pack.types import PackOptions

        return make(self.session, task, options or PackOptions(), log)

    def update_pack(
        self, parent: Pack, changes: UpdateOptions | None = None, *, log: str | None = None
    ) -> PackResult:
        """Return the changes since a pack was made, as another pack. See `ctx.pack.updating`."""
        from ctx.pack.updating import UpdateOptions, update

        return update(self.session, self.packs, parent, changes or UpdateOptions(), log)

    @cached_property
    def packs(self) -> PackStore:
        """The packs kept in this repository."""
        from ctx.pack.store import PackStore

        return PackStore(self.session.store)

    def index(
        self,
        revision: str | None = None,
        *,
        branch: str | None = None,
        jobs: int | None = None,
        trigger: str = "manual",
    ) -> IndexReport:
        """Index the tree of a revision, and the trees that other processes request meanwhile.

        `jobs` is the number of processes, None for one per core; `trigger` is logged with the snapshot.
        """
        return self.session.index(revision, branch=branch, jobs=jobs, trigger=trigger)

    def fetch(
        self,
        revision: str | None = None,
        *,
        branch: str | None = None,
        on_fetch: Callable[[int], None] | None = None,
    ) -> int:
        """Fetch from a partial clone's remotes the objects that indexing needs; return their number.

        `on_fetch` is called with the number of objects before each fetch. No other method fetches objects.
        Raises GitFailed.
        """
        return self.session.fetch(revision, branch=branch, on_fetch=on_fetch)

    def plan(self, revision: str | None = None, *, branch: str | None = None) -> IndexPlan:
        """Return the cost of indexing a tree, without doing it."""
        from ctx.indexing.cost import plan

        return plan(self.session, lambda: self.session.indexer, self.resolve(revision, branch))

    def cited(self, citation: str) -> CitedLines:
        """Return the lines that a citation names.

        Raises UsageError if it is invalid, UnknownRevision, CtxError.
        """
        from ctx.search.citations import look_up

        return look_up(self.session, citation)

    def resolve(self, revision: str | None = None, branch: str | None = None) -> Resolution:
        """Return the requested tree. Raises UnknownRevision and NothingCommitted."""
        return self.session.resolve(revision, branch)

    def submodules(self, revision: str | None = None, *, branch: str | None = None) -> Iterator[Below]:
        """Yield the submodules of a revision at their pinned commits, nested ones too.

        Each has the session of its repository, which is open until the next one is requested.
        """
        from ctx.search.submodules import pinned_below

        return pinned_below(self.session, self.resolve(revision, branch).tree)

    def status(self) -> Status:
        """Return what is indexed, and the cost of catching up with HEAD."""
        from ctx.maintenance.status import status

        return status(self.session)

    def remove(self) -> Removal:
        """Remove all snapshots and derived data of this repository."""
        from ctx.maintenance.removal import remove

        return remove(self.session)


def _fetch_on_miss(session: SearchSession, tree: bytes) -> str | None:
    from ctx.share.fetch import fetch_on_miss

    return fetch_on_miss(session, tree)
