"""A repository map for a model, modelled on Aider's: the signatures with the most references.

Files are nodes; a file that names a definition of another one refers to it. PageRank, biased towards names in
the task, ranks the definitions; their signatures fill the budget, best first. A baseline, not part of
git-ctx.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from ctx.pack.outline import Outline

_NAME = re.compile(r"[A-Za-z_$][\w$]{2,}")
_DAMPING, _ROUNDS, _MENTIONED = 0.85, 30, 10.0
_MOST_DEFINERS = 5


class File(NamedTuple):
    """A source file: its lines, its definitions, the frequency of each name."""

    path: str
    lines: Sequence[str]
    outline: Outline
    names: Mapping[str, int]


def names_in(text: str) -> Counter[str]:
    """The frequency of each name in a text."""
    return Counter(_NAME.findall(text))


def repository_map(
    files: Sequence[File], task: str, budget: int, count: Callable[[str], int]
) -> dict[str, set[int]]:
    """The lines of each path that the map shows."""
    definers: dict[str, set[int]] = defaultdict(set)
    for number, file in enumerate(files):
        for item in file.outline.items:
            definers[item.name.rpartition(".")[2]].add(number)
    mentioned = set(_NAME.findall(task))
    source, target, weight, named = [], [], [], []
    for number, file in enumerate(files):
        for name, times in file.names.items():
            places = definers.get(name)
            if not places or len(places) > _MOST_DEFINERS:
                continue
            worth = times**0.5 * (_MENTIONED if name in mentioned else 1.0)
            for place in sorted(places - {number}):
                source.append(number)
                target.append(place)
                weight.append(worth)
                named.append(name)
    size = len(files)
    start = np.array([
        1.0 + _MENTIONED * len(mentioned & set(_NAME.findall(file.path))) for file in files
    ])  # fmt: skip
    start /= start.sum()
    rank = start.copy()
    ends, heads, worth_of = np.array(source, int), np.array(target, int), np.array(weight)
    out = np.bincount(ends, worth_of, size)
    for _ in range(_ROUNDS):
        flow = rank[ends] * worth_of / out[ends]
        rank = (1 - _DAMPING) * start + _DAMPING * (
            np.bincount(heads, flow, size) + rank[out == 0].sum() * start
        )
    of_definition: Counter[tuple[int, str]] = Counter()
    for place, name, flow_in in zip(target, named, (rank[ends] * worth_of / out[ends]).tolist(), strict=True):
        of_definition[place, name] += flow_in
    shown: dict[str, set[int]] = defaultdict(set)
    used = 0
    for (place, name), _ in sorted(of_definition.items(), key=lambda pair: (-pair[1], pair[0])):
        file = files[place]
        for item in file.outline.items:
            if item.name.rpartition(".")[2] != name or item.named in shown[file.path]:
                continue
            text = file.lines[item.named - 1] + "\n" + ("" if shown[file.path] else file.path + ":\n")
            used += count(text)
            if used > budget:
                return shown
            shown[file.path].add(item.named)
    return shown
