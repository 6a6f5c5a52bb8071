"""Concurrent and killed processes in one repository: no data is lost and no lock stays held."""

from __future__ import annotations

import contextlib
import json
import multiprocessing
import os
import random
import signal
import threading
import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path

import pytest
from projects import QUERIES, project, source
from repositories import Repo
from ways import ask, finish, payloads, program, start, store

import ctx
from ctx.indexing import workers
from ctx.indexing.lock import IndexLock, TreeLock
from ctx.indexing.reports import ALREADY_INDEXED, INDEXING_IN_PROGRESS
from ctx.maintenance.removal import remove_tree
from ctx.storage.store import Store

FEW = (QUERIES[0], QUERIES[2])


def fresh(repo: Repo, tmp_path: Path, name: str = "fresh") -> object:
    """Return the answers of an index that was built at once."""
    repo.git("clone", "--quiet", str(repo.path), str(tmp_path / name))
    return ask(tmp_path / name, FEW, [()])


def is_held(repo: Repo) -> bool:
    """Return True if a process holds the lock."""
    lock = IndexLock(Store(str(repo.path / ".git")))
    with lock:
        return not lock.acquire(5.0)


@pytest.mark.long
def test_many_processes_index_and_search_at_once(make_repo: Callable[..., Repo], tmp_path: Path) -> None:
    repo = make_repo()
    repo.commit(project(21, 120))
    repo.git("worktree", "add", "--quiet", "-b", "other", str(tmp_path / "tree"))
    other = Repo(tmp_path / "tree")
    other.commit(project(22, 40))
    running = []
    for _ in range(2):
        for place in (repo.path, other.path):
            running.append(start("index", "--json-output", cwd=place))
            running.append(start("search", FEW[0], "-z", cwd=place))
    runs = [finish(process) for process in running]
    assert [(run.status, run.err) for run in runs] == [(0, "")] * len(runs)
    for number in (0, 1):
        searched = {run.out for run in runs[1 + 2 * number :: 4]}
        assert len(searched) == 1
    assert ask(repo.path, FEW, [()]) == fresh(repo, tmp_path)
    with ctx.open(repo.path) as one, ctx.open(other.path) as two:
        assert one.index().skipped == two.index().skipped == ALREADY_INDEXED
        assert IndexLock(one.session.store).requests() == []


def times_made(path: Path) -> float:
    """Return how often a document of an index was chunked and embedded on average, or slightly more.

    Each is recorded when it is built. The first process to do so records those stored by others, too.
    """
    (notes,) = (path / ".git/ctx/documents").iterdir()
    content = notes.read_bytes()
    noted = [content[place : place + 8] for place in range(28, len(content), 28)]
    return len(noted) / len(set(noted))


def test_first_searches_at_once_share_one_run(make_repo: Callable[..., Repo], tmp_path: Path) -> None:
    repo = make_repo()
    repo.commit(project(30, 600))
    expected = fresh(repo, tmp_path)
    runs = [finish(process) for process in [start("search", FEW[0], "-z", cwd=repo.path) for _ in range(6)]]
    assert [(run.status, run.err) for run in runs] == [(0, "")] * len(runs)
    assert len({run.out for run in runs}) == 1
    assert times_made(repo.path) < 2
    assert len(list((repo.path / ".git/ctx/views").glob("*/segment-*"))) == 1
    assert list((repo.path / ".git/ctx/tmp").iterdir()) == []
    assert ask(repo.path, FEW, [()]) == expected


