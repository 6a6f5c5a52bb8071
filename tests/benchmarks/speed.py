"""Compare speed and size with semble 0.7, on the same folders in the same run.

    pip install semble==0.7.0 in a separate virtual environment, then
    python tests/benchmarks/speed.py --semble VENV/bin/python --model MODEL CHECKOUT…

MODEL is a model2vec folder (`tests/benchmarks/semble_model.py` makes one of the static embedding), so that
semble downloads nothing. Each measurement is the best of several runs, in wall-clock and processor seconds;
the machine may be busy, so compare the ratios.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

SEMBLE_INDEX = (
    "import sys; from semble.index import SembleIndex; from semble.cache import save_index_to_cache;"
    "i = SembleIndex.from_path(sys.argv[1]); save_index_to_cache(i, sys.argv[1]);"
    "print(len(i.chunks), sum(len(c.content) for c in i.chunks))"
)
QUERY = "where are errors handled"


class Taken(NamedTuple):
    wall: float
    cpu: float

    def __str__(self) -> str:
        return f"{self.wall:6.2f} s ({self.cpu:6.2f} s cpu)"

    def over(self, other: Taken) -> str:
        return f"{self.wall / other.wall:.2f} ({self.cpu / other.cpu:.2f} cpu)"


def run(command: Sequence[str], cwd: Path, environment: dict[str, str]) -> tuple[Taken, str]:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    started = time.perf_counter()
    done = subprocess.run(
        command, cwd=cwd, env=os.environ | environment, capture_output=True, text=True, check=True
    )
    wall = time.perf_counter() - started
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Taken(wall, cpu), done.stdout


def best(
    times: int, prepare: object, command: Sequence[str], cwd: Path, environment: dict[str, str]
) -> tuple[Taken, str]:
    results = []
    for _ in range(times):
        assert callable(prepare)
        prepare()
        results.append(run(command, cwd, environment))
    fastest = min(results, key=lambda result: result[0].wall)
    return Taken(fastest[0].wall, min(result[0].cpu for result in results)), fastest[1]


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--semble", required=True)
    parser.add_argument("--model", required=True)
    parser.add_argument("--times", type=int, default=2)
    parser.add_argument("checkouts", nargs="+")
    options = parser.parse_args()
    ours = [sys.executable, "-m", "ctx"]
    for checkout in options.checkouts:
        with tempfile.TemporaryDirectory() as scratch:
            folder = Path(scratch, "clone")
            subprocess.run(["git", "clone", "-q", checkout, folder], check=True)
            subprocess.run(
                [
                    "git",
                    "checkout",
                    "-q",
                    "--detach",
                    subprocess.check_output(["git", "-C", checkout, "rev-parse", "HEAD"], text=True).strip(),
                ],
                cwd=folder,
                check=True,
            )
            cache = Path(scratch, "cache")
            semble = {
                "SEMBLE_MODEL_NAME": options.model,
                "SEMBLE_CACHE_LOCATION": str(cache),
                "SEMBLE_INDEX_WORKERS": "0",
            }
            store = folder / ".git" / "ctx"

            def clean(store: Path = store, cache: Path = cache) -> None:
                shutil.rmtree(store, ignore_errors=True)
                shutil.rmtree(cache, ignore_errors=True)

            name = Path(checkout).name
            theirs_cold, counted = best(
                options.times, clean, [options.semble, "-c", SEMBLE_INDEX, str(folder)], folder, semble
            )
            two, _ = best(options.times, clean, [*ours, "index", "--silent", "--jobs", "2"], folder, {})
            cold, _ = best(options.times, clean, [*ours, "index", "--silent", "--jobs", "1"], folder, {})
            run([options.semble, "-c", SEMBLE_INDEX, str(folder)], folder, semble)
            search, _ = best(3 * options.times, int, [*ours, "search", "-n", "5", QUERY], folder, {})
            cli = str(Path(options.semble).with_name("semble"))
            theirs_search, _ = best(
                3 * options.times, int, [cli, "search", QUERY, str(folder)], folder, semble
            )
            chunks, octets = counted.split()
            print(f"{name}: semble {chunks} chunks of {int(octets) / 1e6:.1f} MB")
            print(
                f"  cold index, one process    {cold}  semble {theirs_cold}  ratio {cold.over(theirs_cold)}"
            )
            print(f"  two processes              {two}  gain {cold.wall / two.wall:.2f}")
            print(
                f"  whole search process {search}  semble {theirs_search}  ratio {search.over(theirs_search)}"
            )
            sys.stdout.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main())
