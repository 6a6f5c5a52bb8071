"""Replay of commits: search for each subject in the parent tree, with one or more settings."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from ctx.errors import Damaged, GitFailed
from ctx.search.evaluation.commits import UNKNOWN, Commit, commits
from ctx.search.evaluation.measures import Shown
from ctx.search.evaluation.parents import Parents
from ctx.search.evaluation.settings import Setting
from ctx.search.evaluation.tasks import Task, task_of
from ctx.search.hits import FileFilter, search_view, texts_of_rows
from ctx.search.session import SearchSession
from ctx.storage.views.view import View

DEPTH = 12
"""Number of results that are graded; agents read about a dozen."""
MOST_EXAMINED = 20
"""Maximum number of commits examined per requested task."""
TWICE = "asks what another commit asked"


class Graded(NamedTuple):
    """A task with the results of each setting, best first."""

    task: Task
    shown: list[list[Shown]]


class Replay:
    """Tasks from the commits before a revision, newest first. `left_out` counts skipped commits by reason."""

    def __init__(
        self,
        session: SearchSession,
        start: bytes,
        most: int,
        settings: Sequence[Setting],
        progress: Callable[[int], None] = lambda _: None,
    ) -> None:
        self._session = session
        self._start = start
        self._most = most
        self._settings = settings
        self._progress = progress
        self._parents = Parents(session)
        self.examined = 0
        self.left_out: Counter[str] = Counter()

    def run(self) -> Iterator[Graded]:
        """Yield each task with its results lazily; no work is done ahead of the consumer."""
        asked: set[str] = set()
        done = 0
        for commit in commits(self._session.repository, self._start, self._most * MOST_EXAMINED):
            if done == self._most:
                break
            self.examined += 1
            if commit.left_out is not None:
                self.left_out[commit.left_out] += 1
                continue
            try:
                graded = self._graded(commit, asked)
            except (Damaged, GitFailed, KeyError):
                graded = UNKNOWN  # objects are missing in this clone, or were removed meanwhile
            if isinstance(graded, str):
                self.left_out[graded] += 1
                continue
            done += 1
            self._progress(done)
            yield graded

    def _graded(self, commit: Commit, asked: set[str]) -> Graded | str:
        view = self._parents.view(self._session.repository.commit_info(commit.parent).tree)
        task = task_of(commit, view, self._parents.records(view))
        if isinstance(task, str):
            return task
        if task.query.lower() in asked:
            return TWICE
        asked.add(task.query.lower())
        return Graded(task, [self._shown(view, task, setting) for setting in self._settings])

    def _shown(self, view: View, task: Task, setting: Setting) -> list[Shown]:
        filters = FileFilter(self._session.repository)
        tuning = setting.tuning._replace(text_of=texts_of_rows(self._parents.records, self._session.text))
        found = search_view(view, self._parents.records(view), task.query, DEPTH, filters, tuning=tuning)
        return [Shown(tuple(map(os.fsencode, (hit.path, *hit.also_at))), *hit.lines) for hit in found.hits]
