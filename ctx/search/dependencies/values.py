"""The nouns of dependencies."""

from __future__ import annotations

from typing import NamedTuple

IMPORTS, REFERENCES, TESTS = "imports", "references", "tests"
"""What an edge says: a statement names the other file, a name of it is used, or a test does one of both."""


class Edge(NamedTuple):
    """One file uses another of the same tree; paths are from its root.

    `symbol` is what is used of the target, or the module's name where all of it is; `line` is where that
    first stands in the source, counted from 1.
    """

    source_path: bytes
    target_path: bytes
    relation: str
    symbol: str
    line: int


class Import(NamedTuple):
    """One thing that a statement imports.

    `module` as it is written, without quotes; `name` what is taken of it, "" for the whole, "*" for
    everything in it. `level` counts the dots of a relative import in Python.
    """

    module: str
    name: str
    line: int
    level: int = 0


class Uses(NamedTuple):
    """What one file uses.

    `names` and `members` (what stands behind a dot) map an identifier to the line of its first place;
    `package` is the package or namespace that the file says it is in, "" for none.
    """

    imports: tuple[Import, ...]
    names: dict[str, int]
    members: dict[str, int]
    package: str
