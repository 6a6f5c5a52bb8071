"""The tool `explain`: the reasons why a file is, or is not, selected for a task."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ctx.agents.mcp.reading import inside
from ctx.agents.mcp.replies import Reply, revision_values
from ctx.index import Index
from ctx.pack.types import PackOptions
from ctx.search.evidence.wording import explanation_in_words
from ctx.text.escaping import escape_control

if TYPE_CHECKING:
    from ctx.search.dependencies.types import Edge

_MOST_FILES = 20
"""Maximum number of files in each of `uses` and `usedBy`."""


def explain(index: Index, given: dict[str, Any]) -> Reply:
    """Return indexing status, rank and reasons of a file for a task. Raises CtxError."""
    inside(given["path"])
    options = PackOptions()
    if "max_files" in given:
        options = options._replace(max_files=given["max_files"])
    found = index.explain(given["path"], given["task"], options)
    values = {
        "path": _path(found.path),
        **revision_values(found.about.revision, found.about.commit, found.about.tree),
        "rankedWith": [escape_control(one) for one in found.about.ranked_with],
        "indexing": {"status": found.indexing, "reason": found.reason and escape_control(found.reason)},
        "selection": {"status": found.selection, "reason": found.selection_reason},
        "rank": found.rank,
        "rankedFiles": found.ranked,
        "score": None if found.hit is None else round(found.hit.score, 3),
        "reasons": [] if found.hit is None else [escape_control(one) for one in found.hit.reasons],
        "contributions": {}
        if found.hit is None
        else {name: round(part, 3) for name, part in found.hit.contributions.items() if round(part, 3)},
        "uses": _files(found.uses, outgoing=True),
        "usedBy": _files(found.used_by, outgoing=False),
    }
    return Reply(explanation_in_words(found, b""), values)


def _files(edges: Sequence[Edge], *, outgoing: bool) -> list[str]:
    paths = dict.fromkeys(edge.target_path if outgoing else edge.source_path for edge in edges)
    return [_path(path) for path in list(paths)[:_MOST_FILES]]


def _path(path: bytes) -> str:
    return escape_control(os.fsdecode(path))
