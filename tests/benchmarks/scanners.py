"""Find the slowest accepted input for each language, in nanoseconds of processor time per byte.

    python tests/benchmarks/scanners.py [--size 20000] [LANGUAGE...]

Each language splits files that repeat one short text, one file for each of about 80 texts. The median file
stands for ordinary input; the ratio shows how far a hostile file can slow a run down.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS / "chunking"), str(TESTS.parent)]

from test_scanner_time import LANGUAGES, UNITS, repeated  # noqa: E402  the path is set above

from ctx.chunking import chunk  # noqa: E402


def nanoseconds(language: str, unit: bytes, size: int) -> float:
    """Processor time for each byte of a file of one repeated text."""
    source = repeated(unit, size)
    started = time.process_time_ns()
    chunk(source, language)
    return (time.process_time_ns() - started) / len(source)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("languages", nargs="*", default=LANGUAGES)
    parser.add_argument("--size", type=int, default=20_000)
    options = parser.parse_args()
    rows = []
    for language in options.languages:
        chunk(b"x = 1\n", language)  # loads the grammar
        found = sorted((nanoseconds(language, unit, options.size), unit) for unit in UNITS)
        rows.append((found[-1][0], statistics.median(one for one, _ in found), language, found[-1][1]))
    print(f"{len(rows)} languages, {len(UNITS)} texts, {options.size:,} bytes each")
    print("| language | slowest, ns a byte | median | ratio | repeated text |")
    print("|---|---|---|---|---|")
    for worst, median, language, unit in sorted(rows, reverse=True):
        print(f"| {language} | {worst:,.0f} | {median:,.0f} | {worst / median:,.0f} | `{unit!r}` |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
