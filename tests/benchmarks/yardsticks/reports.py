"""Long reports: messages of commits that fix something, and the functions that they changed.

    python tests/benchmarks/yardsticks/reports.py collect CHECKOUTS
    python tests/benchmarks/yardsticks/reports.py run CHECKOUTS OUT [--only NAME …]
    python tests/benchmarks/yardsticks/reports.py report OUT [--half choose|report] [--against OLD]
    python tests/benchmarks/yardsticks/reports.py packs CHECKOUTS [--half choose|report]

CHECKOUTS has one clone a project with its history. `collect` writes `reports.json`: commits with a message of
200 characters and more besides the subject that speaks of a fault, and the one to five functions of sources
that they changed and that exist in the parent tree. `run` asks with the whole message at the parent tree. A
hit finds a function as in `functions.py`. Commits whose message names a target are reported apart. `packs`
makes a pack of 8,000 tokens of each report: it holds a function if it shows four fifths of its lines.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from functions import LIMIT, Place, finds, interval, rank_of
from systems import clone

import ctx
from ctx.chunking import chunk
from ctx.chunking.languages import language_of
from ctx.pack.types import PackOptions
from ctx.storage.records import CONTINUES, stored_kinds
from ctx.storage.views import paths

FILE = Path(__file__).with_name("reports.json")
PROJECTS = Path(__file__).with_name("projects.json")
QUESTIONS = Path(__file__).with_name("questions") / "projects.json"
LEFT_OUT = {"pytest"}
COMMITS, EACH = 4000, 20
SHORTEST, MOST_FILES, MOST_TARGETS = 200, 8, 5
CUTS = (1, 5, 10, 20)
HELD = 0.8
"""Share of the lines of a function that a pack must show to hold it."""
TASK = 100_000
"""Largest number of characters of a task."""
ASIDE = paths.TEST | paths.EXAMPLE | paths.VENDORED | paths.DOCS | paths.CONFIG | paths.DATA

_FAULT = re.compile(
    r"\b(fix\w*|bugs?|issues?|crash\w*|regression|wrong\w*|broken|fails?|failed|error)\b", re.I
)
_OTHER = re.compile(
    r"^(revert|merge|bump|release|update dependenc|prepare|version)\b|dependabot|renovate", re.I
)
_TRAILER = re.compile(r"^[A-Z][A-Za-z-]+-[Bb]y: .*$|^Change-Id: .*$|^git-svn-id: .*$", re.M)
_HUNK = re.compile(r"^@@ -(\d+)(?:,(\d+))? ", re.M)


class Row(NamedTuple):
    """The ranks of the targets of a report, from 1, None if not found, and of their files, each once."""

    project: str
    language: str
    half: str
    commit: str
    named: bool
    ranks: list[int | None]
    files: list[int | None]


def git(repository: Path, *arguments: str) -> str:
    """The output of a git command."""
    done = subprocess.run(["git", "-C", repository, *arguments], check=True, capture_output=True)
    return done.stdout.decode("utf-8", "replace")


def message_of(repository: Path, commit: str) -> str:
    """The message of a commit without trailers."""
    return _TRAILER.sub("", git(repository, "log", "-1", "--format=%B", commit)).strip()


def functions_in(source: bytes, path: str) -> list[tuple[Place, str]]:
    """The functions and methods of a file with their names, by the chunker; those of tests left out."""
    chunks = chunk(source, language_of(os.fsencode(path)))
    found: list[tuple[Place, str]] = []
    for one, kind in zip(chunks, stored_kinds(chunks), strict=True):
        first, last = source.count(b"\n", 0, one.start) + 1, source.count(b"\n", 0, one.end) + 1
        if kind & CONTINUES and found and found[-1][1] == one.symbol:
            found[-1] = (found[-1][0]._replace(last=last), one.symbol)
        elif one.kind in ("function", "method") and not one.is_test:
            found.append((Place(path, first, last), one.symbol))
    return found


def targets(repository: Path, commit: str) -> list[tuple[Place, str]] | None:
    """The functions that a commit changed, None if they are not its main part."""
    listing = git(repository, "diff", "--no-renames", "--name-status", "-z", f"{commit}^", commit).split("\0")
    pairs = list(zip(listing[::2], listing[1::2], strict=False))
    sources = [
        path
        for _, path in pairs
        if not paths.flags(os.fsencode(path), language_of(os.fsencode(path))) & ASIDE
    ]
    changed = [path for status, path in pairs if status == "M" and path in sources]
    if not changed or len(sources) > MOST_FILES or len(changed) < len(sources):
        return None
    found: dict[Place, str] = {}
    inside = outside = 0
    for path in changed:
        if language_of(os.fsencode(path)) is None:
            return None
        source = subprocess.run(
            ["git", "-C", repository, "show", f"{commit}^:{path}"], check=True, capture_output=True
        ).stdout
        functions = functions_in(source, path)
        for match in _HUNK.finditer(git(repository, "diff", "-U0", f"{commit}^", commit, "--", path)):
            first, count = int(match[1]), int(match[2] or 1)
            lines = range(first, first + count) if count else range(first, first + 2)
            hit = [
                (place, name)
                for place, name in functions
                if any(place.first <= line <= place.last for line in lines)
                and (count or place.first <= first < place.last)
            ]
            found.update(hit)
            inside, outside = inside + bool(hit), outside + (not hit)
    return list(found.items()) if 0 < len(found) <= MOST_TARGETS and inside >= outside else None


def reports_of(repository: Path, head: str) -> Iterator[dict[str, Any]]:
    """The reports of a project, spread over its history."""
    log = git(repository, "log", "--no-merges", "-n", str(COMMITS), "--format=%H%x00%B%x01", head)
    usable = []
    for entry in log.split("\x01"):
        commit, _, message = entry.strip().partition("\0")
        subject, _, body = _TRAILER.sub("", message).strip().partition("\n")
        if len(body.strip()) >= SHORTEST and _FAULT.search(message) and not _OTHER.search(subject):
            usable.append(commit)
    step = max(1, len(usable) // (3 * EACH))
    count = 0
    for commit in usable[::step]:
        try:
            found = targets(repository, commit)
        except subprocess.CalledProcessError:  # the first commit, or a blob that the clone lacks
            continue
        if found is None:
            continue
        message = message_of(repository, commit)
        words = set(re.findall(r"\w+", message))
        yield {
            "commit": commit,
            "named": any(re.split(r"\W+", name)[-1] in words for _, name in found),
            "targets": [[place.path, place.first, place.last, name] for place, name in found],
        }
        count += 1
        if count == EACH:
            return


def collect(options: argparse.Namespace) -> None:
    """Write `reports.json`."""
    halves = {one["name"]: one["half"] for one in json.loads(QUESTIONS.read_text())}
    listed = []
    for number, project in enumerate(json.loads(PROJECTS.read_text())):
        checkout = options.checkouts / project["name"]
        if project["name"] in LEFT_OUT or not checkout.exists():
            continue
        half = halves.get(project["name"], ("choose", "report")[number % 2])
        found = list(reports_of(checkout, project["head"]))
        print(f"{project['name']}: {len(found)} reports", file=sys.stderr, flush=True)
        listed += [
            {"project": project["name"], "language": project["language"], "half": half} | one for one in found
        ]
    FILE.write_text("[\n" + ",\n".join(json.dumps(one, ensure_ascii=False) for one in listed) + "\n]\n")


def run(options: argparse.Namespace) -> None:
    """Write a line for each report."""
    by_project: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for one in json.loads(FILE.read_text()):
        by_project[one["project"]].append(one)
    with options.out.open("a") as out:
        for name, reports in by_project.items():
            if options.only and name not in options.only:
                continue
            with tempfile.TemporaryDirectory() as scratch:
                folder = Path(scratch, name)
                clone(options.checkouts / name, folder)
                with ctx.open(folder) as index:
                    for one in reports:
                        text = message_of(options.checkouts / name, one["commit"])
                        answer = index.search(text, revision=f"{one['commit']}^", limit=LIMIT)
                        hits = [Place(hit.path, *hit.lines) for hit in answer.hits]
                        wanted = [Place(*target[:3]) for target in one["targets"]]
                        files = list(dict.fromkeys(hit.path for hit in hits))
                        row = Row(
                            name,
                            one["language"],
                            one["half"],
                            one["commit"],
                            one["named"],
                            [rank_of(hits, lambda hit, to=to: finds(hit, to)) for to in wanted],
                            [
                                files.index(path) + 1 if path in files else None
                                for path in dict.fromkeys(place.path for place in wanted)
                            ],
                        )
                        out.write(json.dumps(row._asdict()) + "\n")
            out.flush()
            print(f"{name}: {len(reports)} reports", file=sys.stderr, flush=True)


def _within(ranks: list[int | None], cut: int) -> list[bool]:
    return [rank is not None and rank <= cut for rank in ranks]


MEASURES: dict[str, Callable[[Row], float]] = {
    **{f"all @{cut}": lambda row, cut=cut: all(_within(row.ranks, cut)) for cut in CUTS},
    **{f"any @{cut}": lambda row, cut=cut: any(_within(row.ranks, cut)) for cut in CUTS},
    **{f"files @{cut}": lambda row, cut=cut: all(_within(row.files, cut)) for cut in (1, 5, 10)},
}


def read(path: Path, half: str | None) -> list[Row]:
    """The rows of a run; of one half of the projects if it is named."""
    rows = [Row(**json.loads(line)) for line in path.read_text().splitlines()]
    return [row for row in rows if half in (None, row.half)]


def report(options: argparse.Namespace) -> None:
    """Print a table in Markdown, and the differences from another run with 95% intervals."""
    rows = read(options.results, options.half)
    print("| | reports | " + " | ".join(MEASURES) + " |")
    print("|---" * (len(MEASURES) + 2) + "|")
    for name, some in {
        "all": rows,
        "a target is named": [row for row in rows if row.named],
        "none is named": [row for row in rows if not row.named],
    }.items():
        if some:
            means = [sum(map(measure, some)) / len(some) for measure in MEASURES.values()]
            print(f"| {name} | {len(some)} | " + " | ".join(f"{mean:.3f}" for mean in means) + " |")
    if options.against:
        before = {row.commit: row for row in read(options.against, options.half)}
        for name, measure in MEASURES.items():
            values: dict[str, list[float]] = defaultdict(list)
            for row in rows:
                if row.commit in before:
                    values[row.project].append(measure(row) - measure(before[row.commit]))
            mean, low, high = interval(values)
            print(f"{name:10} {mean:+.3f}  [{low:+.3f}, {high:+.3f}]")


def packs(options: argparse.Namespace) -> None:
    """Print the share of the reports whose pack holds all changed functions, and any of them.

    The index of each checkout is written into its git directory.
    """
    held: dict[str, dict[str, list[float]]] = {"all": defaultdict(list), "any": defaultdict(list)}
    for one in json.loads(FILE.read_text()):
        if options.half not in (None, one["half"]):
            continue
        checkout = options.checkouts / one["project"]
        with ctx.open(checkout) as index:
            text = message_of(checkout, one["commit"])[:TASK]
            made = index.pack(text, PackOptions(revision=f"{one['commit']}^")).pack
        shown = {
            (file.path, line)
            for file in made.files
            for excerpt in file.excerpts
            for first, last in excerpt.ranges
            if excerpt.why != "signature"
            for line in range(first, last + 1)
        }
        shares = [
            sum((path, line) in shown for line in range(first, last + 1)) / (last + 1 - first)
            for path, first, last, *_ in one["targets"]
        ]
        held["all"][one["project"]].append(min(shares) >= HELD)
        held["any"][one["project"]].append(max(shares) >= HELD)
    for name, values in held.items():
        mean, low, high = interval(values)
        print(f"{name}: {mean:.3f}  [{low:.3f}, {high:.3f}]")


def main() -> None:
    parser = argparse.ArgumentParser()
    commands = parser.add_subparsers(required=True)
    collecting = commands.add_parser("collect")
    collecting.add_argument("checkouts", type=Path)
    collecting.set_defaults(call=collect)
    packing = commands.add_parser("packs")
    packing.add_argument("checkouts", type=Path)
    packing.add_argument("--half", choices=["choose", "report"])
    packing.set_defaults(call=packs)
    asking = commands.add_parser("run")
    asking.add_argument("checkouts", type=Path)
    asking.add_argument("out", type=Path)
    asking.add_argument("--only", nargs="+", metavar="NAME", help="some of the projects")
    asking.set_defaults(call=run)
    showing = commands.add_parser("report")
    showing.add_argument("results", type=Path)
    showing.add_argument("--half", choices=["choose", "report"])
    showing.add_argument("--against", type=Path)
    showing.set_defaults(call=report)
    options = parser.parse_args()
    options.call(options)


if __name__ == "__main__":
    main()
