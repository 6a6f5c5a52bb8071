"""Resolved edges between files, read for a bounded amount of text."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from ctx.search.dependencies.edges import Dependencies
from ctx.search.dependencies.types import Edge

MOST_BYTES = 96 << 10
"""Maximum bytes read for edges: resolving identifiers costs 0.25 s per megabyte in addition to parsing,
which the shown files need anyway.
"""
MOST_EDGES = 200
"""Maximum number of edges between the files of a pack in its manifest."""


def edges_between(dependencies: Dependencies, paths: Sequence[bytes]) -> tuple[Edge, ...]:
    """Return the edges between some files of a tree, within MOST_BYTES of text and MOST_EDGES."""
    left, wanted = MOST_BYTES, set(paths)
    found: list[Edge] = []
    for path in paths:
        size = dependencies.size(path)
        if size is None or size > left:
            continue
        left -= size
        found += [edge for edge in dependencies.outgoing([path]) if edge.target_path in wanted - {path}]
    return tuple(found[:MOST_EDGES])


def has_edge(dependencies: Dependencies, edge: Edge) -> bool:
    """Return True if the source file of an edge still uses its target by the same symbol."""
    return any(
        (one.target_path, one.symbol) == (edge.target_path, edge.symbol)
        for one in dependencies.by_names(edge.source_path, (edge.symbol,))
    )


class Links:
    """The edges of a tree, read on demand within a limit."""

    def __init__(self, dependencies: Dependencies, most: int = MOST_BYTES) -> None:
        self._dependencies = dependencies
        self._left = most
        self._read: dict[bytes, bool] = {}

    def known(self, path: bytes) -> bool:
        """Return True if edges are resolved for the language of a file."""
        return self._dependencies.resolves(path)

    def edges(self, path: bytes, names: Collection[str]) -> list[Edge] | None:
        """Return a file's uses of some names, and its imports; None without edges, or above the limit."""
        if path not in self._read:
            size = self._dependencies.size(path)
            self._read[path] = size is not None and size <= self._left
            self._left -= size if size is not None and self._read[path] else 0
        return self._dependencies.by_names(path, names) if self._read[path] else None

    def targets(self, path: bytes, names: Collection[str]) -> dict[str, bytes] | None:
        """Return the target files of some names in a file, if known; None as for `edges`."""
        edges = self.edges(path, names)
        return None if edges is None else {edge.symbol: edge.target_path for edge in reversed(edges)}

    def leads(self, path: bytes, target: bytes, symbol: str) -> bool:
        """Return True if a file is known to use another one: the symbol itself, or what contains it."""
        edges = self.edges(path, (symbol,)) or []
        meant = [edge.target_path for edge in edges if edge.symbol == symbol]
        return target in meant if meant else any(edge.target_path == target for edge in edges)
