"""Measure git-ctx alone: one commit, one query, memory, size, growth.

    python tests/benchmarks/figures.py query CHECKOUT       a query inside a process

    python tests/benchmarks/figures.py commit CHECKOUT      indexing after one-file commits

    python tests/benchmarks/figures.py memory CHECKOUT      the peak while indexing

    python tests/benchmarks/figures.py size CHECKOUT…       bytes of the index for each byte of the sources

    python tests/benchmarks/figures.py growth N CHECKOUT…   bytes added by each of the last N commits

    python tests/benchmarks/figures.py overlay CHECKOUT     what twenty changed files add to a search

    python tests/benchmarks/figures.py switch CHECKOUT  a search after a switch between two indexed branches
    python tests/benchmarks/figures.py profile CHECKOUT     where the time of a query inside a process goes


Each works on a clone in a temporary directory.
"""

from __future__ import annotations

import cProfile
import os
import pstats
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import ctx
from ctx.types import COMMITTED

PROGRAM = [sys.executable, "-m", "ctx"]
QUERIES = (
    "where are errors handled",
    "parse the configuration file",
    "open a connection with a timeout",
    "how is the cache invalidated",
    "Serializer",
    "retry with backoff",
    "command line arguments",
    "write to the log",
)


@contextmanager
def clone(checkout: str) -> Iterator[Path]:
    """A clone of a checkout at the same commit."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch, "clone")
        subprocess.run(["git", "clone", "-q", checkout, folder], check=True)
        head = git(Path(checkout), "rev-parse", "HEAD")
        git(folder, "checkout", "-q", "-B", "measured", head)
        yield folder


def git(folder: Path, *arguments: str) -> str:
    """Run git; its output without the last newline."""
    named = ["-c", "user.name=bench", "-c", "user.email=bench@example.org"]
    done = subprocess.run(["git", *named, *arguments], cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def seconds(command: list[str], folder: Path) -> float:
    """Time of a whole process."""
    started = time.perf_counter()
    subprocess.run(command, cwd=folder, check=False, stdout=subprocess.DEVNULL)
    return time.perf_counter() - started


def query(checkout: str) -> None:
    with clone(checkout) as folder, ctx.open(folder) as index:
        index.index()
        chunks = index.search("warm up", overlay=COMMITTED).coverage.chunks
        clock, processor = [], []
        for _ in range(20):
            for text in QUERIES:
                started, spent = time.perf_counter(), time.process_time()
                index.search(text, overlay=COMMITTED)
                clock.append(1000 * (time.perf_counter() - started))
                processor.append(1000 * (time.process_time() - spent))
    for name, taken in (("clock", clock), ("processor", processor)):
        print(
            f"{chunks:,} chunks, {name}: p50 {statistics.median(taken):.1f} ms, fastest {min(taken):.1f} ms"
        )


def commit(checkout: str) -> None:
    with clone(checkout) as folder:
        subprocess.run([*PROGRAM, "index", "--silent"], cwd=folder, check=True)
        files = git(folder, "ls-files", "*.py", "*.rb", "*.kt", "*.java", "*.ts", "*.go", "*.rs").split("\n")
        whole, work = [], []
        for number in range(12):
            name = folder / files[number * len(files) // 12]
            name.write_bytes(name.read_bytes() + b"\n# one more line\n")
            git(folder, "commit", "-qam", f"edit {number}")
            if number % 2:
                whole.append(seconds([*PROGRAM, "index", "--silent"], folder))
            else:
                with ctx.open(folder) as index:
                    work.append(index.index().seconds)
        again = min(seconds([*PROGRAM, "index", "--silent"], folder) for _ in range(3))
    print(f"work {statistics.median(work[1:]):.3f} s, whole process {statistics.median(whole):.3f} s")
    print(f"whole process where the tree is indexed already {again:.3f} s")


def memory(checkout: str) -> None:
    for jobs in (1, 2):
        with clone(checkout) as folder:
            running = subprocess.Popen([*PROGRAM, "index", "--silent", "--jobs", str(jobs)], cwd=folder)
            peak = 0
            while running.poll() is None:
                peak = max(peak, sum(map(proportional_size, family(running.pid))))
                time.sleep(0.05)
            with ctx.open(folder) as index:
                chunks = index.status().snapshots[0].chunks
        print(f"{chunks:,} chunks, {jobs} processes: peak {peak / 1024:.0f} MB (Pss of all processes)")


def family(process: int) -> Iterator[int]:
    """A process and its descendants."""
    yield process
    try:
        children = Path(f"/proc/{process}/task/{process}/children").read_text().split()
    except OSError:
        return
    for child in children:
        yield from family(int(child))


def proportional_size(process: int) -> int:
    """Proportional set size of a process in kB."""
    try:
        lines = Path(f"/proc/{process}/smaps_rollup").read_text().split("\n")
    except OSError:
        return 0
    return sum(int(line.split()[1]) for line in lines if line.startswith("Pss:"))


def stored(folder: Path, *areas: str) -> int:
    """Bytes of the files in some areas of the store."""
    store = folder / ".git" / "ctx"
    return sum(path.stat().st_size for area in areas for path in (store / area).rglob("*") if path.is_file())


def size(*checkouts: str) -> None:
    for checkout in checkouts:
        with clone(checkout) as folder:
            subprocess.run([*PROGRAM, "index", "--silent"], cwd=folder, check=True)
            with ctx.open(folder) as index:
                sources = index.status().snapshots[0].files_size
            shared, everything = stored(folder, "objects", "snapshots"), stored(folder, ".")
            print(
                f"{Path(checkout).name:20} sources {sources / 1e6:6.1f} MB  shared {shared / sources:6.1%}"
                f"  everything {everything / sources:6.1%}"
            )


def growth(commits: str, *checkouts: str) -> None:
    for checkout in checkouts:
        with clone(checkout) as folder, ctx.open(folder) as index:
            ids = git(folder, "rev-list", "--first-parent", f"--max-count={int(commits) + 1}", "HEAD").split(
                "\n"
            )
            index.index(ids[-1])
            before = stored(folder, "objects", "snapshots")
            added, embedded = [], 0
            for one in reversed(ids[:-1]):
                embedded += index.index(one).embedded_chunks
                now = stored(folder, "objects", "snapshots")
                added.append(now - before)
                before = now
        print(
            f"{Path(checkout).name:20} {len(added)} commits: median {statistics.median(added) / 1000:.1f} kB,"
            f" mean {statistics.mean(added) / 1000:.1f} kB, {embedded / len(added):.1f} chunks embedded each"
        )


def overlay(checkout: str) -> None:
    with clone(checkout) as folder, ctx.open(folder) as index:
        index.index()
        files = git(folder, "ls-files", "*.py", "*.rb", "*.kt", "*.java", "*.ts", "*.go", "*.rs").split("\n")
        index.search("warm up")
        time.sleep(2)
        git(folder, "status")  # refreshes git's index, whose entries are as recent as the clone

        def once(what: str) -> float:
            started, before = time.perf_counter(), os.times()
            index.search("where are errors handled", overlay=what)
            after = os.times()
            used.append(1000 * sum(b - a for a, b in zip(before[:4], after[:4], strict=True)))
            return 1000 * (time.perf_counter() - started)

        used: list[float] = []

        plain = statistics.median(once(COMMITTED) for _ in range(15))
        clean = statistics.median(once("work tree") for _ in range(15))
        used.clear()
        for number in range(20):
            name = folder / files[number * len(files) // 20]
            name.write_bytes(name.read_bytes() + b"\n# one more line\n")
        first = once("work tree")
        time.sleep(3)  # files changed within 2.5 seconds are read again
        later = statistics.median(once("work tree") for _ in range(15))
    print(f"{len(files):,} files: committed only {plain:.0f} ms, clean work tree {clean:.0f} ms")
    print(
        f"twenty changed files: first search {first:.0f} ms, later ones {later:.0f} ms; of processor time, "
        f"git's included, {used[0]:.0f} ms and {statistics.median(used[1:]):.0f} ms"
    )


def switch(checkout: str) -> None:
    with clone(checkout) as folder:
        files = git(folder, "ls-files", "*.py", "*.rb", "*.kt", "*.java", "*.ts", "*.go", "*.rs").split("\n")
        git(folder, "checkout", "-q", "-b", "other")
        for number in range(200):
            name = folder / files[number * len(files) // 200]
            name.write_bytes(name.read_bytes() + b"\n# one more line\n")
        git(folder, "commit", "-qam", "other")
        embedded = 0
        wall, own = [], []
        with ctx.open(folder) as index:
            for branch in ("measured", "other"):
                index.index(branch=branch)
            for number in range(6):  # six more commits, each with its own view
                (folder / "more.py").write_text(f"def more():\n    return {number}\n")
                git(folder, "add", "more.py")
                git(folder, "commit", "-q", "-m", f"more {number}")
                index.index()
        for branch in ("measured", "other") * 6:
            git(folder, "checkout", "-q", branch)
            with ctx.open(folder) as index:
                started, used = time.perf_counter(), time.process_time()
                embedded += index.index(trigger="post-checkout").embedded_chunks
                found = index.search("where are errors handled", overlay=COMMITTED)
                wall.append(1000 * (time.perf_counter() - started))
                own.append(1000 * (time.process_time() - used))
            assert found.coverage.complete
            assert found.revision == branch
    print(
        f"{len(files):,} files: index and first search after a switch {statistics.median(wall):.0f} ms, "
        f"{statistics.median(own):.0f} ms of processor time, fastest {min(own):.0f} ms; "
        f"{embedded} chunks embedded"
    )


def profile(checkout: str) -> None:
    with clone(checkout) as folder, ctx.open(folder) as index:
        index.index()
        for text in QUERIES:
            index.search(text, overlay=COMMITTED)
        watched = cProfile.Profile(time.process_time)
        for _ in range(10):
            for text in QUERIES:
                watched.runcall(index.search, text, overlay=COMMITTED)
    pstats.Stats(watched).sort_stats("tottime").print_stats(25)


if __name__ == "__main__":
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    known = {one.__name__: one for one in (query, commit, memory, size, growth, overlay, switch, profile)}
    known[sys.argv[1]](*sys.argv[2:])
