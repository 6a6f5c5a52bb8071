"""Measure the quality of chunk boundaries for each language, over public projects.

    python tests/benchmarks/chunks/audit.py [--files N] [--worst N] [--language L]… PROJECT…

PROJECT is a git repository; for each language at most N files of its HEAD are read, in the order of their
hashed paths. For comparison the same files are split into whole lines of at most 750 bytes. Percentages of
the boundaries between chunks: bad ones, each fault (`boundaries.py`), and those inside a string or a comment
that is larger than a chunk. Percentages of the chunks: above 1,500 and above 3,000 bytes, below 80.
"""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from hashlib import blake2b
from itertools import pairwise
from pathlib import Path

from boundaries import FAULTS, LISTS, judge, parse

from ctx.chunking import chunk
from ctx.chunking.languages import language_of

LIMIT = 1500
TINY = 80
LINES = 750
_LARGEST = 300_000
_LONGEST_LINE = 2_000


def files(project: Path, most: int, languages: set[str]) -> Iterator[tuple[str, bytes, str]]:
    """Path, content and language of a sample of the files of HEAD, the same in every clone."""
    git = ["git", "-C", str(project)]
    listed = subprocess.run([*git, "ls-tree", "-r", "-z", "HEAD"], capture_output=True, check=True).stdout
    by_language: dict[str, list[tuple[bytes, bytes]]] = defaultdict(list)
    for entry in listed.split(b"\0")[:-1]:
        meta, path = entry.split(b"\t", 1)
        mode, _, oid = meta.split()
        language = language_of(path) if mode.startswith(b"100") else None
        if language in languages:
            by_language[language or ""].append((path, oid))
    for language, found in sorted(by_language.items()):
        found.sort(key=lambda file: blake2b(file[0]).digest())
        for path, oid in found[:most]:
            blob = subprocess.run([*git, "cat-file", "blob", oid], capture_output=True, check=False)
            if blob.returncode == 0:
                yield os.fsdecode(path), blob.stdout, language


def by_lines(source: bytes) -> list[tuple[int, int]]:
    """Chunks of whole lines up to LINES bytes, as without a grammar."""
    found: list[tuple[int, int]] = []
    start = end = 0
    for line in source.splitlines(keepends=True):
        if end - start and end + len(line) - start > LINES:
            found.append((start, end))
            start = end
        end += len(line)
    found.append((start, end))
    trimmed = [
        (a + len(source[a:b]) - len(source[a:b].lstrip()), a + len(source[a:b].rstrip())) for a, b in found
    ]
    return [(a, b) for a, b in trimmed if a < b]


class Tally:
    """The counts for one language and one way of splitting."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.nodes: Counter[str] = Counter()
        self.examples: list[str] = []

    def row(self) -> str:
        counts = self.counts
        boundaries, chunks = max(1, counts["boundaries"]), max(1, counts["chunks"])
        shares = [counts[fault] / boundaries for fault in FAULTS]
        bad = sum(shares)
        sizes = [counts[size] / chunks for size in ("over", "far over", "tiny")]
        return (
            f"{counts['chunks']} | {100 * bad:.2f} | "
            + " | ".join(f"{100 * share:.2f}" for share in shares)
            + f" | {100 * counts['literal'] / boundaries:.2f} | "
            + " | ".join(f"{100 * share:.2f}" for share in sizes)
        )


def count(tally: Tally, name: str, source: bytes, language: str, ranges: list[tuple[int, int]]) -> None:
    root = parse(source, language)
    counts = tally.counts
    counts["files"] += 1
    counts["chunks"] += len(ranges)
    for start, end in ranges:
        counts["over"] += end - start > LIMIT
        counts["far over"] += end - start > 2 * LIMIT
        counts["tiny"] += end - start < TINY and len(ranges) > 1
    for (before, end), (start, after) in pairwise(ranges):
        counts["boundaries"] += 1
        verdict = judge(source, root, language, end, start)
        fault = verdict.fault
        if fault == "inside" and verdict.leaf and verdict.size > LIMIT:
            fault = "literal"
        if fault:
            counts[fault] += 1
            tally.nodes[f"{fault} {verdict.node}"] += 1
            line = source.count(b"\n", 0, start) + 1
            tally.examples.append(
                f"{fault} {verdict.node} ({verdict.size} bytes) {name}:{line}\n"
                f"      …{source[max(before, end - 60) : end]!r}\n"
                f"      {source[start : min(after, start + 60)]!r}"
            )


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--files", type=int, default=60)
    parser.add_argument("--worst", type=int, default=0)
    parser.add_argument("--language", action="append", choices=sorted(LISTS))
    parser.add_argument("projects", nargs="+", type=Path)
    options = parser.parse_args(arguments)
    ours: dict[str, Tally] = defaultdict(Tally)
    lines: dict[str, Tally] = defaultdict(Tally)
    for project in options.projects:
        for path, source, language in files(project, options.files, set(options.language or LISTS)):
            if (
                b"\0" in source
                or len(source) > _LARGEST
                or max(map(len, source.split(b"\n"))) > _LONGEST_LINE
            ):
                continue
            if (language == "php" and b"<?" not in source) or source.startswith(b"<?xml"):
                continue  # another language's .inc, a translation's .ts
            name = f"{project.name}/{path}"
            count(ours[language], name, source, language, [(c.start, c.end) for c in chunk(source, language)])
            count(lines[language], name, source, language, by_lines(source))
    print(
        "language | cut | chunks | bad % | "
        + " | ".join(FAULTS)
        + " | in a large text | over | far over | tiny"
    )
    for language in sorted(ours):
        print(f"{language} | syntax | {ours[language].row()}")
        print(f"{language} | lines | {lines[language].row()}")
        if options.worst:
            for node, number in ours[language].nodes.most_common(12):
                print(f"   {number:5} {node}")
            random.seed(7)
            examples = ours[language].examples
            for example in random.sample(examples, min(options.worst, len(examples))):
                print("   ", example)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