@pytest.mark.long
def test_first_searches_of_a_work_tree_and_indexing_runs_share_one_run(
    make_repo: Callable[..., Repo], tmp_path: Path
) -> None:
    repo = make_repo()
    repo.commit(project(30, 600))
    expected = fresh(repo, tmp_path)
    repo.write({"later.py": "def later():\n    return 1\n"})
    commands = [("index",), ("search", FEW[0], "-z", "--no-overlay"), ("search", FEW[0], "-z")] * 3
    runs = [finish(process) for process in [start(*command, cwd=repo.path) for command in commands]]
    assert [(run.status, run.err) for run in runs] == [(0, "")] * len(runs)
    for number in (1, 2):
        assert len({run.out for run in runs[number::3]}) == 1
    assert times_made(repo.path) < 3  # there are two trees, and nine processes
    repo.git("clean", "--quiet", "--force")
    assert ask(repo.path, FEW, [()]) == expected


@pytest.mark.long
def test_searches_use_the_results_of_a_background_run(make_repo: Callable[..., Repo], tmp_path: Path) -> None:
    repo = make_repo()
    repo.commit(project(32, 600))
    expected = fresh(repo, tmp_path)
    assert finish(start("hook-run", cwd=repo.path)).status == 0
    while not list((repo.path / ".git").glob("ctx/tmp/*.lock")):
        time.sleep(0.005)
    runs = [finish(process) for process in [start("search", FEW[0], "-z", cwd=repo.path) for _ in range(2)]]
    assert [(run.status, run.err) for run in runs] == [(0, "")] * len(runs)
    assert times_made(repo.path) < 2
    assert ask(repo.path, FEW, [()]) == expected


@pytest.mark.long
def test_another_search_continues_after_one_was_killed(
    make_repo: Callable[..., Repo], tmp_path: Path
) -> None:
    repo = make_repo()
    repo.commit(project(31, 600))
    expected = fresh(repo, tmp_path)
    first = start("search", FEW[0], "-z", cwd=repo.path)
    objects = repo.path / ".git/ctx/objects"
    while not list(objects.rglob("*/*/*")):
        assert first.poll() is None
        time.sleep(0.005)
    others = [start("search", FEW[0], "-z", cwd=repo.path) for _ in range(3)]
    first.kill()
    finish(first)
    runs = [finish(process) for process in others]
    assert [(run.status, run.err) for run in runs] == [(0, "")] * len(runs)
    assert times_made(repo.path) < 2
    assert ask(repo.path, FEW, [()]) == expected


@pytest.mark.long
def test_a_search_does_not_wait_for_a_stopped_one(make_repo: Callable[..., Repo]) -> None:
    repo = make_repo()
    repo.commit(project(24, 30))
    with ctx.open(repo.path) as index, TreeLock(index.session.store, repo.id("HEAD^{tree}")):
        assert program("search", FEW[0], "-z", cwd=repo.path).status == 0


def test_a_request_is_served_by_the_process_that_indexes(make_repo: Callable[..., Repo]) -> None:
    repo = make_repo()
    repo.commit(project(23, 60))
    first = repo.id("HEAD^{tree}")
    repo.commit({"later.py": "def later():\n    return 1\n"})
    second = repo.id("HEAD^{tree}")
    with ctx.open(repo.path) as holder:
        lock = IndexLock(holder.session.store)
        assert lock.acquire()
        with lock:
            run = program("index", "--json-output", cwd=repo.path)
            assert run.status == 0
            said = [json.loads(line) for line in run.out.splitlines()]
            assert {"type": "skipped", "reason": INDEXING_IN_PROGRESS}.items() <= said[-1].items()
            assert lock.requests() == [second]
            assert holder.session.snapshots.tree(second) is None
        assert holder.index("HEAD~").tree == first.hex()
        assert holder.session.snapshots.tree(second) is not None
        assert lock.requests() == []
        assert [entry.trigger for entry in holder.session.snapshots.log(second)] == ["wish"]
        assert holder.index().skipped == ALREADY_INDEXED


