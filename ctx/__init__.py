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
    from collections.abc import Callable

    from ctx.index import Index
    from ctx.reports import IndexPlan, Progress


def open(
    path: str | os.PathLike[str] = ".",
    *,
    on_progress: Callable[[Progress], None] | None = None,
    on_plan: Callable[[IndexPlan], None] | None = None,
) -> Index:
    """Open the index of the repository that contains `path`. Raises `ctx.errors.NotARepository`.

    `on_progress` is called while a tree is indexed, `on_plan` with the cost of indexing a named revision
    before a search does so.
    """
    from ctx.index import Index

    return Index(path, on_progress=on_progress, on_plan=on_plan)


__all__ = ["__version__", "open"]
