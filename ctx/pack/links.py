"""Whether a file uses another one, by the resolved edges of the few files that are read for it."""

from __future__ import annotations

from ctx.dependencies.edges import Dependencies
from ctx.dependencies.values import Edge

MOST_BYTES = 192 << 10
"""How much text is read in all for edges: looking at every identifier costs a quarter of a second a megabyte
beside parsing, which what is shown needs anyway.
"""


class Links:
    """The edges of a tree, as far as they are read."""

    def __init__(self, dependencies: Dependencies, most: int = MOST_BYTES) -> None:
        self._dependencies = dependencies
        self._left = most
        self._edges: dict[bytes, list[Edge] | None] = {}

    def known(self, path: bytes) -> bool:
        """Whether a file is in a language whose edges are resolved."""
        return self._dependencies.size(path) is not None

    def edges(self, path: bytes) -> list[Edge] | None:
        """What a file uses; None where its language has no edges, or enough was read."""
        if path not in self._edges:
            size = self._dependencies.size(path)
            if size is None or size > self._left:
                self._edges[path] = None
            else:
                self._left -= size
                self._edges[path] = self._dependencies.outgoing([path])
        return self._edges[path]

    def target(self, path: bytes, symbol: str) -> bytes | None:
        """The other file that a name in a file means; None where it means none, or that is not known."""
        return next((edge.target_path for edge in self.edges(path) or () if edge.symbol == symbol), None)

    def leads(self, path: bytes, target: bytes, symbol: str) -> bool:
        """Whether a file is known to use another one: the symbol itself, or what it belongs to."""
        own = [edge for edge in self.edges(path) or () if edge.target_path == target]
        return any(edge.symbol == symbol for edge in own) or bool(own and self.target(path, symbol) is None)
