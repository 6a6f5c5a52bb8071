"""Results of a benchmark: one line of JSON for each query and program; all measures derive from them."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TextIO

from ctx.search.evaluation.measures import Shown, Target


class Result(NamedTuple):
    """The answer of one program to one query.

    `query` identifies it for both programs; `places` are locations in `files`, `functions` the same with
    whole functions instead of their parts.
    """

    yardstick: str
    system: str
    project: str
    language: str
    category: str
    query: str
    text: str
    files: list[Target]
    places: list[Target]
    functions: list[Target]
    shown: list[Shown]
    tokens: list[int]


def write(
    out: TextIO,
    yardstick: str,
    system: str,
    project: dict[str, Any],
    category: str,
    query: str,
    text: str,
    files: Sequence[Target],
    places: Sequence[Target],
    results: Sequence[Sequence[Any]],
    functions: Sequence[Target] = (),
) -> None:
    """Append a line."""
    record = {
        "yardstick": yardstick,
        "system": system,
        "project": project["name"],
        "language": project["language"],
        "category": category,
        "query": query,
        "text": text,
        "files": [_packed(target) for target in files],
        "places": [_packed(target) for target in places],
        "functions": [_packed(target) for target in functions],
        "results": results,
    }
    out.write(json.dumps(record) + "\n")
    out.flush()


def read(paths: Iterable[str]) -> Iterator[Result]:
    """All results in some files."""
    for path in paths:
        with Path(path).open() as file:
            for line in file:
                found = json.loads(line)
                results = found.pop("results")
                yield Result(
                    **{key: found[key] for key in Result._fields[:7]},
                    files=[_unpacked(target) for target in found["files"]],
                    places=[_unpacked(target) for target in found["places"]],
                    functions=[_unpacked(target) for target in found.get("functions", [])],
                    shown=[Shown(tuple(map(os.fsencode, paths)), a, b) for paths, a, b, _ in results],
                    tokens=[count for *_, count in results],
                )


def _packed(target: Target) -> list[Any]:
    return [os.fsdecode(target.path), [list(lines) for lines in target.lines]]


def _unpacked(packed: list[Any]) -> Target:
    path, lines = packed
    return Target(os.fsencode(path), tuple((first, last) for first, last in lines))
