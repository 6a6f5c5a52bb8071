"""One repository with its index: the interface for the commands, the MCP server and other programs."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection, Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING

from ctx.errors import UsageError
from ctx.git.repository import Repository
from ctx.maintenance import local_log
from ctx.search.coverage import lacks_in_words
from ctx.search.opening import (
    BASE,
    COMMITTED,
    OURS,
    STAGED,
    THEIRS,
    WORK_TREE,
    Repair,
    open_resolved,
    open_tree,
    repairing,
)
from ctx.search.session import SearchSession
from ctx.types import ALL, Answer, Cited, Hit, Plan, Removal, Status

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from ctx.history.answer import CommitFilters
    from ctx.history.results import HistoryAnswer
    from ctx.pack.making import PackResult
    from ctx.pack.store import PackStore
    from ctx.pack.types import Pack, PackOptions
    from ctx.pack.updating import UpdateOptions
    from ctx.search.evidence.types import Explanation, FileAnswer
    from ctx.search.remote.searching import Wishes

__all__ = ["BASE", "COMMITTED", "OURS", "STAGED", "THEIRS", "WORK_TREE", "Index"]


class Index(SearchSession):
    """The index of one repository. Close it, or use it as a context manager."""

    def __init__(self, path: str | os.PathLike[str] = ".", *, repository: Repository | None = None) -> None:
        """Open the repository that contains `path`, or take an open one, which is closed with the index."""
        super().__init__(path, repository=repository)
        if self.repository.settings.get_bool("ctx.localLogging", False):
            local_log.current.wanted(self.store.path, self.repository.settings.user_name)
        self.on_miss = _fetch_on_miss

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
        within: str | None = None,
        states: Collection[str] = (),
        wishes: Wishes | None = None,
    ) -> Answer:
        """Return the best chunks of one tree for a question. Missing parts of the tree are indexed first.

        `overlay` is put on top of HEAD: the files of the work tree (WORK_TREE), the staged files (STAGED),
        one side of each path in conflict (OURS, THEIRS, BASE), or nothing (COMMITTED). All but the last imply
        HEAD. The default is WORK_TREE if HEAD is searched in a work tree. `content` is one of
        `ctx.types.CONTENTS`.

        `recurse_submodules` also searches the submodules of the tree, ranked together; see
        `ctx.search.submodules`.

        `wishes` are options for remote models, if any are configured.

        `within` searches only the chunks that differ between the two trees of a range (`ctx.git.ranges`); if
        it names one tree, `overlay` gives the other. `states` restricts the answer to some of ADDED,
        MODIFIED, REMOVED of `ctx.types`; the default is all.
        """
        from ctx.search.answering import (
            Question,
            answer,
            check,
            check_least_score,
            refuse_beside_range,
        )

        check(query, limit, "hit")
        self.forget_submodules()
        if wishes is not None:
            check_least_score(wishes.min_score)
        question = Question(query, limit, paths, languages, content, wishes)
        if within is None:
            return answer(self, question, revision, branch, overlay, recurse_submodules)
        refuse_beside_range(revision or branch, overlay, recurse_submodules)
        from ctx.search.changes import search_changes

        staged = overlay == STAGED
        return search_changes(self, question, within, states, staged=staged)

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
    ) -> Answer:
        """Return code of one tree similar to that at a place (`<path>:<line>`, a citation), or to a text.

        The score is that of `ctx.ranking.code_similarity`, 0..1, comparable between answers.
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
        )

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

        return related_changes(
            self,
            within,
            staged=staged,
            limit=limit,
            paths=paths,
            languages=languages,
        )

    def evolved(self, answer: Answer) -> Answer:
        """Return the answer with the commits at which its best hits changed.

        Raises UsageError without a commit.
        """
        from ctx.search.evolution import evolved

        return evolved(self, answer)

    def history(
        self,
        query: str,
        filters: CommitFilters,
        *,
        limit: int = 10,
        asks: str | None = None,
        timeline: bool = False,
        revision: str | None = None,
        branch: str | None = None,
    ) -> HistoryAnswer:
        """Return the commits that did what the query describes, see `ctx.history.answer`."""
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
            on_progress=self.on_commits,
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
    ) -> FileAnswer:
        """Return the best files of one tree for a question, with reasons; see `ctx.search.evidence`.

        The files are those of `search` without remote models. `kind` is one of `ctx.types.CONTENTS`;
        `content` is True to include excerpts.
        """
        from ctx.search.answering import check
        from ctx.search.evidence.answering import answer_files
        from ctx.search.hits import Filters

        check(query, limit, "file")
        self.forget_submodules()
        started = time.monotonic()
        filters = Filters(self.repository, paths, languages, kind)

        def ask() -> tuple[Repair, Callable[[], FileAnswer]]:
            opened = open_tree(self, revision, branch, overlay)
            return opened.repair, partial(answer_files, self, opened, query, limit, filters, content=content)

        answer = repairing(ask)
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
    ) -> Explanation:
        """Explain why a file is part of the context for a task, or not. See `ctx.pack.explaining`."""
        from ctx.pack.explaining import explain_file
        from ctx.pack.types import PackOptions

        self.forget_submodules()
        return explain_file(self, path, task, options or PackOptions())

    def pack(
        self,
        task: str,
        options: PackOptions | None = None,
        *,
        log: str | None = None,
    ) -> PackResult:
        """Return a pack of excerpts for a task, and its text; `packs` keeps it.

        See `ctx.pack.making.make`.
        """
        from ctx.pack.making import make
        from ctx.pack.types import PackOptions

        self.forget_submodules()
        return make(self, task, options or PackOptions(), log)

    def update_pack(
        self,
        parent: Pack,
        options: UpdateOptions | None = None,
        *,
        log: str | None = None,
    ) -> PackResult:
        """Return the changes since a pack was made, as another pack. See `ctx.pack.updating.update`."""
        from ctx.pack.updating import UpdateOptions, update

        self.forget_submodules()
        return update(self, self.packs, parent, options or UpdateOptions(), log)

    @cached_property
    def packs(self) -> PackStore:
        """The packs kept in this repository."""
        from ctx.pack.store import PackStore

        return PackStore(self.store)

    def search_vector(
        self, vector: npt.NDArray[np.float32], *, limit: int = 10, revision: str | None = None
    ) -> list[Hit]:
        """Return the chunks nearest to a vector, (dimensions,) float; the score is the agreement of bits."""
        from ctx.search.hits import nearest_chunks

        def ask() -> tuple[Repair, Callable[[], list[Hit]]]:
            opened = open_resolved(self, self.resolve(revision), COMMITTED)
            record = partial(self.record, opened.view)
            return opened.repair, partial(nearest_chunks, opened.view, record, vector, limit)

        self.forget_submodules()
        return repairing(ask)

    def similarity(self, one: str, other: str) -> float:
        """Return the cosine of the vectors of two texts, in -1..1; 0 if one of them has no word."""
        from ctx.models.static_embedding import static_embedding

        table = static_embedding()
        return float(table.embed_text(one) @ table.embed_text(other))

    def missing(self, revision: str | None = None) -> list[bytes]:
        """Return the keys of the clusters that a tree lacks, without reading any of its files."""
        return [cluster.key for cluster in self.indexer.missing(self.resolve(revision).tree)]

    def plan(self, revision: str | None = None, *, branch: str | None = None) -> Plan:
        """Return the cost of indexing a tree, without doing it."""
        from ctx.indexing.cost import plan

        return plan(self, lambda: self.indexer, self.resolve(revision, branch))

    def cited(self, citation: str) -> Cited:
        """Return the lines that a citation names.

        Raises UsageError if it is invalid, UnknownRevision, CtxError.
        """
        from ctx.search.citations import look_up

        return look_up(self, citation)

    def status(self) -> Status:
        """Return what is indexed, and the cost of catching up with HEAD."""
        from ctx.maintenance.status import status

        return status(self)

    def remove(self) -> Removal:
        """Remove all snapshots and derived data of this repository."""
        from ctx.maintenance.removal import remove

        return remove(self)


def _fetch_on_miss(index: Index, tree: bytes) -> str | None:
    from ctx.share.fetch import fetch_on_miss

    return fetch_on_miss(index, tree)
