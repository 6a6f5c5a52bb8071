"""Questions with labelled functions: the share of questions whose function is among the first hits.

    python tests/benchmarks/yardsticks/functions.py run CHECKOUTS OUT [--semble PYTHON --model MODEL]
        [--only NAME …]
    python tests/benchmarks/yardsticks/functions.py report OUT… [--half choose|report] [--by project|language]
    python tests/benchmarks/yardsticks/functions.py report NEW --against OLD [--half …]

CHECKOUTS has one git checkout a project, at the commit of its file in `questions/`. A hit finds a label if it
is in the same file and at least half of its lines are in the label, or at least half of the label's lines are
in the hit and the hit has at most max(3 * label, 60) lines. The projects are divided into two halves: weights
and designs are chosen by the first, and only the second is reported.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import numpy as np
from systems import Semble, checkout, clone

import ctx

QUESTIONS = Path(__file__).with_name("questions")
LIMIT = 50
CUTS = (1, 3, 10, 50)
KINDS = ("where", "symptom", "task", "recall")
RESAMPLES = 4000
SEED = 17


class Place(NamedTuple):
    """Lines of a file, from 1, both inclusive."""

    path: str
    first: int
    last: int


class Row(NamedTuple):
    """A graded question: ranks from 1, None if not found; `lines` are the lengths of the first ten hits."""

    system: str
    project: str
    language: str
    half: str
    id: str
    kind: str
    primary: int | None
    accepted: int | None
    file: int | None
    lines: list[int]


def finds(hit: Place, label: Place) -> bool:
    """Return True if a hit finds a label."""
    if hit.path != label.path:
        return False
    common = min(hit.last, label.last) - max(hit.first, label.first) + 1
    of_hit, of_label = hit.last - hit.first + 1, label.last - label.first + 1
    return common > 0 and (
        2 * common >= of_hit or (2 * common >= of_label and of_hit <= max(3 * of_label, 60))
    )


def rank_of(hits: Sequence[Place], is_found: Callable[[Place], bool]) -> int | None:
    """Return the rank of the first hit that fulfils a condition, from 1."""
    return next((rank for rank, hit in enumerate(hits, 1) if is_found(hit)), None)


def graded(system: str, project: dict[str, Any], question: dict[str, Any], hits: Sequence[Place]) -> Row:
    """Grade the hits of a question."""
    primary = [Place(one["path"], one["start"], one["end"]) for one in question["primary"]]
    accepted = primary + [Place(one["path"], one["start"], one["end"]) for one in question["acceptable"]]
    files = {label.path for label in primary}
    return Row(
        system,
        project["name"],
        project["language"],
        project["half"],
        question["id"],
        question["kind"],
        rank_of(hits, lambda hit: any(finds(hit, label) for label in primary)),
        rank_of(hits, lambda hit: any(finds(hit, label) for label in accepted)),
        rank_of(hits, lambda hit: hit.path in files),
        [hit.last - hit.first + 1 for hit in hits[:10]],
    )


def answer(checkouts: Path, project: dict[str, Any], semble: Semble | None) -> Iterable[Row]:
    """Ask every program the questions of a project, in a clone without an index."""
    found = json.loads((QUESTIONS / f"{project['name']}.json").read_text(encoding="utf-8"))
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch, project["name"])
        clone(checkouts / project["name"], folder)
        checkout(folder, found["commit"])
        with ctx.open(folder) as index:
            for question in found["questions"]:
                hits = index.search(question["question"], revision=found["commit"], limit=LIMIT).hits
                places = [Place(hit.path, *hit.lines) for hit in hits]
                yield graded("git-ctx", project, question, places)
        if semble is not None:
            texts = [question["question"] for question in found["questions"]]
            for question, hits in zip(found["questions"], semble.search(folder, texts), strict=True):
                places = [Place(paths[0], first, last) for paths, first, last, _ in hits]
                yield graded("semble", project, question, places)


def run(options: argparse.Namespace) -> None:
    """Write a line for each question and program."""
    semble = Semble(options.semble, options.model) if options.semble else None
    with options.out.open("a") as out:
        for project in json.loads((QUESTIONS / "projects.json").read_text(encoding="utf-8")):
            if options.only and project["name"] not in options.only:
                continue
            rows = list(answer(options.checkouts, project, semble))
            out.writelines(json.dumps(row._asdict()) + "\n" for row in rows)
            out.flush()
            print(f"{project['name']}: {len(rows)} answers", file=sys.stderr, flush=True)
    if semble is not None:
        semble.close()


def within(rank: int | None, cut: int) -> bool:
    """Return True if a rank is within a cut."""
    return rank is not None and rank <= cut


MEASURES: dict[str, Callable[[Row], float]] = {
    **{f"@{cut}": lambda row, cut=cut: within(row.primary, cut) for cut in CUTS},
    "accepted @1": lambda row: within(row.accepted, 1),
    "accepted @3": lambda row: within(row.accepted, 3),
    "MRR": lambda row: 0.0 if row.primary is None else 1 / row.primary,
    "file @1": lambda row: within(row.file, 1),
    "file @10": lambda row: within(row.file, 10),
}


def interval(values: dict[str, list[float]]) -> tuple[float, float, float]:
    """Return a mean over questions and its 95% interval by a bootstrap over projects."""
    sums, counts = (
        np.array([sum(one) for one in values.values()]),
        np.array([len(one) for one in values.values()]),
    )
    chosen = np.random.default_rng(SEED).integers(0, len(sums), (RESAMPLES, len(sums)))
    means = sums[chosen].sum(axis=1) / counts[chosen].sum(axis=1)
    low, high = np.percentile(means, [2.5, 97.5])
    return float(sums.sum() / counts.sum()), float(low), float(high)


def print_table(rows: Sequence[Row], by: str | None) -> None:
    """Print a table in Markdown."""
    print("| | questions | " + " | ".join(MEASURES) + " | median lines of a hit |")
    print("|---" * (len(MEASURES) + 3) + "|")
    for system in sorted({row.system for row in rows}):
        own = [row for row in rows if row.system == system]
        groups: dict[str, list[Row]] = {
            "all": own,
            "where, symptom, task": [r for r in own if r.kind != "recall"],
        }
        for row in own:
            groups.setdefault(row.kind, []).append(row)
        if by is not None:
            for row in own:
                groups.setdefault(getattr(row, by), []).append(row)
        for name, some in groups.items():
            means = [sum(map(measure, some)) / len(some) for measure in MEASURES.values()]
            cells = [f"{value:.3f}" for value in means]
            length = median([n for row in some for n in row.lines] or [0])
            print(f"| {system}, {name} | {len(some)} | " + " | ".join(cells) + f" | {length:.0f} |")


def print_differences(new: Sequence[Row], old: Sequence[Row]) -> None:
    """Print the differences of two lists of rows over their common questions, with 95% intervals."""
    before = {row.id: row for row in old}
    for title, kinds in (("all", KINDS), ("where, symptom, task", KINDS[:3])):
        for name, measure in MEASURES.items():
            values: dict[str, list[float]] = defaultdict(list)
            for row in new:
                if row.id in before and row.kind in kinds:
                    values[row.project].append(measure(row) - measure(before[row.id]))
            mean, low, high = interval(values)
            print(f"{title:22} {name:12} {mean:+.3f}  [{low:+.3f}, {high:+.3f}]")


def read(paths: Iterable[Path], half: str | None) -> list[Row]:
    """Return the rows of some files; of one half of the projects if it is named."""
    rows = [Row(**json.loads(line)) for path in paths for line in path.read_text().splitlines()]
    return [row for row in rows if half in (None, row.half)]


def report(options: argparse.Namespace) -> None:
    """Print the tables of one or more runs."""
    rows = read(options.results, options.half)
    print_table(rows, options.by)
    ours = [row for row in rows if row.system == "git-ctx"]
    if options.against:
        print("\nagainst the other run")
        print_differences(ours, [r for r in read(options.against, options.half) if r.system == "git-ctx"])
    if others := [row for row in rows if row.system != "git-ctx"]:
        print("\nagainst semble")
        print_differences(ours, others)


def main() -> None:
    parser = argparse.ArgumentParser()
    commands = parser.add_subparsers(required=True)
    asking = commands.add_parser("run")
    asking.add_argument("checkouts", type=Path)
    asking.add_argument("out", type=Path)
    asking.add_argument("--only", nargs="+", metavar="NAME", help="some of the projects")
    asking.add_argument("--semble", help="the Python of a virtual environment with semble 0.7")
    asking.add_argument("--model", help="a model2vec folder for semble")
    asking.set_defaults(call=run)
    showing = commands.add_parser("report")
    showing.add_argument("results", type=Path, nargs="+")
    showing.add_argument("--half", choices=["choose", "report"])
    showing.add_argument("--by", choices=["project", "language"])
    showing.add_argument("--against", type=Path, nargs="+")
    showing.set_defaults(call=report)
    options = parser.parse_args()
    options.call(options)


if __name__ == "__main__":
    main()
