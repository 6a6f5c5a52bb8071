"""Test that forty processes in one repository with several work trees lose nothing and answer correctly.

    python tests/benchmarks/crowd.py PROJECT [--processes 40] [--rounds 3] [--deaths 300]

In each round every linked work tree of a clone gets its own commit and uncommitted files. Then processes that
search (with and without those files), index, collect without a grace period, and check the store are started
together. Each answer is compared with that of a new index of the same tree. At the end nothing may be
damaged. Afterwards, work is killed at `--deaths` points (tests/maintenance/killing.py).
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

TESTS = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS), str(TESTS / "end_to_end")]
PROGRAM = [sys.executable, "-m", "ctx"]
ISOLATED = {
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    **{f"GIT_{who}_{what}": "crowd" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")},
}
QUERIES = ("where are errors handled", "parse the configuration", "open")
WORK_TREES = 4
TASKS = (
    ("search", QUERIES[0]),
    ("index", "--silent"),
    ("search", QUERIES[1], "--no-overlay"),
    ("gc", "--grace=now", "--silent"),
    ("search", QUERIES[2]),
    ("search", QUERIES[0], "--no-overlay"),
    ("fsck", "--dry-run"),
    ("index", "--silent", "--jobs", "2"),
)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("project", type=Path)
    parser.add_argument("--processes", type=int, default=40)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--deaths", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    os.environ.update(ISOLATED)
    with tempfile.TemporaryDirectory(prefix="git-ctx-crowd-") as scratch:
        crowd(given, Path(scratch))


def crowd(given: argparse.Namespace, scratch: Path) -> None:
    """Run all rounds, then kill work."""
    from truth import Reference
    from walk import Walk

    walk = Walk(given.project.resolve(), scratch, given.seed, span=WORK_TREES * given.rounds * 3 + 20)
    walk.main.git("config", "ctx.catchUp", "always")
    for number in range(WORK_TREES - 1):
        walk.main.git("worktree", "add", "--quiet", "-b", f"work{number}", str(scratch / f"work{number}"))
        walk.places.append(type(walk.main)(scratch / f"work{number}"))
    reference = Reference(walk.main, scratch)
    for number in range(given.rounds):
        for place in walk.places:
            walk.here = place
            walk.take(walk.real())
            walk.git("add", "--all")
            walk.commit("--allow-empty")
            walk.take(walk.real())
        walk.main.git("reflog", "expire", "--expire=now", "--expire-unreachable=now", "--all")
        started = time.monotonic()
        running = []
        for each in range(given.processes):
            place = walk.places[each % WORK_TREES]
            task = TASKS[each // WORK_TREES % len(TASKS)]
            if task[0] == "search":
                task = (*task, "--json-output", "--no-content", "-n", "30")
            running.append((place, task, start(place.path, task)))
        counted: Counter[str] = Counter()
        given_up = 0
        answers = []
        for place, task, process in running:
            out, err = process.communicate()
            if task[0] == "gc":
                # A collection waits for other processes for a few seconds only.
                given_up += err.count("is working on this index")
            allowed = (0, 1) if task[0] == "search" else (0,)
            assert process.returncode in allowed, (place.path.name, task, process.returncode, out, err)
            counted[task[0]] += 1
            if task[0] == "search":
                answers.append((place, task, out))
        seconds = time.monotonic() - started
        known: dict[tuple[str, str], list[Any]] = {}
        for place, task, out in answers:
            overlay = "--no-overlay" not in task
            tree = reference.work_tree(place) if overlay else walk_tree(place)
            if (tree, task[1]) not in known:
                known[tree, task[1]] = from_scratch(reference, tree, task)
            assert comparable(out) == known[tree, task[1]], (place.path.name, task, tree, out)
        print(
            f"round {number + 1}: {len(running)} processes in {seconds:.1f} s ({dict(counted)}, "
            f"collections gave way {given_up} times): {len(answers)} answers as from scratch",
            flush=True,
        )
    done = subprocess.run([*PROGRAM, "fsck", "--full"], cwd=walk.main.path, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    print("fsck --full finds nothing")
    if given.deaths:
        walk.here = walk.main
        walk.take(walk.real())
        walk.git("add", "--all")
        walk.commit("--allow-empty")
        walk.take(walk.real())
        killed(walk.main.path, given.seed, given.deaths)


def start(path: Path, task: tuple[str, ...]) -> subprocess.Popen[str]:
    """Start the program and do not wait. A collection that finds the store in use ends."""
    command = [*PROGRAM, *task]
    if task[0] == "gc":
        command = ["sh", "-c", 'for i in 1 2 3 4 5 6 7 8 9; do "$@" && break; done', "sh", *command]
    return subprocess.Popen(
        command,
        cwd=path,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(TESTS.parent)},
    )


def walk_tree(place: Any) -> str:
    """The tree of HEAD."""
    return str(place.git("rev-parse", "HEAD^{tree}").decode())


def comparable(out: str) -> list[Any]:
    """The fields of a JSON answer that must be equal: hits with scores, their tree, its coverage.

    The message is not compared: it names uncommitted files, and a named tree has none.
    """
    answer = json.loads(out.splitlines()[-1])
    return [answer[name] for name in ("tree", "results", "coverage")]


def from_scratch(reference: Any, tree: str, task: tuple[str, ...]) -> list[Any]:
    """Ask the same question after removing the index of a repository."""
    reference.forget()
    words = [word for word in task if word != "--no-overlay"]
    done = start(reference.repo.path, (*words, "--revision", tree))
    out, err = done.communicate()
    assert done.returncode in (0, 1), err
    return comparable(out)


def killed(path: Path, seed: int, points: int) -> None:
    """Kill work at this many points of each kind."""
    script = TESTS / "maintenance" / "killing.py"
    for work in ("index", "gc", "background", "search", "remove"):
        subprocess.run(
            [sys.executable, script, path, str(seed), str(points), work],
            check=True,
            env={**os.environ, "PYTHONPATH": str(TESTS.parent), "OPENBLAS_NUM_THREADS": "1"},
        )


if __name__ == "__main__":
    main()
