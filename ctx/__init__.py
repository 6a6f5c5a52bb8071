"""git-ctx: semantic code search that lives inside git.

    import ctx

    with ctx.open("path/to/repository") as index:
        for hit in index.search("where are sessions refreshed?").hits:
            print(hit.path, hit.lines, hit.symbol)

docs/python-api.md describes the interface. Importing this package imports neither numpy nor pygit2; the first
use does.
"""

from __future__ import annotations

import os
from importlib import import_module
from typing import TYPE_CHECKING, Any

from ctx._version import __version__

if TYPE_CHECKING:
    from collections.abc import Callable

    from ctx.errors import (
        CtxError,
        GitFailed,
        NotARepository,
        NothingCommitted,
        RemoteFailed,
        ServiceFailed,
        StoreUnusable,
        UnknownRevision,
        UsageError,
    )
    from ctx.history.answer import CommitFilters
    from ctx.index import Index
    from ctx.pack.types import PackOptions
    from ctx.pack.updating import UpdateOptions
    from ctx.types import COMMITTED, STAGED, WORK_TREE, Answer, Hit, IndexPlan, ModelOptions, Progress

__all__ = [
    "COMMITTED",
    "STAGED",
    "WORK_TREE",
    "Answer",
    "CommitFilters",
    "CtxError",
    "GitFailed",
    "Hit",
    "Index",
    "ModelOptions",
    "NotARepository",
    "NothingCommitted",
    "PackOptions",
    "RemoteFailed",
    "ServiceFailed",
    "StoreUnusable",
    "UnknownRevision",
    "UpdateOptions",
    "UsageError",
    "__version__",
    "open",
]

_MODULES = {
    "CommitFilters": "ctx.history.answer",
    "Index": "ctx.index",
    "PackOptions": "ctx.pack.types",
    "UpdateOptions": "ctx.pack.updating",
}
_MODULES |= dict.fromkeys(("COMMITTED", "STAGED", "WORK_TREE", "Answer", "Hit", "ModelOptions"), "ctx.types")


def open(
    path: str | os.PathLike[str] = ".",
    *,
    on_progress: Callable[[Progress], None] | None = None,
    on_plan: Callable[[IndexPlan], None] | None = None,
) -> Index:
    """Open the index of the repository that contains `path`. Raises `NotARepository`.

    `on_progress` is called while a tree is indexed, `on_plan` with the cost of indexing a named revision
    before a search does so.
    """
    from ctx.index import Index

    return Index(path, on_progress=on_progress, on_plan=on_plan)


def __dir__() -> list[str]:
    """Return the public names, not the modules below."""
    return sorted(__all__)


def __getattr__(name: str) -> Any:
    """Import a public name on first use."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_MODULES.get(name, "ctx.errors")), name)