def test_requests_that_cannot_be_served_are_dropped(make_repo: Callable[..., Repo]) -> None:
    repo = make_repo()
    repo.commit(project(23, 20))
    blob = repo.git("rev-parse", f"HEAD:{next(iter(project(23, 20)))}").decode()
    requests = repo.path / ".git" / "ctx" / "wishes"
    requests.mkdir(parents=True)
    for name in ("ab" * 20, blob, "abcd", "no tree at all"):
        (requests / name).touch()
    run = program("index", cwd=repo.path)
    assert (run.status, run.err) == (0, "")
    assert [file.name for file in requests.iterdir()] == ["no tree at all"]


def test_a_request_that_cannot_be_removed_is_read_once(make_repo: Callable[..., Repo]) -> None:
    repo = make_repo()
    repo.commit({"a.py": "x = 1\n"})
    for name in (repo.id("HEAD^{tree}"), b"\x01" * 20):
        (repo.path / ".git/ctx/wishes" / name.hex() / "full").mkdir(parents=True)
    run = program("index", cwd=repo.path)
    assert run.status == 0, run.err
    assert ctx.open(repo.path).index().skipped == ALREADY_INDEXED


def test_a_search_waits_for_the_lock_only_briefly(make_repo: Callable[..., Repo]) -> None:
    repo = make_repo()
    repo.commit(project(24, 30))
    with ctx.open(repo.path) as holder:
        lock = IndexLock(holder.session.store)
        assert lock.acquire()
        with lock:
            answers = ask(repo.path, FEW, [()])
    assert all(answer[-1] for answer in answers.values())


@pytest.mark.long
def test_indexing_continues_after_a_kill_at_any_point(make_repo: Callable[..., Repo], tmp_path: Path) -> None:
    repo = make_repo()
    repo.commit(project(25, 400))
    expected = fresh(repo, tmp_path)
    whole = payloads(tmp_path / "fresh")
    seed = random.Random(1)
    kept = 0
    for attempt in range(20):
        process = start("index", "--jobs", "1" if attempt % 3 else "2", cwd=repo.path, start_new_session=True)
        time.sleep(seed.uniform(0.05, 0.7))
        process.send_signal(signal.SIGKILL if attempt % 2 else signal.SIGTERM)
        finish(process)
        if (repo.path / ".git/ctx/objects").exists():
            stored = payloads(repo.path)
            assert stored.items() <= whole.items()
            assert len(stored) >= kept, "what was stored stays"
            kept = len(stored)
    assert not is_held(repo), "a killed run leaves nobody behind who holds the lock"
    with ctx.open(repo.path) as index:
        report = index.index(jobs=1)
    if report.skipped is None:
        assert report.reused_clusters >= kept
    assert ask(repo.path, FEW, [()]) == expected
    assert payloads(repo.path) == whole


