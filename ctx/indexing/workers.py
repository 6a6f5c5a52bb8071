"""Spreading batches over processes. Loaded only where there is enough to do for several."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Iterable, Iterator, Sequence
from multiprocessing.connection import Connection, wait
from typing import TYPE_CHECKING

from ctx.errors import CtxError
from ctx.indexing.batch import Made
from ctx.indexing.worker import Place, Task, Worker
from ctx.storage.store import Store

if TYPE_CHECKING:
    from multiprocessing.context import ForkContext, SpawnContext

NICENESS = 10
"""How far a background run stands back for what the user does."""


class _Child:
    """A worker process, with a pipe of its own: when it is killed, however busy, its pipe says so."""

    def __init__(self, context: ForkContext | SpawnContext, place: Place, background: bool) -> None:
        self.connection, theirs = context.Pipe()
        self.process = context.Process(target=_serve, args=(theirs, place, background), daemon=True)
        self.process.start()
        theirs.close()


def _serve(connection: Connection, place: Place, background: bool) -> None:
    """What a worker process does: take tasks and give results until it is told to end."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C goes to all; the parent decides
    signal.signal(signal.SIGTERM, signal.SIG_DFL)  # the parent's way to end is not a worker's
    threading.Thread(target=_end_with_parent, daemon=True).start()
    if background:
        os.nice(NICENESS)
    worker: Worker | None = None
    while (task := connection.recv()) is not None:
        try:
            worker = worker or Worker(place, Store(place.repository.common_dir, (), place.permissions))
            answer: Made | Exception = worker.run(task)
        except Exception as error:
            answer = error
        connection.send(answer)


def _end_with_parent() -> None:
    """End this process as soon as its parent has ended, however that was.

    It would wait for work for ever, and hold the lock that it inherited.
    """
    parent = multiprocessing.parent_process()
    assert parent is not None, "a worker is the child of the process that started it"
    wait([parent.sentinel])
    os._exit(1)


def in_processes(
    tasks: Iterable[Task], place: Place, jobs: int, background: bool
) -> Iterator[tuple[Task, Made]]:
    """Run tasks in several processes; results come in the order of the tasks, a few tasks ahead at most."""
    # A forked child starts at once; elsewhere than on Linux the system's libraries do not survive a fork.
    context: ForkContext | SpawnContext = (
        multiprocessing.get_context("fork")
        if sys.platform == "linux"
        else multiprocessing.get_context("spawn")
    )
    children: list[_Child] = []
    try:
        for _ in range(jobs):
            children.append(_Child(context, place, background))
        yield from _share_out(tasks, [child.connection for child in children])
        for child in children:
            child.connection.send(None)
    except (EOFError, ConnectionError):
        for child in children:
            child.process.terminate()
        raise CtxError(
            "a worker process was ended from outside, perhaps for want of memory: run the command again, "
            "it goes on from what is done; --jobs 1 needs the least memory"
        ) from None
    except BaseException:
        for child in children:
            child.process.terminate()
        raise
    finally:
        for child in children:
            child.process.join()
            child.connection.close()


def _share_out(tasks: Iterable[Task], connections: Sequence[Connection]) -> Iterator[tuple[Task, Made]]:
    """Keep the workers busy. Raises EOFError or ConnectionError when one of them is gone."""
    waiting = enumerate(tasks)
    idle = list(connections)
    busy: dict[Connection, tuple[int, Task]] = {}
    done: dict[int, tuple[Task, Made]] = {}
    wanted = 0
    while True:
        # Before anything is sent: a worker that was slow leaves so much done that there is room for no more.
        while wanted in done:
            yield done.pop(wanted)
            wanted += 1
        # A task is sent only to one that waits for it, so that nobody waits for the other to read.
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
