"""Whether a file uses another one, by the resolved edges of the few files that are read for it."""

from __future__ import annotations

from collections.abc import Collection

from ctx.search.dependencies.edges import Dependencies
from ctx.search.dependencies.values import Edge

MOST_BYTES = 96 << 10
"""How much text is read in all for edges: looking at every identifier costs a quarter of a second a megabyte
beside parsing, which what is shown needs anyway.
"""


class Links:
    """The edges of a tree, as far as they are read."""

    def __init__(self, dependencies: Dependencies, most: int = MOST_BYTES) -> None:
        self._dependencies = dependencies
        self._left = most
        self._read: dict[bytes, bool] = {}

    def known(self, path: bytes) -> bool:
        """Whether a file is in a language whose edges are resolved."""
        return self._dependencies.resolves(path)

    def edges(self, path: bytes, names: Collection[str]) -> list[Edge] | None:
        """What a file uses by some names, and imports; None without edges, or where enough was read."""
        if path not in self._read:
            size = self._dependencies.size(path)
            self._read[path] = size is not None and size <= self._left
            self._left -= size if size is not None and self._read[path] else 0
        return self._dependencies.by_names(path, names) if self._read[path] else None

    def targets(self, path: bytes, names: Collection[str]) -> dict[str, bytes] | None:
        """The other files that some names in a file mean, as far as they mean any; None as for `edges`."""
        edges = self.edges(path, names)
        return None if edges is None else {edge.symbol: edge.target_path for edge in reversed(edges)}

    def leads(self, path: bytes, target: bytes, symbol: str) -> bool:
        """Whether a file is known to use another one: the symbol itself, or what it belongs to."""
        edges = self.edges(path, (symbol,)) or []
        meant = [edge.target_path for edge in edges if edge.symbol == symbol]
        return target in meant if meant else any(edge.target_path == target for edge in edges)
