"""Signals at any point of a run: it exits at once and cleanly, and the next run continues."""

from __future__ import annotations

import fcntl
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from projects import QUERIES, project
from repositories import Repo
from ways import ask, environment, payloads, program

from ctx.cli.main import ended_in_order
from ctx.errors import Ended

ENDED = {
    signal.SIGINT: {130, -signal.SIGINT},
    signal.SIGTERM: {143, -signal.SIGTERM},
}
"""The exit statuses that a shell shows as 128 and the number of the signal."""
HANGS = 60.0
"""Seconds after which a run has not ended."""
SAID = "interrupted; the next `git ctx index` continues from here\n"
INDEX = ("index", "--jobs", "2")
SEARCH = ("search", QUERIES[0], "-z")

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks for processes in /proc")


def in_session(session: int) -> list[str]:
    """Return the running processes of a session, with their command lines."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            words = (entry / "stat").read_text().rpartition(")")[2].split()
            if entry.name.isdigit() and int(words[3]) == session and words[0] not in "ZX":
                found.append(f"{entry.name} {(entry / 'cmdline').read_text()}")
        except OSError:
            continue
    return found


def is_locked(path: Path) -> bool:
    """Return True if a process holds the lock of an index."""
    try:
        with open(path / ".git/ctx/lock", "rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except FileNotFoundError:
        return False
    except BlockingIOError:
        return True
    return False


def comes(condition: Callable[[], bool]) -> bool:
    """Wait up to ten seconds for a condition; return True if it became true."""
    end = time.monotonic() + 10
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.01)
    return True


def struck(
    path: Path, arguments: Sequence[str], number: signal.Signals, delay: float, *, everybody: bool
) -> str | None:
    """Send a signal to a run after `delay` seconds; return the problem with its end, or None."""
    process = subprocess.Popen(
        [sys.executable, "-m", "ctx", *arguments],
        cwd=path,
        env=environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        start_new_session=True,
        # Whoever runs the tests in the background has it ignored.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    time.sleep(delay)
    (os.killpg if everybody else os.kill)(process.pid, number)
    try:
        err = process.communicate(timeout=HANGS)[1].decode()
    except subprocess.TimeoutExpired:
        left = in_session(process.pid)
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        return f"it hangs: {left}"
    if "Traceback" in err and ", in start\n" not in err:
        err = ""  # Python had not come to the program yet
    elif process.returncode != 0 and process.returncode not in ENDED[number]:
        return f"it ended with {process.returncode}: {err}"
    if err not in ("", SAID):
        return f"it said: {err}"
    if not comes(lambda: not in_session(process.pid)):
        return f"processes are left: {in_session(process.pid)}"
    return "the lock is held" if is_locked(path) else None


@pytest.fixture
def signalled(make_repo: Callable[..., Repo], tmp_path: Path) -> Callable[[Sequence[str], int, int], None]:
    """Return a function that sends signals to runs of a command in a project."""

    def check(arguments: Sequence[str], runs: int, files: int) -> None:
        repo = make_repo()
        repo.commit(project(51, files))
        whole = tmp_path / "whole"
        repo.git("clone", "--quiet", str(repo.path), str(whole))
        began = time.monotonic()
        assert program(*arguments, cwd=whole, start_new_session=True).status == 0
        length = time.monotonic() - began
        program("index", cwd=whole)
        expected, answers = payloads(whole), ask(whole, QUERIES[:1], [()])
        seed = random.Random(files + runs)
        wrong = []
        for run in range(runs):
            number = seed.choice(list(ENDED))
            # Every part of the run has its turn, a little of what comes before and after it too.
            delay = (run + seed.random()) * 1.1 * length / runs
            everybody = seed.random() < 0.5
            fault = struck(repo.path, arguments, number, delay, everybody=everybody)
            if fault is not None:
                wrong.append(f"{number.name} after {delay:.3f} of {length:.3f} s, {everybody=}: {fault}")
            if run % 4 == 3:
                # The next one begins with what is stored; every fourth finds nothing.
                shutil.rmtree(repo.path / ".git/ctx", ignore_errors=True)
        assert wrong == []
        done = program("index", cwd=repo.path)
        assert (done.status, done.err) == (0, "")
        assert payloads(repo.path) == expected
        assert ask(repo.path, QUERIES[:1], [()]) == answers

    return check


Check = Callable[[Sequence[str], int, int], None]


@pytest.mark.parametrize("arguments", [INDEX, SEARCH], ids=["index", "search"])
def test_a_dozen_signals_end_runs_cleanly(signalled: Check, arguments: Sequence[str]) -> None:
    signalled(arguments, 6, 300)


@pytest.mark.long
@pytest.mark.parametrize("arguments", [INDEX, SEARCH], ids=["index", "search"])
def test_hundreds_of_signals_end_runs_cleanly(signalled: Check, arguments: Sequence[str]) -> None:
    signalled(arguments, 150, 400)


def test_an_error_of_c_code_after_a_signal_counts_as_the_signal() -> None:
    """The parser calls Python, and reports the exception of a signal handler as a SystemError."""

    def interrupted(error: type[Exception], number: int) -> None:
        with ended_in_order():
            try:
                if number:
                    signal.raise_signal(number)
            finally:
                raise error

    with pytest.raises(Ended) as ended:
        interrupted(SystemError, signal.SIGTERM)
    assert ended.value.exit_code == 143
    with pytest.raises(SystemError):
        interrupted(SystemError, 0)
