"""Distribution of batches over processes. Imported only if there is enough work for several."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from typing import TYPE_CHECKING

from ctx.errors import CtxError
from ctx.git.repository import Repository
from ctx.indexing.batch import Batch, BatchResult, Worker, WorkerSetup
from ctx.storage.store import Store

if TYPE_CHECKING:
    from multiprocessing.context import ForkContext, SpawnContext

NICENESS = 10
"""Niceness of the workers of a background run."""
_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""Signals that end a process."""
_PATIENCE = 5.0
"""Seconds that a worker has to end before it is killed."""


class _Child:
    """A worker process with its own pipe, which reports end of file if the process is killed."""

    def __init__(self, context: ForkContext | SpawnContext, setup: WorkerSetup, background: bool) -> None:
        self.connection, theirs = context.Pipe()
        self.process = context.Process(target=_serve, args=(theirs, setup, background), daemon=True)
        self.process.start()
        theirs.close()


def _serve(connection: Connection, setup: WorkerSetup, background: bool) -> None:
    """Run tasks from the connection until it sends None: the main function of a worker process."""
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)  # a terminal sends these to the whole group; the parent decides
    signal.signal(signal.SIGTERM, signal.SIG_DFL)  # do not run the parent's handler
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _ENDING)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    if background:
        os.nice(NICENESS)
    worker: Worker | None = None
    while (task := connection.recv()) is not None:
        try:
            if worker is None:
                store = Store(setup.location.common_dir, (), setup.permissions)
                worker = Worker(Repository(setup.location), store, setup.descriptor)
            answer: BatchResult | Exception = worker.run(task)
        except Exception as error:
            answer = error
        connection.send(answer)


def _end_with_parent() -> None:
    """Exit as soon as the parent process has ended.

    Otherwise this process would wait for work forever, and hold the lock that it inherited.
    """
    parent = multiprocessing.parent_process()
    assert parent is not None, "a worker is the child of the process that started it"
    wait([parent.sentinel])
    os._exit(1)


def in_processes(
    tasks: Iterable[Batch], setup: WorkerSetup, jobs: int, background: bool
) -> Iterator[tuple[Batch, BatchResult]]:
    """Run tasks in several processes; yield results in the order of the tasks, a few tasks ahead at most.

    Raises CtxError if a worker process was killed.
    """
    # Fork starts fast; system libraries other than Linux's do not survive a fork.
    context: ForkContext | SpawnContext = (
        multiprocessing.get_context("fork")
        if sys.platform == "linux"
        else multiprocessing.get_context("spawn")
    )
    if sys.platform != "linux":
        resource_tracker.ensure_running()  # its start unblocks signals
    children: list[_Child] = []
    try:
        with _signals_wait():
            for _ in range(jobs):
                children.append(_Child(context, setup, background))
        yield from _share_out(tasks, [child.connection for child in children])
        for child in children:
            child.connection.send(None)
    except (EOFError, ConnectionError):
        for child in children:
            child.process.terminate()
        raise CtxError(
            "a worker process was killed, perhaps because memory ran out: run the command again, "
            "it continues from what is done; --jobs 1 needs the least memory"
        ) from None
    except BaseException:
        for child in children:
            child.process.terminate()
        raise
    finally:
        for child in children:
            child.process.join(_PATIENCE)
            if child.process.is_alive():
                child.process.kill()
                child.process.join()
            child.connection.close()


@contextmanager
def _signals_wait() -> Iterator[None]:
    """Block signals that end a process, here and in started processes, until the block ends.

    A new process has the handlers of its parent until it sets its own, and Python drops pending signals
    after a fork: a signal in between would be lost.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _ENDING)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _share_out(
    tasks: Iterable[Batch], connections: Sequence[Connection]
) -> Iterator[tuple[Batch, BatchResult]]:
    """Keep the workers busy and yield results. Raises EOFError or ConnectionError if one of them is gone."""
    waiting = enumerate(tasks)
    idle = list(connections)
    busy: dict[Connection, tuple[int, Batch]] = {}
    done: dict[int, tuple[Batch, BatchResult]] = {}
    wanted = 0
    while True:
        # Yield before sending: results held back by a slow worker may fill the queue.
        while wanted in done:
            yield done.pop(wanted)
            wanted += 1
        # Send a task only to an idle worker: otherwise both ends could block on writing.
        while idle and len(busy) + len(done) < 3 * len(connections) and (following := next(waiting, None)):
            busy[idle[-1]] = following
            idle.pop().send(following[1])
        if not busy:
            return
        for connection in wait(list(busy)):
            assert isinstance(connection, Connection)
            answer = connection.recv()
            if isinstance(answer, Exception):
                raise answer
            number, task = busy.pop(connection)
            done[number] = task, answer
            idle.append(connection)
