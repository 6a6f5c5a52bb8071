"""Look-up of definitions: the name of what a project defines once, answered by the place where it does.

    python tests/bench/yardsticks/symbols.py CHECKOUTS OUT [--semble PYTHON --model MODEL] [NAME …]

The definitions come from Universal Ctags (`ctags` on the PATH), which knows nothing of our chunks. Each name
is asked for as it is written, with what it lies in before it, and as the words that it is made of.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path
from typing import Any, NamedTuple

from results import write
from systems import Ours, Semble, checkout, clone

import ctx
from ctx.evaluation.measures import Target
from ctx.evaluation.tasks import SOURCES, kind_of
from ctx.views import paths
from ctx.words.query import words_of

SEED = 4
EACH = 25
"""Queries of each category and project."""
KINDS = frozenset(
    (
        "function func method class interface struct enum trait object typealias type alias generator macro"
    ).split()
)
LANGUAGES = "Kotlin,Java,Python,JavaScript,TypeScript,C#,PHP,Go,Rust"
_NAME = re.compile(r"[A-Za-z_]\w{3,}")
_SHORTEST_WORDS = 3


class Definition(NamedTuple):
    name: str
    scope: str
    path: str
    line: int


def definitions(folder: Path) -> list[Definition]:
    """What the sources of a folder define once, by name; tests, examples and vendored files left out."""
    listing = subprocess.run(
        ["ctags", "-R", f"--languages={LANGUAGES}", "--output-format=json", "--fields=+neK", "-f", "-", "."],
        cwd=folder,
        check=True,
        capture_output=True,
    )
    found: dict[str, set[Definition]] = defaultdict(set)
    for line in listing.stdout.splitlines():
        tag = json.loads(line.decode("utf-8", "replace"))
        if tag.get("_type") != "tag":
            continue
        path = tag["path"].removeprefix("./")
        found[tag["name"]].add(Definition(tag["name"], tag.get("scope", ""), path, tag["line"]))
        if tag["kind"] not in KINDS or not _NAME.fullmatch(tag["name"]) or "anon" in tag["name"].lower():
            found[tag["name"]].add(Definition("", "", path, tag["line"]))  # a name that is not meant
    return sorted(
        next(iter(places))
        for places in found.values()
        if len(places) == 1 and _is_source(next(iter(places)).path)
    )


def _is_source(path: str) -> bool:
    flags = paths.flags(os.fsencode(path), "python")
    return kind_of(flags) == SOURCES and not flags & (paths.VENDORED | paths.DECLARATIONS)


def queries(found: list[Definition], chance: random.Random) -> list[tuple[str, str, Definition]]:
    """Category, text and answer."""
    ways: dict[str, list[tuple[str, Definition]]] = {"name": [], "qualified name": [], "name in words": []}
    for one in found:
        ways["name"].append((one.name, one))
        if _NAME.fullmatch(scope := re.split(r"\W+", one.scope)[-1]) and "anon" not in scope.lower():
            ways["qualified name"].append((f"{scope}.{one.name}", one))
        if len(words := words_of(one.name)) >= _SHORTEST_WORDS:
            ways["name in words"].append((" ".join(words).lower(), one))
    return [
        (category, text, one)
        for category, asked in ways.items()
        for text, one in chance.sample(asked, min(EACH, len(asked)))
    ]


def look_up(checkouts: Path, project: dict[str, Any], out: Any, semble: Semble | None) -> int:
    """Write the results of one project; the number of its queries."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch, project["name"])
        clone(checkouts / project["name"], folder)
        checkout(folder, project["head"])
        asked = queries(definitions(folder), random.Random(f"{SEED}-{project['name']}"))
        texts = [text for _, text, _ in asked]
        with ctx.open(folder) as index:
            ours = Ours(index)
            view = ours.parents.view(index.resolve(project["head"]).tree)
            answers = [(ours.name, ours.search(view, texts))]
        if semble is not None:
            answers.append((semble.name, semble.search(folder, texts)))
        for system, found in answers:
            for (category, text, one), results in zip(asked, found, strict=True):
                path = os.fsencode(one.path)
                write(
                    out, "symbols", system, project, category, f"{project['name']} {category} {text}", text,
                    [Target(path)], [Target(path, ((one.line, one.line),))], results,
                )  # fmt: skip
    return len(asked)


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("checkouts", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--semble", help="the Python of a virtual environment with semble 0.7")
    parser.add_argument("--model", help="a model2vec folder for semble")
    options = parser.parse_args()
    semble = Semble(options.semble, options.model) if options.semble else None
    with options.out.open("a") as out:
        for project in json.loads(Path(__file__).with_name("projects.json").read_text()):
            if options.names and project["name"] not in options.names:
                continue
            done = look_up(options.checkouts, project, out, semble)
            print(f"{project['name']}: {done} names", file=sys.stderr, flush=True)
    if semble is not None:
        semble.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
