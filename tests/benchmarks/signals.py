"""Interrupt `git ctx index` at random times, and count failures.

    python tests/benchmarks/signals.py <repository> [<runs>]

The repository is cloned. Each run is `timeout -s INT <seconds> git-ctx index` in that clone, every second one
with an empty index. A run is good if it ends within a minute, prints no traceback, and leaves no process and
no lock. At the end the index is completed and compared with one made by a single run.
"""

from __future__ import annotations

import fcntl
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

PROGRAM = Path(sys.executable).with_name("git-ctx")
HANGS = 60.0


def index(clone: Path, *before: str) -> subprocess.CompletedProcess[str]:
    """Run the program with a command line before it."""
    command = [*before, str(PROGRAM), "index"]
    return subprocess.run(command, cwd=clone, capture_output=True, text=True, stdin=subprocess.DEVNULL)


def left(clone: Path) -> list[str]:
    """The processes that work in a directory."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and (entry / "cwd").resolve() == clone:
                found.append(f"{entry.name} {(entry / 'cmdline').read_text()}")
        except OSError:
            continue
    return found


def is_locked(clone: Path) -> bool:
    """True if a process holds the lock of the index."""
    try:
        with open(clone / ".git/ctx/lock", "rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except FileNotFoundError:
        return False
    except BlockingIOError:
        return True
    return False


def names(clone: Path) -> set[str]:
    """The names of the stored objects and snapshots."""
    store = clone / ".git/ctx"
    return {
        str(file.relative_to(store))
        for area in ("objects", "snapshots")
        for file in (store / area).rglob("*")
    }


def main(source: str, runs: int) -> int:
    """Print one line for each kind of outcome, and return the number of failed runs."""
    seed = random.Random(1)
    outcomes: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        clone, whole = Path(folder).resolve() / "clone", Path(folder).resolve() / "whole"
        for place in (clone, whole):
            subprocess.run(["git", "clone", "--quiet", source, str(place)], check=True)
        began = time.monotonic()
        index(whole)
        length = time.monotonic() - began
        for run in range(runs):
            if run % 2 == 0:
                shutil.rmtree(clone / ".git/ctx", ignore_errors=True)
            seconds = f"{seed.uniform(0.03, 1.1 * length):.3f}"
            done = index(clone, "timeout", f"--kill-after={HANGS}", "-s", "INT", seconds)
            outcome = {0: "done before the signal", 124: "ended by the signal", 137: "HANGS"}
            said = outcome.get(done.returncode, f"STATUS {done.returncode}")
            time.sleep(0.1)
            if "Traceback" in done.stderr:
                said = "TRACEBACK" if ", in start\n" in done.stderr else "ended before Python had begun"
            elif left(clone):
                said = "PROCESS LEFT"
            elif is_locked(clone):
                said = "LOCK LEFT"
            outcomes[said] += 1
        last = index(clone)
        same = last.returncode == 0 and names(clone) == names(whole)
    print(f"{runs} runs, one whole run takes {length:.2f} s, {os.cpu_count()} cores")
    for said, count in outcomes.most_common():
        print(f"{count:5} {said}")
    print(f"the index that was completed is {'the same' if same else 'NOT THE SAME'}")
    return sum(count for said, count in outcomes.items() if said.isupper()) + (not same)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 200) > 0)
