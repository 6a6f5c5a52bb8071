"""The stored clusters of one descriptor, by key; the interface that hides the files."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import suppress

from ctx.errors import Damaged
from ctx.storage.clusters import StoredCluster, cluster_records, decode_cluster
from ctx.storage.descriptor import Descriptor
from ctx.storage.store import Store
from ctx.storage.views.segments import Key

_KEPT = 4096
"""Number of clusters whose records a process caches: about ten megabytes."""


class ClusterStore:
    """Clusters by key, the 20 bytes of `ctx.storage.cluster_key`. docs/format.md describes the payload."""

    def __init__(self, store: Store, descriptor: Descriptor) -> None:
        self._store = store
        self._descriptor = descriptor
        self._area = os.path.join("objects", str(descriptor))
        self._partial = os.path.join("partial", str(descriptor))
        self._records: dict[bytes, dict[Key, bytes]] = {}

    def absent(self, keys: Iterable[bytes]) -> list[bytes]:
        """Return the keys without a file here; existing files may still be damaged."""
        return [key for key in keys if not self._store.has(self._area, key.hex())]

    def use(self, key: bytes) -> bool:
        """Protect a cluster from garbage collection; return True if it has a file here."""
        return self._store.touch(self._area, key.hex())

    def get(self, key: bytes) -> bytes | None:
        """Return the payload of a cluster, or None if it is missing or damaged."""
        return self._store.read(self._area, key.hex())

    def partial(self, key: bytes) -> StoredCluster | None:
        """Return a cluster that was built with missing blobs, or None."""
        payload = self._store.read(self._partial, key.hex())
        if payload is None or not self._store.touch(self._partial, key.hex()):
            return None
        with suppress(Damaged):
            return self.decoded(key, payload, thorough=False)
        return None

    def write(self, key: bytes, payload: bytes, partial: bool = False) -> None:
        """Store a new cluster, `partial` if blobs are missing. Raises `StoreUnusable`."""
        self._store.write(self._partial if partial else self._area, key.hex(), payload)

    def stored(self, key: bytes, *, thorough: bool = False) -> StoredCluster:
        """Return a complete or else a partial cluster; `thorough` checks its records too.

        Raises `Damaged`, also if there is none.
        """
        return self.decoded(key, self._whole_or_partial(key), thorough=thorough)

    def _whole_or_partial(self, key: bytes) -> bytes:
        payload = self.get(key) or self._store.read(self._partial, key.hex())
        if payload is None:
            raise Damaged("a cluster of a covered tree is missing")
        return payload

    def decoded(self, key: bytes, payload: bytes, *, thorough: bool = True) -> StoredCluster:
        """Return a decoded payload. Raises `Damaged` unless it matches the key."""
        return decode_cluster(payload, self._descriptor, key, thorough=thorough)

    def record(self, key: bytes, document: Key) -> bytes:
        """Return the record of one document of a cluster, cached. Raises `Damaged`."""
        if key not in self._records:
            payload = self._whole_or_partial(key)
            if len(self._records) >= _KEPT:
                del self._records[next(iter(self._records))]
            self._records[key] = cluster_records(payload)
        try:
            return self._records[key][document]
        except KeyError:
            raise Damaged("a cluster does not contain a document of its tree") from None

    def forget(self) -> None:
        """Clear the cache of records: clusters may have been rebuilt since."""
        self._records.clear()

    def keys(self) -> Iterator[bytes]:
        """Return the keys of all stored clusters, in no order."""
        return self._store.keys(self._area)

    def size(self, key: bytes) -> int:
        """Return the size of a cluster's file in bytes. Raises OSError if there is none."""
        name = key.hex()
        return os.path.getsize(self._store.find(self._area, name) or self._store.file(self._area, name))
