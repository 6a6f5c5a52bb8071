"""The correction that searches of one repository use, if enabled: made and kept up to date."""

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
    """Return why git cannot list the changes of a history, with the remedy."""
    if repository.settings.is_partial_clone:
        return f"trees of earlier commits are not in this clone: `{FETCH_TREES}` gets them"
    return "the history cannot be read: `git fsck` looks for damage"


class Fitting:
    """The correction of one repository, reloaded when another process has replaced it."""

    def __init__(self, repository: Repository, store: Store) -> None:
        self._repository = repository
        self._store = store
        self._path = fit_path(store.path)
        self._stamp: _Stamp | None = None
        self._tuning: Tuning | None = None
        self._unread: str | None = None

    @property
    def unread(self) -> str | None:
        """Reason why there is no history to rank with, with the remedy; None if there is one."""
        self.tuning()
        return self._unread

    def tuning(self) -> Tuning:
        """Return the tuning of the ranking.

        If no correction is stored, one with the default weights is made.
        """
        stamp = self._now()
        if self._tuning is None or stamp != self._stamp:
            correction = load(self._path) or self._made(None)
            self._stamp = self._now()
            self._tuning = (
                PLAIN if correction is None else PLAIN._replace(correct=correction, name=correction.name)
            )
        return self._tuning

    def bring_up_to_date(self) -> None:
        """Extend the stored history to HEAD; learned weights are kept."""
        self._made(load(self._path))

    def _made(self, known: Correction | None) -> Correction | None:
        """Return a correction whose history ends with HEAD, or the known one if HEAD has no history."""
        head = self._repository.checked_out()
        if head is None or head.commit is None or (known is not None and known.commit == head.commit):
            return known
        try:
            past = History(self._repository, head.commit).whole()
        except GitFailed:
            if known is None:
                self._unread = why_unread(self._repository)
            return known  # without a readable history, keep what is known
        weights, tasks = (USUAL, 0) if known is None else (known.weights, known.tasks)
        made = Correction(past, weights, head.commit, tasks)
        try:
            self._store.write_file(self._path, made.encoded())
        except (OSError, StoreUnusable):
            pass  # the result is kept in this process
        return made

    def _now(self) -> _Stamp | None:
        try:
            found = os.stat(self._path)
        except OSError:
            return None
        return found.st_ino, found.st_size, found.st_mtime_ns
