"""Measure the cost of hooks: a commit with and without them, a rebase, the background run of a commit.

    python tests/benchmarks/hooks.py [--commits 30] [--files 200]

Commits with and without hooks alternate in two equal repositories, so that a busy machine slows both. The
second pair of figures starts /bin/true instead of git-ctx: the cost of the shim alone. The background run is
also measured in the foreground, where the processor time of its child processes is known.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from ctx.maintenance.background import log
from ctx.maintenance.background.run_lock import current_run

PROGRAM = Path(sys.executable).with_name("git-ctx")
WHO = {f"GIT_{who}_{what}": "bench" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
ENVIRONMENT = {**os.environ, **WHO, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}


def git(repository: Path, *arguments: str) -> float:
    """Run git and return the seconds that it took."""
    started = time.perf_counter()
    subprocess.run(["git", *arguments], cwd=repository, env=ENVIRONMENT, check=True, capture_output=True)
    return time.perf_counter() - started


def quiet(repository: Path, runs: int) -> list[log.Run]:
    """Wait until the log has this many runs and none is active, and return it."""
    store = repository / ".git" / "ctx"
    while (
        len(log.read(str(store))) < runs
        or (store / "events").exists()
        or current_run(str(store)) != (None, False)
    ):
        time.sleep(0.01)
    return log.read(str(store))


def make(path: Path, files: int) -> Path:
    """A repository of small Python files."""
    path.mkdir()
    git(path, "init", "-q", "-b", "main")
    for number in range(files):
        (path / f"module{number}.py").write_text(
            f"def function_{number}(value):\n    return value + {number}\n"
        )
    git(path, "add", ".")
    git(path, "commit", "-q", "-m", "start")
    return path


TURN = """
import ctx.cli.main
from ctx.maintenance.background.run import run_one_at_a_time
from ctx.git.location import locate
from ctx.storage.store import Store
place = locate(".")
run_one_at_a_time(Store(place.common_dir), place, "post-commit")
"""
"""The code that `git ctx hook-run` runs after it has detached."""


def runs_in_the_foreground(repository: Path, count: int) -> list[float]:
    """Processor seconds of the background runs of one-file commits, git's included."""
    taken = []
    for number in range(count):
        (repository / "module1.py").write_text(f"def changed_once_more():\n    return {number}\n")
        git(repository, "commit", "-q", "-a", "-m", f"{number}")
        running = subprocess.Popen([sys.executable, "-c", TURN], cwd=repository, env=ENVIRONMENT)
        _, status, used = os.wait4(running.pid, 0)
        assert status == 0, "the run failed"
        taken.append(used.ru_utime + used.ru_stime)
    return taken


def commits(plain: Path, hooked: Path, count: int, *, wait: bool) -> tuple[list[float], list[float]]:
    """Seconds of alternating commits without and with hooks; `wait` for the background run after each."""
    times: tuple[list[float], list[float]] = ([], [])
    done = len(log.read(str(hooked / ".git" / "ctx")))
    for number in range(count):
        for repository, taken in zip((plain, hooked), times, strict=True):
            (repository / "module0.py").write_text(f"def changed():\n    return {number}\n")
            git(repository, "add", ".")
            taken.append(git(repository, "commit", "-q", "-m", f"{number}"))
        if wait:
            done += 1
            quiet(hooked, done)
    return times


def tell(name: str, times: tuple[list[float], list[float]]) -> None:
    """Print two medians and their difference."""
    plain, hooked = (1000 * statistics.median(taken) for taken in times)
    print(f"{name}: {plain:.1f} ms without, {hooked:.1f} ms with hooks, {hooked - plain:+.1f} ms")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--commits", type=int, default=30)
    parser.add_argument("--files", type=int, default=200)
    given = parser.parse_args()
    scratch = Path(tempfile.mkdtemp(prefix="git-ctx-bench-"))
    try:
        plain, hooked = (make(scratch / name, given.files) for name in ("plain", "hooked"))
        subprocess.run([PROGRAM, "init"], cwd=hooked, env=ENVIRONMENT, check=True, capture_output=True)
        tell("git commit", commits(plain, hooked, given.commits, wait=True))
        runs = quiet(hooked, given.commits)
        print(f"run behind a commit: {1000 * statistics.median(run.seconds for run in runs):.0f} ms of work")
        git(hooked, "config", "ctx.program", "/bin/true")
        own = runs_in_the_foreground(hooked, given.commits)
        print(
            f"the same, whole process: {1000 * min(own):.0f} ms of processor time at least, "
            f"median {1000 * statistics.median(own):.0f} ms"
        )
        tell("git commit, shim alone", commits(plain, hooked, given.commits, wait=False))
        git(hooked, "checkout", "-q", "-b", "base", "HEAD~20")
        (hooked / "base.py").write_text("def base(): pass\n")
        git(hooked, "add", ".")
        git(hooked, "commit", "-q", "-m", "base")
        git(hooked, "checkout", "-q", "-b", "topic", "base~1")
        for number in range(50):
            (hooked / f"topic{number}.py").write_text(f"def topic():\n    return {number}\n")
            git(hooked, "add", ".")
            git(hooked, "commit", "-q", "-m", f"topic {number}")
        git(hooked, "config", "ctx.program", str(PROGRAM))
        before = len(log.read(str(hooked / ".git" / "ctx")))
        seconds = git(hooked, "rebase", "-q", "base")
        runs = quiet(hooked, before + 1)
        events = sum(run.events for run in runs[before:])
        print(f"rebase of 50 commits: {seconds:.2f} s, {len(runs) - before} run for {events} event")
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


if __name__ == "__main__":
    main()
