"""Measure the cost of history: indexing and searching many commits of some checkouts.

    python tests/benchmarks/history.py [--commits N] CHECKOUT…

The trees of the last N commits (1,000) are indexed in order; parsed and embedded items and added bytes are
counted. Then a search N commits back, a search of the changes of a branch beside one of the whole tree, and
the index of all commits are timed. Each part works on a clone in a temporary directory. Processor time
includes all processes.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from figures import QUERIES, clone, git
from revisions import growth, ranges

import ctx
from ctx.history.answer import CommitFilters


def commits(checkout: str) -> None:
    """Time the index of all commits, its answers, and the first answer after another commit."""
    with clone(checkout) as folder, ctx.open(folder) as index:

        def ask(query: str) -> Any:
            return index.history(query, CommitFilters(), limit=10)

        wall, used, first = timed(partial(ask, QUERIES[0]))
        number = first.coverage.commits
        answers, own = [], []
        for query in QUERIES * 5:
            before = time.process_time()
            answers.append(timed(partial(ask, query))[0])
            own.append(time.process_time() - before)
        git(folder, "commit", "-q", "--allow-empty", "-m", "one more")
        again = timed(partial(ask, QUERIES[0]))[0]
        size = sum(path.stat().st_size for path in (folder / ".git/ctx/history").rglob("*") if path.is_file())
        print(
            f"{Path(checkout).name:20} {number:,} commits indexed in {wall:.1f} s, {used:.1f} s of processor "
            f"time ({1e4 * used / number:.0f} s for 10,000); {size / 1e6:.1f} MB\n"
            f"    an answer: p50 {1000 * statistics.median(answers):.0f} ms, of processor time "
            f"{1000 * statistics.median(own):.0f} ms; the first one after another commit {again:.2f} s",
            flush=True,
        )


def timed(work: Callable[[], Any]) -> tuple[float, float, Any]:
    """Wall-clock seconds, processor seconds including child processes, and the result."""
    started, before = time.perf_counter(), os.times()
    result = work()
    after = os.times()
    used = sum(b - a for a, b in zip(before[:4], after[:4], strict=True))
    return time.perf_counter() - started, used, result


if __name__ == "__main__":
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    parser = argparse.ArgumentParser()
    parser.add_argument("--commits", type=int, default=1000)
    parser.add_argument("checkouts", nargs="+")
    given = parser.parse_args()
    for one in given.checkouts:
        growth(str(given.commits), one)
        ranges(one)
        commits(one)
