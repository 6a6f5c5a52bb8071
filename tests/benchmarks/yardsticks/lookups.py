"""Benchmarks that search for one location in the last tree of a project: a definition, a message."""

from __future__ import annotations

import json
import os
import random
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from results import write
from systems import Ours, Semble, checkout, clone, command_line

import ctx
from ctx.search.evaluation.measures import Target
from ctx.search.evaluation.tasks import SOURCES, kind_of
from ctx.storage.views import paths

SEED = 4


class Asked(NamedTuple):
    """A query and the line that answers it."""

    category: str
    text: str
    path: str
    line: int


Ask = Callable[[Path, random.Random], list[Asked]]
"""Return the queries for the files of a folder."""


def is_source(path: str) -> bool:
    """Return True for the path of a source of the project that is no test, example or vendored file."""
    flags = paths.flags(os.fsencode(path), "python")
    return kind_of(flags) == SOURCES and not flags & (paths.VENDORED | paths.DECLARATIONS)


def run(yardstick: str, ask: Ask) -> int:
    """Read the command line, query every project, write the results, and return the exit status."""
    options = command_line("checkouts", "out").parse_intermixed_args()
    semble = Semble(options.semble, options.model) if options.semble else None
    with options.out.open("a") as out:
        for project in json.loads(Path(__file__).with_name("projects.json").read_text()):
            if options.names and project["name"] not in options.names:
                continue
            with tempfile.TemporaryDirectory() as scratch:
                folder = Path(scratch, project["name"])
                clone(options.checkouts / project["name"], folder)
                checkout(folder, project["head"])
                asked = ask(folder, random.Random(f"{SEED}-{project['name']}"))
                for system, found in _answers(folder, project["head"], [one.text for one in asked], semble):
                    for one, results in zip(asked, found, strict=True):
                        path = os.fsencode(one.path)
                        write(
                            out, yardstick, system, project, one.category,
                            f"{project['name']} {one.category} {one.text}", one.text,
                            [Target(path)], [Target(path, ((one.line, one.line),))], results,
                        )  # fmt: skip
            print(f"{project['name']}: {len(asked)} {yardstick}", file=sys.stderr, flush=True)
    if semble is not None:
        semble.close()
    return 0


def _answers(
    folder: Path, revision: str, texts: Sequence[str], semble: Semble | None
) -> list[tuple[str, list[Any]]]:
    """The name of each program with its results for each text."""
    with ctx.open(folder) as index:
        ours = Ours(index)
        found = [(ours.name, ours.search(ours.parents.view(index.resolve(revision).tree), texts))]
    if semble is not None:
        found.append((semble.name, semble.search(folder, texts)))
    return found
