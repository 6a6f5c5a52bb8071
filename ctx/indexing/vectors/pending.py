"""Texts and clusters that wait for vectors of a remote model, so that equal texts are sent once."""

from __future__ import annotations

from typing import NamedTuple

from ctx.indexing.vectors.cluster_map import Pair
from ctx.storage.clusters import StoredCluster

_KEPT_BYTES = 32 << 20
"""Bytes of vectors of this run that are kept for equal texts in other clusters."""


class PendingCluster:
    """A cluster that waits for vectors; `lacking` is their number."""

    def __init__(
        self, pair: Pair, stored: StoredCluster, hashes: list[bytes], vectors: list[bytes | None]
    ) -> None:
        self.pair = pair
        self.stored = stored
        self.hashes = hashes
        self.vectors = vectors
        self.lacking = sum(vector is None for vector in vectors)


Owners = list[tuple[PendingCluster, int]]
"""Clusters that wait for a vector, each with the index of the chunk."""


class Batch(NamedTuple):
    """Texts of one request, with the hash of each and the owners of its vector."""

    texts: list[str]
    hashes: list[bytes]
    owners: list[Owners]


class SentTexts:
    """Texts already sent in this run, so that equal ones are embedded once."""

    def __init__(self, known: dict[bytes, bytes]) -> None:
        """Initialize; `known` are vectors in the journal of an interrupted run."""
        self._pending: dict[bytes, Owners] = {}
        self._vectors = known
        self._size = sum(map(len, known.values()))

    def vector(self, hashed: bytes) -> bytes | None:
        """Return the vector of a text, None if it has not arrived or was not kept."""
        return self._vectors.get(hashed)

    def join_pending(self, hashed: bytes, owner: tuple[PendingCluster, int]) -> bool:
        """Add an owner to a pending text; return True if the text is pending."""
        owners = self._pending.get(hashed)
        if owners is not None:
            owners.append(owner)
        return owners is not None

    def add_pending(self, hashed: bytes, owner: tuple[PendingCluster, int]) -> Owners:
        """Register a text as pending; return the list of its owners."""
        self._pending[hashed] = [owner]
        return self._pending[hashed]

    def store(self, hashed: bytes, vector: bytes) -> None:
        """Register the vector of a text; keep it if there is room."""
        self._pending.pop(hashed, None)
        if self._size < _KEPT_BYTES:
            self._vectors[hashed] = vector
            self._size += len(vector)
