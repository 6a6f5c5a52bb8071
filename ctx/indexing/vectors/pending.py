"""Texts and clusters that wait for vectors of a remote model, so that equal texts are asked for once."""

from __future__ import annotations

from typing import NamedTuple

from ctx.indexing.vectors.cluster_map import Pair
from ctx.storage.clusters import Stored

_KEPT_BYTES = 32 << 20
"""Vectors of this run that are kept for equal texts elsewhere."""


class Waiting:
    """A cluster whose vectors are on their way."""

    def __init__(self, pair: Pair, stored: Stored, hashes: list[bytes], vectors: list[bytes | None]) -> None:
        self.pair = pair
        self.stored = stored
        self.hashes = hashes
        self.vectors = vectors
        self.lacking = sum(vector is None for vector in vectors)


Owners = list[tuple[Waiting, int]]
"""The clusters, and the places in them, that a vector goes to."""


class Batch(NamedTuple):
    """Texts of one request with the hash of each and the owners of its vector."""

    texts: list[str]
    hashes: list[bytes]
    owners: list[Owners]


class Seen:
    """Texts of this run that were asked for already, so that equal ones are embedded once."""

    def __init__(self, arrived: dict[bytes, bytes]) -> None:
        """`arrived` are the vectors that an earlier run got and could not store."""
        self._under_way: dict[bytes, Owners] = {}
        self._vectors = arrived
        self._size = sum(map(len, arrived.values()))

    def vector(self, hashed: bytes) -> bytes | None:
        """The vector of a text, if it has arrived and was kept."""
        return self._vectors.get(hashed)

    def joined(self, hashed: bytes, owner: tuple[Waiting, int]) -> bool:
        """Let somebody else wait too for what is under way; whether it is."""
        owners = self._under_way.get(hashed)
        if owners is not None:
            owners.append(owner)
        return owners is not None

    def asked(self, hashed: bytes, owner: tuple[Waiting, int]) -> Owners:
        """Note that a text is under way; the list of those who wait for it."""
        self._under_way[hashed] = [owner]
        return self._under_way[hashed]

    def arrived(self, hashed: bytes, vector: bytes) -> None:
        """Note a vector, as long as there is room."""
        self._under_way.pop(hashed, None)
        if self._size < _KEPT_BYTES:
            self._vectors[hashed] = vector
            self._size += len(vector)
