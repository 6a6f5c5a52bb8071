"""Kill work at many points, as `kill -9` does, and check the index after each.

    python killing.py REPOSITORY SEED POINTS WORK…

Half of the points are steps of the work: it exits when it opens, renames, removes or touches a certain file.
The other half are moments at which it is killed. Afterwards nothing in the index may be damaged, no lock may
be held, every answer must be that of an index from scratch, and the same work must succeed. One line is
printed for each kind of work.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import ctx
from ctx.git.location import locate
from ctx.indexing.lock import IndexLock
from ctx.indexing.reports import ALREADY_INDEXED
from ctx.maintenance.background.run import run_one_at_a_time
from ctx.maintenance.fsck import check
from ctx.maintenance.gc import collect
from ctx.storage.store import Store

QUERIES = ("renew the session of a user", "parse_header_3")
STEPS = {
    "open",
    "os.chmod",
    "os.listdir",
    "os.mkdir",
    "os.remove",
    "os.rename",
    "os.rmdir",
    "os.scandir",
    "os.truncate",
    "os.utime",
    "fcntl.flock",
    "subprocess.Popen",
}
"""Events of sys.addaudithook at which a death may leave something else than at the one before."""

Answers = list[object]


def index(path: Path) -> None:
    with ctx.open(path) as opened:
        opened.index(jobs=1)


def gc(path: Path) -> None:
    with ctx.open(path) as opened:
        collect(opened.session, "now")


def background(path: Path) -> None:
    """Index HEAD and collect, as after a commit."""
    place = locate(str(path))
    run_one_at_a_time(Store(place.common_dir), place, "post-commit")


def search(path: Path) -> None:
    """Search a work tree with changes."""
    with ctx.open(path) as opened:
        opened.search(QUERIES[0])


def remove(path: Path) -> None:
    with ctx.open(path) as opened:
        opened.remove()


WORK: dict[str, Callable[[Path], None]] = {
    work.__name__: work for work in (index, gc, background, search, remove)
}


def answers(path: Path) -> Answers:
    """Return the search results, except for durations."""
    with ctx.open(path) as opened:
        found = [opened.search(query, limit=30) for query in QUERIES]
    return [(answer.hits, answer.tree, answer.coverage) for answer in found]


def in_child(work: Callable[[], object]) -> tuple[int, str]:
    """Run a function in a forked process; return its status and output."""
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        said = ""
        try:
            said = str(work() or "")
        except BaseException as error:
            said = f"{type(error).__name__}: {error}"
        os.write(writer, said.encode()[:4000])
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as stream:
        said = stream.read()
    return os.waitpid(child, 0)[1], said


def counting(work: Callable[[Path], None], path: Path, end: int | None) -> int:
    """Do the work and count its steps; exit at step `end`."""
    steps = 0

    def step(event: str, _: object) -> None:
        nonlocal steps
        if event in STEPS:
            if steps == end:
                os.kill(os.getpid(), signal.SIGKILL)
            steps += 1

    sys.addaudithook(step)
    work(path)
    return steps


def ended_after(work: Callable[[Path], None], path: Path, seconds: float) -> None:
    """Do the work in a process that is killed."""
    child = os.fork()
    if not child:
        work(path)
        os._exit(0)
    time.sleep(seconds)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)


def complaint(work: Callable[[Path], None], path: Path, expected: Answers, kept: set[bytes]) -> str:
    """Return the problems of an index after a kill, or an empty text. `kept` are trees it must have."""
    with ctx.open(path) as opened:
        if os.path.isdir(opened.session.store.path):
            findings = check(opened.session, dry_run=True).findings
            if findings:
                return f"damaged: {findings}"
            with IndexLock(opened.session.store) as lock:
                if not lock.acquire(5.0):
                    return "a process still holds the lock"
    if answers(path) != expected:
        return "another answer than that of an index from scratch"
    work(path)
    with ctx.open(path) as opened:
        if work in (index, background) and opened.index(jobs=1).skipped != ALREADY_INDEXED:
            return "HEAD is not indexed in the end"
        if not kept <= set(opened.session.snapshots.trees()):
            return "what is needed was collected"
        if os.path.isdir(opened.session.store.path) and (
            findings := check(opened.session, dry_run=True).findings
        ):
            return f"damaged in the end: {findings}"
    return ""


def from_scratch(path: Path) -> Answers:
    """Return the answers of a copy without an index."""
    with tempfile.TemporaryDirectory() as scratch:
        copy = Path(scratch, path.name)
        shutil.copytree(path, copy, symlinks=True, ignore=shutil.ignore_patterns("ctx"))
        return answers(copy)


def die(name: str, path: Path, seed: int, points: int) -> None:
    """Kill one kind of work at `points` points. Raises SystemExit if the index is faulty afterwards."""
    work = WORK[name]
    made = random.Random(f"{seed} {name}")
    store, kept = path / ".git" / "ctx", path / ".git" / "ctx-before"
    expected = from_scratch(path)
    shutil.copytree(store, kept)
    with ctx.open(path) as opened:
        needed = (
            {opened.resolve().tree} & set(opened.session.snapshots.trees()) if work is not remove else set()
        )

    def restore() -> None:
        shutil.rmtree(store, ignore_errors=True)
        shutil.copytree(kept, store)

    began = time.monotonic()
    status, said = in_child(lambda: counting(work, path, None))
    usual = time.monotonic() - began
    if status or not said.isdigit():
        raise SystemExit(f"{name} does not come to its end: {said}")
    steps = int(said)
    chosen = made.sample(range(steps), min(steps, points // 2))
    for number, at in enumerate([*chosen, *(made.uniform(0, usual) for _ in range(points - len(chosen)))]):
        restore()
        if number < len(chosen):
            status, said = in_child(lambda at=at: counting(work, path, int(at)))
            if not os.WIFSIGNALED(status):
                raise SystemExit(f"{name} went on after step {at} of {steps}: {said}")
        else:
            ended_after(work, path, at)
        _, said = in_child(lambda: complaint(work, path, expected, needed))
        if said:
            unit = f"at step {at} of {steps}" if number < len(chosen) else f"after {at:.4f} s"
            raise SystemExit(f"{name} ended {unit} (seed {seed}): {said}")
    restore()
    shutil.rmtree(kept)
    print(f"{name}: {points} deaths, {len(chosen)} of them at its {steps} steps: nothing lost", flush=True)


if __name__ == "__main__":
    sys.dont_write_bytecode = True  # what the first one compiles would be steps of its alone
    os.environ["TMPDIR"] = tempfile.mkdtemp(prefix="git-ctx-killing-")
    tempfile.tempdir = None
    try:
        subprocess.run(["git", "version"], check=True, capture_output=True)
        for one in sys.argv[4:]:
            die(one, Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
    finally:
        shutil.rmtree(os.environ["TMPDIR"], ignore_errors=True)
