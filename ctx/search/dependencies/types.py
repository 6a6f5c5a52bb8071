"""Value types of dependencies."""

from __future__ import annotations

from typing import NamedTuple

IMPORTS, REFERENCES, TESTS = "imports", "references", "tests"
"""Relation of an edge: an import statement, the use of a name, or either of them from a test."""


class Edge(NamedTuple):
    """A use of one file by another in the same tree; paths are relative to the root.

    `symbol` is the name that is used, or the module name if the whole module is imported. `line` is its first
    line in the source, counted from 1.
    """

    source_path: bytes
    target_path: bytes
    relation: str
    symbol: str
    line: int


class Import(NamedTuple):
    """One name or module imported by a statement.

    `module` is as written, without quotes. `name` is the imported name, "" for the module itself, "*" for all
    its names. `level` is the number of dots of a relative import in Python.
    """

    module: str
    name: str
    line: int
    level: int = 0


class Uses(NamedTuple):
    """Imports and identifiers of one file.

    `names` and `members` (identifiers after a dot) map an identifier to the line of its first occurrence.
    `package` is the package or namespace that the file declares, "" for none.
    """

    imports: tuple[Import, ...]
    names: dict[str, int]
    members: dict[str, int]
    package: str


class Target(NamedTuple):
    """The target of an import: `files`, or `folders` of which any file may contain the definitions."""

    files: tuple[str, ...] = ()
    folders: tuple[str, ...] = ()


NOWHERE = Target()
"""Target of an import that is not in the tree: a library, or a name that is not a file."""
