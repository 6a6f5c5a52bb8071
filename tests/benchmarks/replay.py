"""Replay the history of a real project, and measure stale hits, time after a switch, and growth.

    python tests/benchmarks/replay.py PROJECT [--steps 200] [--seed N] [--hooks]

Random git commands are run over real commits in clones in a temporary directory, with hooks off and
`ctx.catchUp=always`. After each step, queries are run, and each answer is compared with that of a new index
of the same tree; the first difference ends the replay with the log of its steps. With `--hooks` the hooks
are installed, and background runs take place at the same time.

Prints the share of stale hits (hits whose (path, blob id) is not in the tree that `git add --all` would
write, or in the named tree), the indexing time after a switch to another commit, and the growth of the index
per commit. tests/end_to_end has a small replay and its parts.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS), str(TESTS / "end_to_end")]
ISOLATED = {
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_EDITOR": "true",
    **{f"GIT_{who}_{what}": "replay" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")},
}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("project", type=Path)
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--span", type=int, default=600, help="commits before the end at which it begins")
    parser.add_argument("--hooks", action="store_true")
    parser.add_argument("--verbose", action="store_true", help="name each step")
    parser.add_argument("--keep", type=Path, help="work in this directory and leave it")
    given = parser.parse_args()
    os.environ.update(ISOLATED)
    if given.keep:
        given.keep.mkdir()
        replay(given, given.keep)
    else:
        with tempfile.TemporaryDirectory(prefix="git-ctx-replay-") as scratch:
            replay(given, Path(scratch))


def replay(given: argparse.Namespace, scratch: Path) -> None:
    """A replay and its measurements."""
    from replay_run import Replay

    started = time.monotonic()
    run = Replay(given.project.resolve(), scratch, given.seed, span=given.span)
    if given.hooks:
        program = [str(Path(sys.executable).with_name("git-ctx")), "init"]
        subprocess.run(program, cwd=run.walk.main.path, check=True, capture_output=True)
    figures = run.run(given.steps, print if given.verbose else lambda line: None)
    print(
        f"{given.project.name}: {figures.steps} steps, seed {given.seed}, {time.monotonic() - started:.0f} s"
    )
    print(f"  {figures.searches} answers, {figures.hits} hits, {figures.stale} stale; no difference")
    for new in (True, False):
        switches = [switch for switch in figures.switches if switch.new is new]
        if switches:
            what = "to a tree never indexed" if new else "to a tree indexed before"
            wall = percentiles([switch.wall for switch in switches])
            processor = percentiles([switch.processor for switch in switches])
            print(f"  {len(switches)} switches {what}: wall {wall}, processor {processor}")
    for name, place in (("whole index", 0), ("shared part", 1)):
        grown = [sizes[place] / 1000 for sizes in figures.commits]
        print(
            f"  {len(grown)} commits, growth of the {name}: median {statistics.median(grown):.1f} kB,"
            f" mean {statistics.mean(grown):.1f} kB"
        )
    whole, shared = run.sizes()
    left, left_shared = run.collected()
    print(
        f"  index at the end {whole / 1e6:.2f} MB (shared part {shared / 1e6:.2f} MB), "
        f"after gc --grace=now {left / 1e6:.2f} MB ({left_shared / 1e6:.2f} MB)"
    )


def percentiles(seconds: Sequence[float]) -> str:
    """Median and 95th percentile."""
    ordered = sorted(seconds)
    p95 = ordered[min(len(ordered) - 1, int(0.95 * len(ordered)))]
    return f"p50 {1000 * statistics.median(ordered):.0f} ms, p95 {1000 * p95:.0f} ms"


if __name__ == "__main__":
    main()
