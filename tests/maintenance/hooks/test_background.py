"""Background runs of the real program: indexed trees, the log, and failures."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from recorder import put_shims
from repositories import Repo
from waiting import BOUND, ROOT, SCRIPT, settled, store_of, wait_for

import ctx
from ctx.errors import GitFailed
from ctx.indexing.lock import IndexLock
from ctx.maintenance.background import log, run
from ctx.maintenance.background.run_lock import RunLock, current_run
from ctx.storage.json_lines import LARGEST
from ctx.storage.store import Store


@pytest.fixture
def alive(repo: Repo) -> Repo:
    """Return a repository with one commit whose hooks start the installed program."""
    repo.commit({"a.py": "def one():\n    return 1\n"})
    put_shims(repo, SCRIPT)
    return repo


def covered(repo: Repo, revision: str) -> bool:
    with ctx.open(repo.path) as index:
        return index.session.snapshots.covered(index.resolve(revision).tree) is not None


def hook_run(repo: Repo, *arguments: str) -> None:
    subprocess.run([SCRIPT, "hook-run", *arguments], cwd=repo.path, check=True, timeout=BOUND)


def test_a_commit_is_covered_and_logged(alive, git_ctx):
    before = int(time.time())
    alive.commit({"b.py": "def two():\n    return 2\n"})
    (entry,) = settled(alive)
    assert before <= entry.time <= time.time()
    assert (entry.trigger, entry.events, entry.outcome, entry.error) == ("post-commit", 1, "done", None)
    (tree,) = entry.trees
    assert (tree.revision, tree.skipped) == ("main", None)
    assert tree.tree == alive.git("rev-parse", "HEAD^{tree}").decode()
    assert tree.embedded_chunks >= 1
    with ctx.open(alive.path) as index:
        (made,) = index.session.snapshots.log(bytes.fromhex(tree.tree))
    assert (made.trigger, made.commit) == ("post-commit", alive.id().hex())
    text = git_ctx("status", "--log")
    assert (text.status, text.err) == (0, "")
    (line,) = text.out.splitlines()
    assert f"post-commit: main (tree {tree.tree[:12]})" in line
    (log,) = git_ctx("status", "--log", "--json-output").json_lines
    assert log["type"] == "log_result"
    assert log["running"] is None
    assert log["runs"][0]["trees"][0]["embeddedChunks"] == tree.embedded_chunks


def test_all_work_trees_are_covered_and_one_more_commit_is_not_missed(alive, tmp_path):
    alive.git("worktree", "add", "-q", str(tmp_path / "linked"), "-b", "linked")
    (tmp_path / "linked" / "c.py").write_text("def three():\n    return 3\n")
    alive.git("-C", str(tmp_path / "linked"), "add", ".")
    alive.git("-C", str(tmp_path / "linked"), "commit", "-q", "-m", "three")
    for number in range(5):
        alive.commit({"b.py": f"def number():\n    return {number}\n"})
    wait_for(lambda: sum(entry.events for entry in settled(alive)) == 7, "seven events")
    runs = settled(alive)
    assert {entry.outcome for entry in runs} == {"done"}
    assert covered(alive, "main")
    assert covered(alive, "linked")


def test_only_what_is_checked_out_is_covered(alive):
    lock = RunLock(str(store_of(alive)))
    alive.git("config", "ctx.program", "/bin/false")
    alive.commit({"b.py": "def two():\n    return 2\n"})
    alive.commit({"b.py": "def two():\n    return 3\n"})
    hook_run(alive)
    (entry,) = settled(alive)
    assert len(entry.trees) == 1
    assert covered(alive, "HEAD")
    assert not covered(alive, "HEAD~1")
    assert not lock.has_events()


def test_events_during_a_run_are_handled_by_it(alive):
    store = store_of(alive)
    store.mkdir()
    busy = RunLock(str(store))
    assert busy.acquire()
    busy.begin(log.Start(1, os.getpid(), "post-merge"))
    for _ in range(3):
        hook_run(alive)
    wait_for(lambda: (store / "events").exists() and (store / "events").stat().st_size == 3, "three notes")
    assert log.read(str(store)) == []
    assert busy.has_events()
    assert current_run(str(store)) == (log.Start(1, os.getpid(), "post-merge"), True)
    busy.release()
    hook_run(alive)
    wait_for(lambda: sum(entry.events for entry in settled(alive)) == 4, "all four notes in the log")


def test_many_at_once_lose_nothing(alive):
    alive.git("config", "ctx.program", "/bin/false")
    started = []
    for number in range(8):
        alive.commit({"b.py": f"def number():\n    return {number}\n"})
        started.append(subprocess.Popen([SCRIPT, "hook-run"], cwd=alive.path))
    assert [process.wait(BOUND) for process in started] == [0] * 8
    wait_for(lambda: sum(entry.events for entry in settled(alive)) == 8, "eight events")
    assert covered(alive, "HEAD")


def test_a_run_waits_for_a_process_that_indexes(alive):
    alive.git("config", "ctx.program", "/bin/false")
    with ctx.open(alive.path) as index, IndexLock(index.session.store) as lock:
        assert lock.acquire()
        hook_run(alive)
        wait_for(lock.requests, "a request")
        assert current_run(index.session.store.path)[1]
    (entry,) = settled(alive)
    assert [tree.skipped for tree in entry.trees] == [None]
    assert covered(alive, "HEAD")


def test_a_killed_run_is_reported(alive, git_ctx):
    store = store_of(alive)
    store.mkdir()
    program = "\n".join(
        [
            "import os, sys, time",
            "from ctx.maintenance.background.log import Start",
            "from ctx.maintenance.background.run_lock import RunLock",
            f"lock = RunLock({str(store)!r})",
            "assert lock.acquire()",
            "lock.begin(Start(1_700_000_000, os.getpid(), 'post-merge'))",
            "print('begun', flush=True)",
            "time.sleep(600)",
        ]
    )
    process = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "begun\n"
    going = git_ctx("status", "--log")
    assert f"post-merge: running, process {process.pid}" in going.out
    process.send_signal(signal.SIGKILL)
    process.wait(BOUND)
    process.stdout.close()
    for _ in range(2):
        text = git_ctx("status", "--log")
        assert text.out.count("post-merge: killed: by the system or a user, perhaps for lack of memory") == 1
        hook_run(alive)
        settled(alive, 2)
    runs = settled(alive, 3)
    assert [entry.outcome for entry in runs] == ["killed", "done", "done"]
    assert runs[0].time == 1_700_000_000


def test_a_failure_is_logged_and_the_other_work_trees_are_covered(alive, tmp_path, git_ctx):
    alive.git("config", "ctx.program", "/bin/false")
    alive.git("worktree", "add", "-q", str(tmp_path / "linked"), "-b", "linked")
    alive.commit({"b.py": "def two():\n    return 2\n"})
    alive.delete_object(bytes.fromhex(alive.git("rev-parse", "main^{tree}").decode()))
    hook_run(alive)
    (entry,) = settled(alive)
    assert entry.outcome == "failed"
    assert entry.error
    assert entry.error.startswith("main: ")
    assert covered(alive, "linked")
    assert "failed: main: " in git_ctx("status", "--log").out


def test_an_unexpected_error_ends_in_the_log(alive, monkeypatch):
    def fail(directory: str) -> None:
        raise ZeroDivisionError("no reason")

    monkeypatch.setattr(run, "heads", fail)
    store = store_of(alive)
    store.mkdir()
    run.run_one_at_a_time(Store(str(store.parent)), run.locate(str(alive.path)), "post-commit")
    (entry,) = log.read(str(store))
    assert (entry.outcome, entry.error) == ("failed", "ZeroDivisionError: no reason")
    assert current_run(str(store)) == (None, False)


def test_without_a_writable_store_nothing_is_printed(alive, git_ctx):
    (alive.path / ".git" / "ctx").write_text("in the way\n")
    done = git_ctx("hook-run")
    assert (done.status, done.out, done.err) == (0, "", "")
    assert (alive.path / ".git" / "ctx").read_text() == "in the way\n"


@pytest.mark.parametrize("arguments", [["--help-me"], ["a", "b", "0"], ["-1"], [""]])
def test_nothing_is_ever_printed(alive, git_ctx, arguments, tmp_path):
    for place in (alive.path, tmp_path):
        done = git_ctx("hook-run", *arguments, cwd=place)
        assert (done.status, done.out, done.err) == (0, "", "")


def test_variables_of_the_surrounding_git_do_not_matter(alive, tmp_path):
    env = {
        **os.environ,
        "GIT_DIR": ".git",
        "GIT_INDEX_FILE": ".git/index",
        "GIT_WORK_TREE": ".",
        "GIT_OBJECT_DIRECTORY": str(tmp_path / "nowhere"),
        "GIT_PREFIX": "x/",
    }
    subprocess.run([SCRIPT, "hook-run"], cwd=alive.path, env=env, check=True, timeout=BOUND)
    (entry,) = settled(alive)
    assert (entry.outcome, entry.error) == ("done", None)
    assert covered(alive, "HEAD")


def test_the_line_for_custom_hooks(alive):
    from ctx.maintenance.hooks.owners import LINE

    for event in ("post-commit", "post-checkout"):
        (alive.path / ".git" / "hooks" / event).write_text(f"#!/bin/sh -e\n{LINE}\n")
    done = alive.run("commit", "-q", "--allow-empty", "-m", "x")
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert settled(alive)[0].trigger == "post-commit"
    alive.git("config", "ctx.program", "/nowhere/git-ctx")
    done = alive.run("commit", "-q", "--allow-empty", "-m", "y")
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_a_detached_process_holds_nothing(tmp_path):
    program = "\n".join(
        [
            "import os, time",
            "from ctx.maintenance.background.detach import detach",
            "detach()",
            "state = [sorted(os.listdir('/dev/fd')), os.getsid(0) == os.getpid(), os.nice(0)]",
            f"open({str(tmp_path / 'part')!r}, 'w').write(repr(state))",
            f"os.rename({str(tmp_path / 'part')!r}, {str(tmp_path / 'state')!r})",
            f"while os.path.exists({str(tmp_path / 'state')!r}): time.sleep(0.02)",
        ]
    )
    readable, writable = os.pipe()
    subprocess.run(
        [sys.executable, "-c", program],
        stdout=subprocess.PIPE,
        pass_fds=(writable,),
        check=True,
        timeout=BOUND,
        cwd=ROOT,
    )
    os.close(writable)
    # The end of the pipe is here while the process goes on.
    assert os.read(readable, 1) == b""
    os.close(readable)
    wait_for((tmp_path / "state").exists, "the state")
    names, leads, niceness = eval((tmp_path / "state").read_text())
    (tmp_path / "state").unlink()  # which ends it
    assert names[:3] == ["0", "1", "2"]
    assert len(names) <= 4  # the listing itself is one
    assert leads
    assert niceness >= os.nice(0) + 10 or niceness == 19


def test_the_log_is_rotated(tmp_path):
    entry = log.Run(1, 0.5, "post-commit", 1, log.DONE, [], "x" * 200)
    for number in range(1000):
        log.write(str(tmp_path), entry._replace(time=number))
    sizes = [os.path.getsize(tmp_path / name) for name in (log.LOG, f"{log.LOG}.old")]
    assert max(sizes) < LARGEST + 1000
    runs = log.read(str(tmp_path))
    assert [one.time for one in runs] == list(range(1000 - len(runs), 1000))


def test_broken_lines_of_the_log_are_skipped(tmp_path, repo, git_ctx):
    entry = log.Run(1, 0.5, "post-commit", 1, log.DONE, [log.Covered("ab", "main", None, 1, 2, 3)], None)
    log.write(str(tmp_path), entry)
    with open(tmp_path / log.LOG, "ab") as file:
        file.write(b'\xff\n{}\n[]\n{"time": 1e400}\n{"time": 1, "trees": [{}]}\n')
    log.write(str(tmp_path), entry)
    assert log.read(str(tmp_path)) == [entry, entry]
    (tmp_path / "background").write_bytes(b'{"time":')
    assert current_run(str(tmp_path)) == (None, False)
    store = store_of(repo)
    shutil.copytree(
        tmp_path,
        store,
        ignore=lambda *_: [name for name in os.listdir(tmp_path) if name not in ("log", "background")],
    )
    assert len(git_ctx("status", "--log", "--json-output").json_lines[0]["runs"]) == 2


def test_status_before_any_hook_has_run(alive, git_ctx):
    done = git_ctx("status", "--log")
    assert (done.status, done.err) == (0, "")
    assert done.out == "no hook has run yet; `git ctx init` installs the hooks\n"
    assert json.loads(git_ctx("status", "--log", "--json-output").out) == {
        "type": "log_result", "runs": [], "running": None, "commands": [],
    }  # fmt: skip
    assert not Path(store_of(alive)).exists()


def test_errors_are_one_line():
    assert run.one_line(GitFailed("one\ntwo")) == "one"
    assert run.one_line(MemoryError()) == "MemoryError: "


def test_commands_after_a_commit_work_while_a_hook_indexes(alive, git_ctx, tmp_path):
    """The command works whether the run of a hook has just started, holds the lock or has ended."""
    alive.commit({f"src/file{i}.py": f"def number_{i}():\n    return {i}\n" for i in range(100)})
    settled(alive)
    alive.git("clone", "--quiet", "--bare", ".", str(tmp_path / "remote.git"))
    alive.git("remote", "add", "origin", str(tmp_path / "remote.git"))
    for number in range(3):
        alive.commit({f"src/file{i}.py": f"def round_{number}_{i}():\n    return 0\n" for i in range(100)})
        time.sleep(number * 0.1)
        command = ("push", "push", "fetch")[number % 3]
        done = git_ctx(command)
        assert done.status == 0, done.err
        if command == "push":
            assert done.out.startswith("published 1 snapshot with")
    settled(alive)


def test_a_repository_is_set_up_and_pushed_while_a_hook_indexes(repo, git_ctx, tmp_path):
    repo.commit({f"src/file{i}.py": f"def number_{i}():\n    return {i}\n" * 5 for i in range(200)})
    repo.git("clone", "--quiet", "--bare", ".", str(tmp_path / "remote.git"))
    repo.git("remote", "add", "origin", str(tmp_path / "remote.git"))
    hook_run(repo)
    for command in ("init", "push"):
        done = git_ctx(command)
        assert done.status == 0, done.err
    assert done.out.startswith("published 1 snapshot with")
    settled(repo)


def test_a_push_does_not_wait_for_a_process_that_indexes_something_else(alive, git_ctx, tmp_path):
    alive.git("clone", "--quiet", "--bare", ".", str(tmp_path / "remote.git"))
    alive.git("remote", "add", "origin", str(tmp_path / "remote.git"))
    lock = IndexLock(Store(str(alive.path / ".git")))
    assert lock.acquire()
    with lock:
        done = git_ctx("push")
    assert (done.status, done.out[:21]) == (0, "published 1 snapshot ")
