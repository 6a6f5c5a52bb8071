"""git-ctx: semantic code search that lives inside git.

    import ctx

    with ctx.open("path/to/repository") as index:
        for hit in index.search("where are sessions refreshed?").hits:
            print(hit.path, hit.position.start_line, hit.symbol)

Importing this package imports neither numpy nor pygit2; the first use does.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from ctx._version import __version__

if TYPE_CHECKING:
    from ctx.index import Index


def open(path: str | os.PathLike[str] = ".") -> Index:
    """Open the index of the repository that contains `path`. Raises `ctx.errors.NotARepository`."""
    from ctx.index import Index

    return Index(path)


__all__ = ["__version__", "open"]
