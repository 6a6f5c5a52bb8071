"""The correction that searches of one repository use, where the user wants one: made and kept up to date."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from ctx.errors import GitFailed, StoreUnusable
from ctx.git.unknown import FETCH_TREES
from ctx.ranking.correction import USUAL, Correction, fit_path, load
from ctx.ranking.past import History
from ctx.ranking.tuning import PLAIN, Tuning

if TYPE_CHECKING:
    from ctx.git.repository import Repository
    from ctx.storage.store import Store

_Stamp = tuple[int, int, int]


def why_unread(repository: Repository) -> str:
    """Why git cannot say what the commits of a history changed, and what mends it."""
    if repository.settings.is_partial_clone:
        return f"trees of earlier commits are not in this clone: `{FETCH_TREES}` gets them"
    return "the history cannot be read: `git fsck` looks for damage"


class Fitting:
    """The correction of one repository, read again where another process has replaced it."""

    def __init__(self, repository: Repository, store: Store) -> None:
        self._repository = repository
        self._store = store
        self._path = fit_path(store.path)
        self._stamp: _Stamp | None = None
        self._tuning: Tuning | None = None
        self._unread: str | None = None

    @property
    def unread(self) -> str | None:
        """Why there is no past to rank with, None where there is one, and what mends it."""
        self.tuning()
        return self._unread

    def tuning(self) -> Tuning:
        """What to rank with. Where no correction is kept, one with the usual weights is made."""
        stamp = self._now()
        if self._tuning is None or stamp != self._stamp:
            correction = load(self._path) or self._made(None)
            self._stamp = self._now()
            self._tuning = (
                PLAIN if correction is None else PLAIN._replace(correct=correction, name=correction.name)
            )
        return self._tuning

    def bring_up_to_date(self) -> None:
        """Let the past that is kept reach to HEAD; what was learned stays."""
        self._made(load(self._path))

    def _made(self, known: Correction | None) -> Correction | None:
        """A correction whose past ends with HEAD; the one that is known where HEAD has no history."""
        head = self._repository.checked_out()
        if head is None or head.commit is None or (known is not None and known.commit == head.commit):
            return known
        try:
            past = History(self._repository, head.commit).whole()
        except GitFailed:
            if known is None:
                self._unread = why_unread(self._repository)
            return known  # a history that cannot be read says nothing
        weights, tasks = (USUAL, 0) if known is None else (known.weights, known.tasks)
        made = Correction(past, weights, head.commit, tasks)
        try:
            self._store.write_file(self._path, made.encoded())
        except (OSError, StoreUnusable):
            pass  # this process has it
        return made

    def _now(self) -> _Stamp | None:
        try:
            found = os.stat(self._path)
        except OSError:
            return None
        return found.st_ino, found.st_size, found.st_mtime_ns
