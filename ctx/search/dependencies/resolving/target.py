"""Result of import resolution."""

from __future__ import annotations

from typing import NamedTuple


class Target(NamedTuple):
    """`files` are imported directly; `folders` contain the imported definitions in any of their files."""

    files: tuple[str, ...] = ()
    folders: tuple[str, ...] = ()


NOWHERE = Target()
"""Target of an import that is not in the tree: a library, or a name that is not a file."""
