"""A correction of the ranker's scores by the history of the files in a repository.

History is evidence from outside the tree, so a search uses it only if `ctx.fit` is set, and reports it. The
weights of the history are the same in every repository.
"""

from __future__ import annotations

import os
from contextlib import suppress
from typing import NamedTuple

import numpy as np

from ctx.errors import Damaged, Decoding, GitFailed, StoreUnusable
from ctx.git.repository import Repository
from ctx.git.unknown import FETCH_TREES
from ctx.ranking.file_history import FileHistory, history_of
from ctx.ranking.query import Query
from ctx.ranking.tuning import PLAIN, Tuning
from ctx.storage.arrays import Arrays, Floats, Ints, encode, expect, map_file
from ctx.storage.store import Store
from ctx.storage.views.view import View

FORMAT = 3
"""Version of the stored file. Files of version 2 could have learned weights; they are not read."""


class Correction(NamedTuple):
    """A history; `commit` is the last commit in it."""

    past: FileHistory
    commit: bytes

    def correct(self, view: View, query: Query, files: Ints, scores: Floats) -> Floats:
        """Return the corrected scores of candidate files, both (n,)."""
        return scores + self.past.gains([view.path(file) for file in files.tolist()], query)

    @property
    def name(self) -> str:
        """Name of the correction in an answer."""
        return f"past {self.commit.hex()[:12]}"

    def encoded(self) -> bytes:
        """Return the content of the file that stores it."""
        return encode(self.past._asdict(), {"format": FORMAT, "commit": self.commit})


def fit_path(store: str) -> str:
    """Return the path of a repository's correction below the directory of its index."""
    return os.path.join(store, "fit")


def load(path: str) -> Correction | None:
    """Return the correction in a file; None if it is missing, damaged, or of another format."""
    with suppress(OSError, Damaged), Decoding("a fit"):
        arrays, meta = map_file(path)
        expect(arrays, _ARRAYS)
        if meta["format"] == FORMAT and isinstance(meta["commit"], bytes):
            return Correction(_past(arrays), meta["commit"])
    return None


class RepositoryCorrection:
    """The correction that searches of one repository use, reloaded when another process has replaced it."""

    def __init__(self, repository: Repository, store: Store) -> None:
        self._repository = repository
        self._store = store
        self._path = fit_path(store.path)
        self._stamp: tuple[int, int, int] | None = None
        self._tuning: Tuning | None = None
        self._unread: str | None = None

    @property
    def unread(self) -> str | None:
        """Reason why there is no history to rank with, with the remedy; None if there is one."""
        self.tuning()
        return self._unread

    def tuning(self) -> Tuning:
        """Return the tuning of the ranking. If no history is stored, it is read from git and stored."""
        stamp = self._now()
        if self._tuning is None or stamp != self._stamp:
            correction = load(self._path) or self._updated(None)
            self._stamp = self._now()
            self._tuning = (
                PLAIN
                if correction is None
                else PLAIN._replace(correct=correction.correct, name=correction.name)
            )
        return self._tuning

    def bring_up_to_date(self) -> None:
        """Extend the stored history to HEAD."""
        self._updated(load(self._path))

    def _updated(self, known: Correction | None) -> Correction | None:
        """Return a correction whose history ends with HEAD, or the known one if HEAD has no history."""
        head = self._repository.checked_out()
        if head is None or head.commit is None or (known is not None and known.commit == head.commit):
            return known
        try:
            past = history_of(self._repository, head.commit)
        except GitFailed:
            if known is None:
                self._unread = _why_unread(self._repository)
            return known  # without a readable history, keep what is known
        updated = Correction(past, head.commit)
        with suppress(OSError, StoreUnusable):  # the result is kept in this process
            self._store.write_file(self._path, updated.encoded())
        return updated

    def _now(self) -> tuple[int, int, int] | None:
        try:
            found = os.stat(self._path)
        except OSError:
            return None
        return found.st_ino, found.st_size, found.st_mtime_ns


_ARRAYS = {
    "path": ("<u8", ()),
    "changed": ("<f4", ()),
    "said": ("<f4", ()),
    "term": ("<i8", ()),
    "place": ("<u4", ()),
    "times": ("<f4", ()),
}


def _past(arrays: Arrays) -> FileHistory:
    past = FileHistory(**{name: arrays[name] for name in FileHistory._fields})
    if not (
        len(past.path) == len(past.changed) == len(past.said)
        and len(past.term) == len(past.place) == len(past.times)
        and int(past.place.max(initial=0)) < max(1, len(past.path))
        and all(bool((one[:-1] <= one[1:]).all()) for one in (past.path, past.term))
        and all(bool(np.isfinite(one).all()) for one in (past.changed, past.said, past.times))
    ):
        raise Damaged("the arrays of a fit do not fit each other")
    return past


def _why_unread(repository: Repository) -> str:
    """Return why git cannot list the changes of a history, with the remedy."""
    if repository.settings.is_partial_clone:
        return f"trees of earlier commits are not in this clone: `{FETCH_TREES}` gets them"
    return "the history cannot be read: `git fsck` looks for damage"
