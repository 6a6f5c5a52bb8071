"""The project that a server serves; runs its tools and returns text and plain values.

Every call reads the current state of the repository. The index is reopened periodically to bound the memory
used by caches of many trees.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import ctx
from ctx.agents.mcp import tools
from ctx.agents.mcp.answers import code_search, explain, find_related, history_search
from ctx.agents.mcp.packs import list_packs, make_pack, read_pack
from ctx.agents.mcp.reading import read_lines
from ctx.agents.mcp.replies import Reply
from ctx.errors import CtxError, NotARepository
from ctx.git.repository import Repository, open_repository
from ctx.index import Index

_CALLS = 200
"""Number of calls after which the index is reopened."""

_SECONDS = 30.0
"""Seconds of indexing a history after which a question is answered from the newest commits."""

Report = Callable[[int, int, str], None]
"""Progress callback: done, total, unit (such as "files")."""


_TOOLS: dict[str, Callable[[Index, dict[str, Any]], Reply]] = {
    tools.CODE_SEARCH.name: code_search,
    tools.FIND_RELATED.name: find_related,
    tools.READ_LINES.name: read_lines,
    tools.HISTORY_SEARCH.name: history_search,
    tools.EXPLAIN.name: explain,
    tools.PACK.name: make_pack,
    tools.LIST_PACKS.name: list_packs,
    tools.READ_PACK.name: read_pack,
}


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
        index = self.index()
        session = index.session
        if progress is not None:
            session.on_progress = lambda state: progress(state.files_done, state.files_total, "files")
        deadline = time.monotonic() + _SECONDS

        def on_commits(done: int, total: int) -> bool:
            if progress is not None:
                progress(done, total, "commits")
            return time.monotonic() < deadline

        session.on_commits = on_commits
        try:
            return _TOOLS[name](index, arguments)
        finally:
            session.on_progress = session.on_commits = None

    def index(self) -> Index:
        """Return the open index, reopened if the directories of the project have changed. Raises CtxError."""
        if self._calls % _CALLS == 0 or not self._is_where_it_was():
            self.close()
        self._calls += 1
        index = self._index or self._open()
        # Drop the cached settings, so that changes take effect.
        index.repository.__dict__.pop("settings", None)
        return index

    def _open(self) -> Index:
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
        return index

    def _is_where_it_was(self) -> bool:
        """Return True if the opened directories are still in place.

        Otherwise the running git process would keep reading directories that were moved or removed.
        """
        try:
            return self._index is None or self.root is None or _places(self._index, self.root) == self._places
        except OSError:
            return False


def _root(repository: Repository) -> str:
    return os.path.realpath(repository.work_tree or repository.git_dir)


def _places(index: Index, root: str) -> list[tuple[int, int]]:
    """Return device and inode of the project's root, git directory and common directory."""
    found = [os.stat(place) for place in (root, index.repository.git_dir, index.repository.common_dir)]
    return [(one.st_dev, one.st_ino) for one in found]
