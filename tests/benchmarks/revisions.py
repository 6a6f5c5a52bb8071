"""Test that searches of any revision and any change are exact, and measure their cost.

    python tests/benchmarks/revisions.py exact CHECKOUT…  answers at ten revisions against fresh clones
    python tests/benchmarks/revisions.py merges CHECKOUT…  twenty merges against `git diff`
    python tests/benchmarks/revisions.py growth N CHECKOUT…  trees of the last N commits: work and bytes
    python tests/benchmarks/revisions.py ranges CHECKOUT…  a search of changes beside a whole tree

Each works on a clone in a temporary directory. `exact` and `merges` exit with status 1 on a difference.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from hashlib import blake2b
from pathlib import Path

from figures import PROGRAM, QUERIES, clone, git, stored

import ctx
from ctx.indexing import documents
from ctx.storage.clusters import Document
from ctx.storage.views.segments import Key, SegmentPart
from ctx.types import COMMITTED, NEW, Answer


def exact(*checkouts: str) -> None:
    wrong = 0
    for checkout in checkouts:
        with clone(checkout) as folder, ctx.open(folder) as index:
            commits = git(folder, "rev-list", "HEAD").split("\n")
            for place in range(10):
                commit = commits[place * (min(len(commits), 5000) - 1) // 9]
                with clone(checkout) as fresh:
                    git(fresh, "checkout", "-q", "--force", commit)
                    with ctx.open(fresh) as other:
                        other.index()
                        for query in QUERIES:
                            one, two = (
                                index.search(query, revision=commit, limit=50),
                                other.search(query, limit=50),
                            )
                            wrong += shown(one) != shown(two)
        print(
            f"{Path(checkout).name:20} 10 revisions, {len(QUERIES)} queries each: {wrong} answers differ",
            flush=True,
        )
    sys.exit(bool(wrong))


def shown(answer: Answer) -> object:
    """The fields that must be equal: the tree, every field of every hit, and the text."""
    return answer.tree, answer.coverage, [(hit, hit.text) for hit in answer.hits]


def merges(*checkouts: str) -> None:
    wrong = 0
    for checkout in checkouts:
        with clone(checkout) as folder, ctx.open(folder) as index:
            found = git(folder, "rev-list", "--merges", "--max-count=400", "HEAD").split()
            chosen = found[:: max(1, len(found) // 20)][:20]
            lines = hits = 0
            for merge in chosen:
                diff = lines_of_diff(folder, f"{merge}^1", merge)
                for query in QUERIES:
                    answer = index.search(query, within=f"{merge}^1..{merge}", limit=50)
                    hits += len(answer.hits)
                    for hit in answer.hits:
                        assert hit.change is not None
                        for first, last in hit.change.lines:
                            lines += last - first + 1
                            side = diff[hit.change.side == NEW]
                            wrong += sum(
                                (os.fsencode(hit.path), line) not in side for line in range(first, last + 1)
                            )
        print(
            f"{Path(checkout).name:20} {len(chosen)} merges, {hits:,} hits, {lines:,} lines compared: "
            f"{wrong} of them are not in the diff",
            flush=True,
        )
    sys.exit(bool(wrong))


def lines_of_diff(folder: Path, old: str, new: str) -> tuple[set[tuple[bytes, int]], set[tuple[bytes, int]]]:
    """The lines that `git diff` removes and adds, counted line by line with their context."""
    command = [
        "git",
        "-c",
        "core.quotePath=false",
        "diff",
        "--no-color",
        "--no-ext-diff",
        "-M",
        "-U3",
        old,
        new,
    ]
    output = subprocess.run(command, cwd=folder, check=True, capture_output=True).stdout
    sides: tuple[set[tuple[bytes, int]], set[tuple[bytes, int]]] = (set(), set())
    paths, at, left = [b"", b""], [0, 0], [0, 0]
    for line in output.split(b"\n"):
        if any(left):
            sign = line[:1]
            for side, own in enumerate((b"-", b"+")):
                if sign in (own, b" "):
                    if sign == own:
                        sides[side].add((paths[side], at[side]))
                    at[side], left[side] = at[side] + 1, left[side] - 1
        elif line.startswith((b"--- a/", b"+++ b/")):
            paths[line.startswith(b"+")] = line[6:].rstrip(b"\t")
        elif line.startswith(b"@@ "):
            for side, word in enumerate(line.split(b" ")[1:3]):
                start, _, count = word[1:].partition(b",")
                at[side], left[side] = int(start), int(count or 1)
    return sides


def growth(commits: str, *checkouts: str) -> None:
    for checkout in checkouts:
        with clone(checkout) as folder, counted() as (blobs, texts), ctx.open(folder) as index:
            ids = git(folder, "rev-list", f"--max-count={int(commits) + 1}", "--topo-order", "HEAD").split(
                "\n"
            )
            index.index(ids[-1], jobs=1)
            added, before = [], stored(folder, "objects", "snapshots")
            first = before
            started = time.process_time()
            for one in reversed(ids[:-1]):
                index.index(one, jobs=1)
                now = stored(folder, "objects", "snapshots")
                added.append(now - before)
                before = now
            seconds = time.process_time() - started
            whole = stored(folder, ".")
            print(
                f"{Path(checkout).name:20} {len(added)} commits, {seconds / len(added):.2f} s of work each\n"
                f"    blobs parsed {sum(blobs.values()):,}, distinct ones {len(blobs):,}; "
                f"chunks embedded {sum(texts.values()):,}, distinct texts {len(texts):,}\n"
                f"    bytes a commit: median {statistics.median(added) / 1000:.1f} kB, mean "
                f"{statistics.mean(added) / 1000:.1f} kB; a tree {first / 1e6:.2f}, all {before / 1e6:.2f}, "
                f"with views {whole / 1e6:.2f} MB",
                flush=True,
            )
            # Keep only reachable objects: no reflog, no grace period.
            git(folder, "checkout", "-q", "--detach", ids[0])
            subprocess.run([*PROGRAM, "gc", "--grace", "now", "--silent"], cwd=folder, check=True)
            kept = stored(folder, "objects", "snapshots") / 1e6
            print(f"    after gc {kept:.2f} MB, with views {stored(folder, '.') / 1e6:.2f} MB", flush=True)
            parsed = sum(blobs.values())
            wanted = index.plan(ids[-1])
            # The first step of a search of it, in this process, so that it is counted.
            index.index(ids[-1], jobs=1)
            print(
                f"    a search {len(added)} commits back: {wanted.new_blobs:,} blobs were lacking by plan, "
                f"{sum(blobs.values()) - parsed:,} were parsed",
                flush=True,
            )


@contextmanager
def counted() -> Iterator[tuple[Counter[object], Counter[bytes]]]:
    """Count parsed documents and embedded texts in this process."""
    blobs: Counter[object] = Counter()
    texts: Counter[bytes] = Counter()
    cut, part = documents._chunked, documents.DocumentBuilder.part

    def counting_cut(key: Key, blob: bytes) -> documents.Source | str:
        blobs[key] += 1
        return cut(key, blob)

    def counting_part(
        self: documents.DocumentBuilder,
        sources: Sequence[documents.Source],
        stored: Mapping[Key, Document] | None = None,
    ) -> SegmentPart:
        if stored is None:
            for source in sources:
                for text in documents._embedded_texts(source):
                    texts[blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()] += 1
        return part(self, sources, stored)

    # The method is replaced during the measurement.
    documents._chunked = counting_cut
    documents.DocumentBuilder.part = counting_part  # type: ignore[method-assign]
    try:
        yield blobs, texts
    finally:
        documents._chunked = cut
        documents.DocumentBuilder.part = part  # type: ignore[method-assign]


def ranges(*checkouts: str) -> None:
    for checkout in checkouts:
        with clone(checkout) as folder:
            base = git(folder, "rev-list", "--first-parent", "--max-count=31", "HEAD").split("\n")[-1]
            git(folder, "branch", "-f", "base", base)
            whole = ["search", "--no-overlay", "--no-content", QUERIES[0]]
            part = ["search", "--in", "base...HEAD", "--no-content", QUERIES[0]]
            for command in (whole, part):
                seconds(command, folder)
            pairs = [(seconds(whole, folder), seconds(part, folder)) for _ in range(9)]
            plain, within = (min(pair[side] for pair in pairs) for side in (0, 1))
            print(
                f"{Path(checkout).name:20} whole processes: {plain:.3f} s, in what differs {within:.3f} s, "
                f"{within / plain:.2f} times"
            )
            with ctx.open(folder) as index:
                taken = []
                for ask in (
                    partial(index.search, QUERIES[0], overlay=COMMITTED),
                    partial(index.search, QUERIES[0], within="base...HEAD"),
                ):
                    ask()
                    taken.append(min(once(ask) for _ in range(15)))
            print(
                f"{'':20} within a process: {1000 * taken[0]:.1f} ms and {1000 * taken[1]:.1f} ms", flush=True
            )


def once(ask: Callable[[], object]) -> float:
    """Processor seconds of this process."""
    started = time.process_time()
    ask()
    return time.process_time() - started


def seconds(arguments: list[str], folder: Path) -> float:
    """Processor seconds of a process and its children."""
    before = os.times()
    subprocess.run([*PROGRAM, *arguments], cwd=folder, check=False, stdout=subprocess.DEVNULL)
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system


if __name__ == "__main__":
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    known = {one.__name__: one for one in (exact, merges, growth, ranges)}
    known[sys.argv[1]](*sys.argv[2:])
