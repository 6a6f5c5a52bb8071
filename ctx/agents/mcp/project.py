"""The project that a server serves; runs its tools and returns text and plain values.

Every call reads the current state of the repository. The index is reopened periodically to bound the memory
used by caches of many trees.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

import ctx
from ctx.agents.mcp.reading import read_lines
from ctx.agents.mcp.replies import Form, Reply, listed, numbered, revision_values
from ctx.agents.mcp.tools import (
    CODE_SEARCH,
    EXPLAIN,
    FIND_RELATED,
    HISTORY_SEARCH,
    LIMIT,
    LIST_PACKS,
    MAX_TOKENS,
    PACK,
    READ_LINES,
    READ_PACK,
)
from ctx.errors import CtxError, NotARepository, UsageError
from ctx.git.repository import Repository, open_repository
from ctx.index import Index
from ctx.search.citations import citation
from ctx.text.escaping import escape_control
from ctx.text.pluralize import pluralize
from ctx.types import Answer, Hit, Progress

if TYPE_CHECKING:
    from ctx.agents.mcp.packs import Text
    from ctx.pack.store import StoredPack

_CALLS = 200
"""Number of calls after which the index is reopened."""
_FEWEST_LINES = 6
"""Minimum number of lines in a shortened hit."""

Report = Callable[[int, int, str], None]
"""Progress callback: done, total, unit (such as "files")."""


class Project:
    """One project: the repository that contains `start`. Calls must not overlap.

    Until there is a repository, each call raises NotARepository. The first call that finds one opens it, and
    the project never changes to another repository.
    """

    def __init__(self, start: str) -> None:
        self._start = os.path.realpath(start)
        self.root: str | None = None
        with suppress(CtxError), open_repository(self._start) as repository:
            self.root = _root(repository)
        self._index: Index | None = None
        self._places: list[tuple[int, int]] = []
        self._calls = 0

    def close(self) -> None:
        """Close the repository."""
        if self._index is not None:
            self._index.close()
            self._index = None

    def call(self, name: str, arguments: dict[str, Any], progress: Report | None = None) -> Reply:
        """Run one tool with checked arguments. Raises CtxError."""
        self._look()
        tools: dict[str, Callable[[dict[str, Any]], Reply]] = {
            CODE_SEARCH.name: self._search,
            FIND_RELATED.name: self._related,
            READ_LINES.name: self._read,
            HISTORY_SEARCH.name: self._history,
            EXPLAIN.name: self._explain,
            PACK.name: self._pack,
            LIST_PACKS.name: self._list_packs,
            READ_PACK.name: self._read_pack,
        }
        session = self._opened.session
        if progress is not None:
            session.on_progress, session.on_commits = _files(progress), partial(_commits, progress)
        try:
            return tools[name](arguments)
        finally:
            session.on_progress = session.on_commits = None

    def packs(self) -> Sequence[StoredPack]:
        """Return the packs to list as resources. Raises CtxError."""
        from ctx.agents.mcp.packs import resources

        self._look()
        return resources(self._opened)

    def resource(self, uri: str) -> Text:
        """Return the resource at a URI. Raises CtxError."""
        from ctx.agents.mcp.packs import read_resource

        self._look()
        return read_resource(self._opened, uri)

    def _look(self) -> None:
        """Open the project, or reopen it if its directories have changed."""
        if self._calls % _CALLS == 0 or not self._is_where_it_was():
            self.close()
        self._calls += 1
        if self._index is None:
            self._open()
        # Drop the cached settings, so that changes take effect.
        self._opened.repository.__dict__.pop("settings", None)

    def _open(self) -> None:
        """Open the repository at the root, never one that contains the root. Raises NotARepository."""
        place = self.root or self._start
        if not os.path.isdir(place):
            raise NotARepository(f"the project's directory {place} no longer exists")
        try:
            index = ctx.open(place)
        except NotARepository as error:
            raise NotARepository(
                f"{error}. The server for agents was started in {place}: start it in a repository, name one "
                "with `git-ctx -C PATH mcp`, or make one there with `git init`; the next call finds it"
            ) from None
        root = _root(index.repository)
        if self.root not in (None, root):
            index.close()
            raise NotARepository(
                f"{self.root} is no longer a git repository: `git init` or a clone makes it one"
            )
        self.root = root
        self._index, self._places = index, _places(index, root)

    def _is_where_it_was(self) -> bool:
        """Return True if the opened directories are still in place.

        Otherwise the running git process would keep reading directories that were moved or removed.
        """
        try:
            return self._index is None or self.root is None or _places(self._index, self.root) == self._places
        except OSError:
            return False

    @property
    def _opened(self) -> Index:
        assert self._index is not None, "a call opens it"
        return self._index

    def _search(self, given: dict[str, Any]) -> Reply:
        within = given.get("changedIn")
        if within is not None and "revision" in given:
            raise UsageError("changedIn names its revisions itself: leave revision out")
        answer = self._opened.search(
            given["text"],
            limit=given.get("limit", LIMIT),
            paths=_pathspecs(given),
            revision=given.get("revision"),
            within=within,
        )
        return self._reply(answer, given, "no code answers this: rephrase the question")

    def _related(self, given: dict[str, Any]) -> Reply:
        answer = self._opened.related(
            given["place"],
            limit=given.get("limit", LIMIT),
            paths=_pathspecs(given),
        )
        return self._reply(answer, given, "no similar code found")

    def _read(self, given: dict[str, Any]) -> Reply:
        return read_lines(self._opened, given)

    def _history(self, given: dict[str, Any]) -> Reply:
        from ctx.agents.mcp.commits import history_search

        return history_search(self._opened, given, _pathspecs(given))

    def _explain(self, given: dict[str, Any]) -> Reply:
        from ctx.agents.mcp.explaining import explain

        return explain(self._opened, given)

    def _pack(self, given: dict[str, Any]) -> Reply:
        from ctx.agents.mcp.packs import make_pack

        return make_pack(self._opened, given)

    def _list_packs(self, _: dict[str, Any]) -> Reply:
        from ctx.agents.mcp.packs import list_packs

        return list_packs(self._opened)

    def _read_pack(self, given: dict[str, Any]) -> Reply:
        from ctx.agents.mcp.packs import read_pack

        return read_pack(self._opened, given)

    def _reply(self, answer: Answer, given: dict[str, Any], nothing: str) -> Reply:
        """Return an answer within the token limit, counting both text and plain values."""
        values: dict[str, Any] = {
            **revision_values(answer.revision, answer.commit, answer.tree),
            "complete": answer.coverage.complete,
            "rankedWith": [escape_control(one) for one in answer.ranked_with],
        }
        hits = (self._forms(hit) for hit in answer.hits)
        return listed(values, "hits", hits, given.get("maxTokens", MAX_TOKENS), answer.message, nothing)

    def _forms(self, hit: Hit) -> Iterator[Form]:
        value = _value(hit)
        lines = numbered((hit.text or "").split("\n"), hit.position.start_line)
        shown = len(lines)
        yield Form(value, _shown(hit, value, lines, shown))
        while shown >= 2 * _FEWEST_LINES:
            shown //= 2
            yield Form(value, _shown(hit, value, lines, shown))


def _root(repository: Repository) -> str:
    return os.path.realpath(repository.work_tree or repository.git_dir)


def _places(index: Index, root: str) -> list[tuple[int, int]]:
    """Return device and inode of the project's root, git directory and common directory."""
    found = [os.stat(place) for place in (root, index.repository.git_dir, index.repository.common_dir)]
    return [(one.st_dev, one.st_ino) for one in found]


