"""Spreading batches over processes."""

from __future__ import annotations

import multiprocessing
import os
import sys
import threading
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import connection
from typing import NamedTuple

from ctx.cluster_store import ClusterStore
from ctx.clusters import Document
from ctx.descriptor import Descriptor
from ctx.embed.wordtable import word_table
from ctx.errors import CtxError
from ctx.git.place import Place as RepositoryPlace
from ctx.git.repository import Repository
from ctx.indexing.batch import Made, make_batch
from ctx.indexing.documents import Maker
from ctx.partition import Cluster
from ctx.store import Store
from ctx.views.segments import Key

NICENESS = 10
"""How far a background run stands back for what the user does."""


class Task(NamedTuple):
    """A batch for a worker: clusters to make, and documents in them that are known already."""

    clusters: list[Cluster]
    known: Mapping[Key, Document]


class Place(NamedTuple):
    """Where a worker finds its repository and its store."""

    repository: RepositoryPlace
    descriptor: Descriptor


class Worker:
    """Makes batches in this process."""

    def __init__(self, place: Place, store: Store) -> None:
        repository = Repository(place.repository)
        self.maker = Maker(repository, word_table())
        self._clusters = ClusterStore(store, place.descriptor)
        self._descriptor = str(place.descriptor)

    def run(self, task: Task) -> Made:
        """Make and store the clusters of a batch."""
        return make_batch(task.clusters, task.known, self.maker, self._clusters.write, self._descriptor)


_worker: Worker | None = None


def _start(place: Place, background: bool) -> None:
    global _worker
    threading.Thread(target=_end_with_parent, daemon=True).start()
    if background:
        os.nice(NICENESS)
    _worker = Worker(place, Store(place.repository.common_dir))


def _end_with_parent() -> None:
    """End this process as soon as its parent has ended, however that was.

    It would wait for work for ever, and hold the lock that it inherited.
    """
    parent = multiprocessing.parent_process()
    assert parent is not None, "a worker is the child of the process that started it"
    connection.wait([parent.sentinel])
    os._exit(1)


def _run(task: Task) -> Made:
    assert _worker is not None, "a worker process runs tasks only after it has started"
    return _worker.run(task)


def in_processes(
    tasks: Iterable[Task], place: Place, jobs: int, background: bool
) -> Iterator[tuple[Task, Made]]:
    """Run tasks in several processes; results come in the order of the tasks, a few tasks ahead at most."""
    # A forked child starts at once; elsewhere than on Linux the system's libraries do not survive a fork.
    context = multiprocessing.get_context("fork" if sys.platform == "linux" else "spawn")
    with ProcessPoolExecutor(
        jobs, mp_context=context, initializer=_start, initargs=(place, background)
    ) as pool:
        running: deque[tuple[Task, Future[Made]]] = deque()
        try:
            for task in tasks:
                running.append((task, pool.submit(_run, task)))
                if len(running) > 2 * jobs:
                    first, future = running.popleft()
                    yield first, future.result()
            while running:
                first, future = running.popleft()
                yield first, future.result()
        except BrokenProcessPool:
            raise CtxError(
                "a worker process was ended from outside, perhaps for want of memory: run the command again, "
                "it goes on from what is done; --jobs 1 needs the least memory"
            ) from None
        finally:
            for _, future in running:
                future.cancel()
