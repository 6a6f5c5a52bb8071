"""Look up names that a project defines once, answered by the location of the definition.

    python tests/benchmarks/yardsticks/symbols.py CHECKOUTS OUT [--semble PYTHON --model MODEL] [NAME …]

The definitions come from Universal Ctags (`ctags` on the PATH), which is independent of our chunks. Each name
is searched as written, with its scope before it, and as its words.
"""

from __future__ import annotations

import json
import random
import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from typing import NamedTuple

from lookups import Asked, is_source, run

from ctx.text.query import words_of

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
    """Names that the sources of a folder define once, without tests, examples and vendored files."""
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
            found[tag["name"]].add(Definition("", "", path, tag["line"]))  # an ambiguous name
    return sorted(
        next(iter(places))
        for places in found.values()
        if len(places) == 1 and is_source(next(iter(places)).path)
    )


def ask(folder: Path, chance: random.Random) -> list[Asked]:
    """Some names of each category."""
    ways: dict[str, list[tuple[str, Definition]]] = {"name": [], "qualified name": [], "name in words": []}
    for one in definitions(folder):
        ways["name"].append((one.name, one))
        if _NAME.fullmatch(scope := re.split(r"\W+", one.scope)[-1]) and "anon" not in scope.lower():
            ways["qualified name"].append((f"{scope}.{one.name}", one))
        if len(words := words_of(one.name)) >= _SHORTEST_WORDS:
            ways["name in words"].append((" ".join(words).lower(), one))
    return [
        Asked(category, text, one.path, one.line)
        for category, asked in ways.items()
        for text, one in chance.sample(asked, min(EACH, len(asked)))
    ]


if __name__ == "__main__":
    sys.exit(run("symbols", ask))
