"""Measure how many functions changed by a commit are in a text made from its message within a token budget.

    python tests/benchmarks/pack.py CHECKOUTS OUT [--commits N] [NAME …]     replay, one line of JSON a commit
    python tests/benchmarks/pack.py --report OUT                             tables
    python tests/benchmarks/pack.py --speed REPOSITORY TASK                  time of a pack and of an update

CHECKOUTS has a clone of each project of `yardsticks/projects.json`. Each text is made from the tree before
the commit: a pack, search hits in order, whole files in the order of the hits, and a map of the repository. A
function counts as `shown` if all of its changed lines are in the text, as `named` if the line with its name
is.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).with_name("yardsticks")))

from repomap import File, names_in, repository_map
from systems import clone

import ctx
from ctx.git.resolution import REVISION, Resolution
from ctx.index import Index
from ctx.pack.making import pack_of, rank
from ctx.pack.outline import Item, Outline, outline
from ctx.pack.task import read_task
from ctx.pack.types import PackOptions
from ctx.search.evaluation.commits import Commit, commits
from ctx.search.evaluation.parents import Parents
from ctx.search.evaluation.tasks import SOURCES, task_of
from ctx.search.hits import FileFilter, search_view
from ctx.search.opening import OpenedTree
from ctx.storage.views.view import NO_SEGMENT, View
from ctx.text.contents import to_text
from ctx.text.tokens import counter
from ctx.types import Answer, Coverage, Hit

BUDGETS = (4_000, 8_000, 16_000)
COMMITS = 10
_LOOKED_AT = 3_000
_HITS = 250
_MOST_MAPPED = 3_000
"""Most source files of a tree that gets a map; larger trees are excluded from all figures."""

Shown = Mapping[str, Iterable[int]]
"""The lines of each path in a text."""


class Target(NamedTuple):
    """A function changed by a commit: its changed lines, and the line with its name."""

    path: str
    item: Item
    lines: tuple[int, ...]


class Trees:
    """The parent trees of commits with the outlines of their files, each read once."""

    def __init__(self, index: Index) -> None:
        self.index = index
        self.parents = Parents(index.session)
        self._files: dict[bytes, tuple[list[str], Outline, Mapping[str, int]]] = {}

    def file(self, blob: bytes, language: str | None) -> tuple[list[str], Outline, Mapping[str, int]]:
        """Lines, outline and names of a file."""
        if blob not in self._files:
            content = self.index.repository.read_blob(blob)
            text = to_text(content, 0, len(content))
            self._files[blob] = (text.split("\n"), outline(content, language), names_in(text))
        return self._files[blob]

    def sources(self, view: View) -> list[tuple[str, bytes, str | None]]:
        """Path, blob and language of each source file of a tree."""
        found = []
        for file in range(view.files):
            if view.file_segment[file] == NO_SEGMENT or int(view.file_flags[file]):
                continue
            blob, language = view.segments[view.file_segment[file]].key(int(view.file_document[file]))
            found.append((os.fsdecode(view.path(file)), blob, language or None))
        return found


def targets(trees: Trees, view: View, commit: Commit, wanted: set[bytes]) -> list[Target]:
    """The functions that a commit changed in some files; changes outside of functions are ignored."""
    keys = {path: (blob, language) for path, blob, language in trees.sources(view)}
    found: dict[tuple[str, Item], list[int]] = defaultdict(list)
    for change in commit.changes:
        path = os.fsdecode(change.path)
        if change.path not in wanted or path not in keys:
            continue
        made = trees.file(*keys[path])[1]
        for first, last in change.lines:
            for line in range(first, last + 1):
                for number in made.around(line, line):
                    if not made.items[number].members:
                        found[path, made.items[number]].append(line)
    return [Target(path, item, tuple(lines)) for (path, item), lines in found.items()]


def replay(checkouts: Path, project: dict[str, Any], out: Any, most: int) -> int:
    """Write the results of each text for the commits of one project, and return the number of commits."""
    count = counter()
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch, project["name"])
        clone(checkouts / project["name"], folder)
        with ctx.open(folder) as index:
            trees = Trees(index)
            head = index.repository.commit_of(project["head"])
            assert head is not None, f"{project['name']} lacks {project['head']}"
            done = 0
            for commit in commits(index.repository, head, _LOOKED_AT):
                if commit.left_out is not None:
                    continue
                view = trees.parents.view(index.repository.commit_info(commit.parent).tree)
                task = task_of(commit, view, trees.parents.records(view))
                if isinstance(task, str) or task.kind != SOURCES:
                    continue
                if len(trees.sources(view)) > _MOST_MAPPED:
                    return done
                wanted = targets(trees, view, commit, {target.path for target in task.files})
                if not wanted:
                    continue
                text = f"{commit.subject}\n\n{commit.body}".strip()
                results = {
                    "pack": packs(trees, view, text, wanted),
                    "hits": plain(trees, view, text, wanted, count),
                    "files": whole_files(trees, view, text, wanted, count),
                    "map": mapped(trees, view, text, wanted, count),
                }
                line = {
                    "project": project["name"],
                    "language": project["language"],
                    "commit": commit.oid.hex(),
                    "chunks": view.chunks,
                    "functions": [f"{one.path}:{one.item.named} {one.item.name}" for one in wanted],
                    "results": results,
                }
                out.write(json.dumps(line) + "\n")
                out.flush()
                done += 1
                if done == most:
                    break
    return done


def grade(wanted: list[Target], shown: Shown) -> dict[str, float]:
    """Shares of the functions that are shown and named."""
    lines = {path: set(numbers) for path, numbers in shown.items()}
    whole = [set(one.lines) <= lines.get(one.path, set()) for one in wanted]
    named = [one.item.named in lines.get(one.path, set()) for one in wanted]
    return {"shown": sum(whole) / len(wanted), "named": sum(named) / len(wanted)}


def packs(trees: Trees, view: View, text: str, wanted: list[Target]) -> dict[str, Any]:
    """A pack of each size; `seconds` are processor time."""
    index = trees.index
    about = Answer(
        hits=[],
        revision="parent",
        commit=None,
        tree=view.tree.hex(),
        resolved_by=REVISION,
        coverage=Coverage(complete=True, files=view.files, chunks=view.chunks, skipped={}),
    )
    opened = OpenedTree(Resolution(view.tree, None, "parent", REVISION), view, about, lambda _: None)
    found: dict[str, Any] = {}
    for budget in BUDGETS:
        options = PackOptions(budget)
        started = time.process_time()
        hints = tuple(read_task(text))
        ranking = rank(index.session, opened, {}, text, options, hints)
        made = pack_of(ranking, counter())
        seconds = time.process_time() - started
        shown: dict[str, set[int]] = defaultdict(set)
        for file in made.pack.files:
            for excerpt in file.excerpts:
                for first, last in excerpt.ranges:
                    shown[file.path].update(range(first, last + 1))
        assert made.pack.tokens <= budget
        found[str(budget)] = {**grade(wanted, shown), "tokens": made.pack.tokens, "seconds": seconds}
    return found


def plain(
    trees: Trees, view: View, text: str, wanted: list[Target], count: Callable[[str], int]
) -> dict[str, Any]:
    """Search hits in order, each below its location, as many as fit."""
    parts = [(hit, count(f"{hit.path}:{hit.lines[0]}\n{body}\n")) for hit, body in _hits(trees, view, text)]
    found = {}
    for budget in BUDGETS:
        used = 0
        shown: dict[str, set[int]] = defaultdict(set)
        for hit, tokens in parts:
            if used + tokens <= budget:
                used += tokens
                first, last = hit.lines
                shown[hit.path].update(range(first, last + 1))
        found[str(budget)] = grade(wanted, shown)
    return found


def whole_files(
    trees: Trees, view: View, text: str, wanted: list[Target], count: Callable[[str], int]
) -> dict[str, Any]:
    """Whole files in the order of the hits; the first one that does not fit is truncated and the last."""
    order = list(dict.fromkeys((hit.path, hit.blob, hit.language) for hit, _ in _hits(trees, view, text)))
    found = {}
    for budget in BUDGETS:
        used = 0
        shown: dict[str, set[int]] = defaultdict(set)
        for path, blob, language in order:
            for number, line in enumerate(trees.file(bytes.fromhex(blob), language)[0], 1):
                used += count(line + "\n")
                if used > budget:
                    break
                shown[path].add(number)
            if used > budget:
                break
        found[str(budget)] = grade(wanted, shown)
    return found


def mapped(
    trees: Trees, view: View, text: str, wanted: list[Target], count: Callable[[str], int]
) -> dict[str, Any]:
    """A map of the repository."""
    files = [File(path, *trees.file(blob, language)) for path, blob, language in trees.sources(view)]
    return {str(budget): grade(wanted, repository_map(files, text, budget, count)) for budget in BUDGETS}


def _hits(trees: Trees, view: View, text: str) -> list[tuple[Hit, str]]:
    records = partial(trees.index.session.record, view)
    hits = search_view(view, records, text, _HITS, FileFilter(trees.index.repository)).hits
    return [(hit, trees.index.session.text(hit) or "") for hit in hits]


def report(path: Path) -> None:
    """Print the tables."""
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    functions = sum(len(line["functions"]) for line in lines)
    projects = {line["project"] for line in lines}
    print(f"{len(lines)} commits of {len(projects)} projects, {functions} changed functions\n")
    print("| text | measure | " + " | ".join(f"{budget:,}" for budget in BUDGETS) + " |")
    print("|---|---|" + "---|" * len(BUDGETS))
    for name in ("pack", "hits", "files", "map"):
        for measure in ("shown", "named"):
            means = [
                statistics.mean(line["results"][name][str(budget)][measure] for line in lines)
                for budget in BUDGETS
            ]
            print(f"| {name} | {measure} | " + " | ".join(f"{mean:.1%}" for mean in means) + " |")
    print()
    for budget in BUDGETS:
        own = [line["results"]["pack"][str(budget)] for line in lines]
        better = worse = 0
        for line in lines:
            one, other = (line["results"][name][str(budget)]["shown"] for name in ("pack", "hits"))
            better += one > other
            worse += one < other
        seconds = sorted(one["seconds"] for one in own)
        used = statistics.median(one["tokens"] for one in own)
        print(
            f"{budget:,}: {used:,.0f} tokens used (median); more than hits in {better} commits, "
            f"less in {worse}; {seconds[len(seconds) // 2]:.3f} s of processor time (median), "
            f"{seconds[int(len(seconds) * 0.95)]:.3f} s (95 of 100)"
        )


def speed(repository: Path, task: str) -> None:
    """Print the minimum time of a pack and of an update in a warm process."""
    with tempfile.TemporaryDirectory() as scratch, ctx.open(clone_of(repository, scratch)) as index:
        chunks = index.search(task).coverage.chunks
        made = index.pack(task)
        index.packs.write(made.pack, made.prompt)
        for name, call in (
            ("pack", partial(index.pack, task)),
            ("update", partial(index.update_pack, made.pack)),
        ):
            wall, processor = [], []
            for _ in range(7):
                before, used = time.perf_counter(), time.process_time()
                call()
                wall.append(time.perf_counter() - before)
                processor.append(time.process_time() - used)
            print(f"{name}: {min(wall):.3f} s, {min(processor):.3f} s of processor time, {chunks:,} chunks")


def clone_of(repository: Path, scratch: str) -> Path:
    """A clone with its files."""
    import subprocess

    folder = Path(scratch, "clone")
    subprocess.run(["git", "clone", "-q", repository, folder], check=True)
    return folder


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("places", nargs="*")
    parser.add_argument("--commits", type=int, default=COMMITS)
    parser.add_argument("--report", type=Path)
    parser.add_argument("--speed", action="store_true")
    options = parser.parse_intermixed_args()
    if options.report:
        report(options.report)
        return 0
    if options.speed:
        speed(Path(options.places[0]), " ".join(options.places[1:]))
        return 0
    checkouts, out, *names = options.places
    projects = json.loads((Path(__file__).parent / "yardsticks/projects.json").read_text())
    with open(out, "a") as file:
        for project in projects:
            if names and project["name"] not in names:
                continue
            started = time.monotonic()
            done = replay(Path(checkouts), project, file, options.commits)
            print(
                f"{project['name']}: {done} commits, {time.monotonic() - started:.0f} s",
                file=sys.stderr,
                flush=True,
            )
    return 0


if __name__ == "__main__":
    sys.exit(main())