def children(pid: int) -> list[int]:
    """Return the children of a process, from /proc."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                words = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if int(words[1]) == pid:
                found.append(int(entry.name))
    return found


def running(pid: int) -> bool:
    """Return True if a process exists and is not a zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def wait_for(condition: Callable[[], object], seconds: float = 30.0) -> None:
    """Wait until a condition is true."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it never came"
        time.sleep(0.01)


def busy(repo: Repo) -> tuple[object, list[int]]:
    """Return an indexing run with busy worker processes, and these."""
    process = start("index", "--jobs", "2", cwd=repo.path, start_new_session=True)
    wait_for(lambda: (repo.path / ".git/ctx/objects").exists() or process.poll() is not None)
    workers = [pid for pid in children(process.pid) if b"ctx" in Path(f"/proc/{pid}/cmdline").read_bytes()]
    return process, workers


def test_workers_end_with_the_run_that_started_them(make_repo: Callable[..., Repo]) -> None:
    if not Path("/proc/self/stat").exists():
        return
    repo = make_repo()
    repo.commit(project(26, 900))
    process, workers = busy(repo)
    below = [child for worker in workers for child in children(worker)]
    process.kill()  # type: ignore[attr-defined]
    finish(process)  # type: ignore[arg-type]
    wait_for(lambda: not any(running(pid) for pid in [*workers, *below]))
    assert not is_held(repo)


def test_a_killed_worker_is_reported_and_the_next_run_continues(make_repo: Callable[..., Repo]) -> None:
    if not Path("/proc/self/stat").exists():
        return
    repo = make_repo()
    repo.commit(project(27, 900))
    process, workers = busy(repo)
    for pid in workers[:1]:
        if running(pid):
            os.kill(pid, signal.SIGKILL)
    run = finish(process)  # type: ignore[arg-type]
    assert run.status in (0, 128)  # 0: it had been done just before
    if run.status:
        assert "--jobs 1" in run.err
        assert "unexpected" not in run.err
    again = program("index", cwd=repo.path)
    assert (again.status, again.err) == (0, "")


def test_an_interrupted_run_prints_one_message(make_repo: Callable[..., Repo]) -> None:
    repo = make_repo()
    repo.commit(project(28, 900))
    process, _ = busy(repo)
    os.killpg(process.pid, signal.SIGINT)  # type: ignore[attr-defined]
    run = finish(process)  # type: ignore[arg-type]
    assert run.status in (0, 130)
    assert "Traceback" not in run.err
    assert not is_held(repo)
    assert program("index", cwd=repo.path).status == 0


@pytest.mark.long
def test_removing_while_others_read_and_write(make_repo: Callable[..., Repo], tmp_path: Path) -> None:
    repo = make_repo()
    repo.commit(project(29, 60))
    expected = fresh(repo, tmp_path)
    seed = random.Random(29)
    processes = []
    for _ in range(4):
        processes.append(start("search", FEW[0], "--json-output", "--no-content", cwd=repo.path))
        time.sleep(seed.uniform(0, 0.2))
        processes.append(start("remove-index", cwd=repo.path))
    for run in [finish(process) for process in processes]:
        assert run.status == 0 or "another process is indexing" in run.err, run.err
    assert ask(repo.path, FEW, [()]) == expected


def test_removing_a_directory_that_another_process_writes_to(tmp_path: Path) -> None:
    """A search writes files to `tmp` while the directory is removed."""
    folder = tmp_path / "tmp"

    def write() -> None:
        for number in range(500):
            with contextlib.suppress(FileNotFoundError):
                (folder / f"{number}").touch()

    for _ in range(20):
        folder.mkdir()
        writer = threading.Thread(target=write)
        writer.start()
        remove_tree(os.fspath(folder))
        writer.join()
        assert not folder.exists()


def test_a_reader_sees_the_requested_tree_during_commits(make_repo: Callable[..., Repo]) -> None:
    repo = make_repo()
    files = project(30, 40)
    repo.commit(files)
    seed = random.Random(30)
    with ctx.open(repo.path) as reader:
        for name in list(files)[:4]:
            repo.commit({name: source(seed, name.rpartition(".")[2])})
            answer = reader.search(FEW[0])
            assert answer.tree == repo.id("HEAD^{tree}").hex()
            assert [answer.hits] == [reader.search(FEW[0], revision="HEAD").hits]
    assert store(repo.path).exists()


def test_a_slow_worker_delays_no_other_task() -> None:
    """The others finish all tasks that they may take ahead; then the slow one finishes."""
    ends = [multiprocessing.Pipe() for _ in range(2)]

    def serve(connection: Connection) -> None:
        while (task := connection.recv()) is not None:
            if task == 0:
                time.sleep(0.5)
            connection.send(task)

    threads = [threading.Thread(target=serve, args=(theirs,)) for _, theirs in ends]
    for thread in threads:
        thread.start()
    shared = workers._share_out(range(40), [ours for ours, _ in ends])  # type: ignore[arg-type]
    assert [(task, made) for task, made in shared] == [(number, number) for number in range(40)]
    for ours, _ in ends:
        ours.send(None)
    for thread in threads:
        thread.join()
