"""Where an import leads."""

from __future__ import annotations

from typing import NamedTuple


class Target(NamedTuple):
    """`files` are imported themselves; `folders` hold what is imported, in whichever file it is defined."""

    files: tuple[str, ...] = ()
    folders: tuple[str, ...] = ()


NOWHERE = Target()
"""Not in this tree: a library, or a name that is no file."""