def _value(hit: Hit) -> dict[str, Any]:
    position = hit.position
    return {
        "path": escape_control(os.fsdecode(hit.path)),
        "startLine": position.start_line,
        "endLine": position.end_line,
        "symbol": escape_control(hit.symbol),
        "score": round(hit.score, 3),
        "citation": citation(hit.blob, position.start_line, position.end_line, 12),
    }


def _shown(hit: Hit, value: dict[str, Any], lines: Sequence[str], shown: int) -> str:
    change = f" ({hit.change.state})" if hit.change is not None else ""
    copy = f" ({hit.duplicate})" if hit.duplicate else ""
    head = f"{value['path']}:{value['startLine']}-{value['endLine']} {value['symbol']}{change}{copy}"
    rest = "" if shown == len(lines) else f"\n[{pluralize(len(lines) - shown, 'more line')}]"
    return "\n".join((f"{head}  [{value['citation']}]", *lines[:shown])) + rest


def _pathspecs(given: dict[str, Any]) -> list[str]:
    wanted = given.get("pathFilter")
    if wanted is None:
        return []
    if os.path.isabs(wanted) or ".." in wanted.split("/"):
        raise UsageError(f"{wanted!r} leads out of the project: give a path from its root")
    return [wanted if wanted.startswith(":") else f":(top){wanted}"]


def _files(report: Report) -> Callable[[Progress], None]:
    return lambda state: report(state.files_done, state.files_total, "files")


def _commits(report: Report, done: int, total: int) -> None:
    report(done, total, "commits")
