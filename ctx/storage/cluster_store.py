"""The stored clusters of one descriptor, by key: what other programs may use without knowing the files."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator

from ctx.errors import Damaged
from ctx.storage.clusters import Stored, cluster_records, decode_cluster
from ctx.storage.descriptor import Descriptor
from ctx.storage.store import Store
from ctx.storage.views.segments import Key

_KEPT = 4096
"""Clusters whose records are kept by a process that answers many questions: some ten megabytes."""


class ClusterStore:
    """Clusters by key, the 20 bytes of `ctx.storage.cluster_key`. docs/format.md describes the payload."""

    def __init__(self, store: Store, descriptor: Descriptor) -> None:
        self._store = store
        self._descriptor = descriptor
        self._area = os.path.join("objects", str(descriptor))
        self._records: dict[bytes, dict[Key, bytes]] = {}

    def absent(self, keys: Iterable[bytes]) -> list[bytes]:
        """Those of the keys that have no file here; a file may still prove damaged when it is read."""
        return [key for key in keys if not self._store.has(self._area, key.hex())]

    def use(self, key: bytes) -> bool:
        """Keep a cluster from being collected; whether it has a file here."""
        return self._store.touch(self._area, key.hex())

    def get(self, key: bytes) -> bytes | None:
        """The payload of a cluster, or None where there is none that can be trusted."""
        return self._store.read(self._area, key.hex())

    def put(self, key: bytes, payload: bytes) -> None:
        """Store a cluster from elsewhere. Raises `Damaged` unless the payload is what the key promises."""
        self.decoded(key, payload)
        self.write(key, payload)

    def write(self, key: bytes, payload: bytes) -> None:
        """Store a cluster that was just made. Raises `StoreUnusable`."""
        self._store.write(self._area, key.hex(), payload)

    def stored(self, key: bytes, *, thorough: bool = False) -> Stored:
        """A cluster; `thorough` looks into its records too. Raises `Damaged`, also where there is none."""
        payload = self.get(key)
        if payload is None:
            raise Damaged("a cluster of a covered tree is missing")
        return self.decoded(key, payload, thorough=thorough)

    def decoded(self, key: bytes, payload: bytes, *, thorough: bool = True) -> Stored:
        """A payload from elsewhere. Raises `Damaged` unless it is what the key promises."""
        wanted = self._descriptor
        return decode_cluster(
            payload,
            str(wanted),
            key,
            wanted.vector_bytes,
            thorough=thorough,
            by_member=wanted.by_member,
        )

    def record(self, key: bytes, document: Key) -> bytes:
        """The record of one document of a cluster; those read last are kept. Raises `Damaged`."""
        if key not in self._records:
            payload = self.get(key)
            if payload is None:
                raise Damaged("a cluster of a covered tree is missing")
            if len(self._records) >= _KEPT:
                del self._records[next(iter(self._records))]
            self._records[key] = cluster_records(payload)
        try:
            return self._records[key][document]
        except KeyError:
            raise Damaged("a cluster lacks a document that its tree has") from None

    def forget(self) -> None:
        """Forget the records that are kept: they may be of clusters that were made anew since."""
        self._records.clear()

    def keys(self) -> Iterator[bytes]:
        """The keys of all stored clusters, in no order."""
        for name in self._store.names(self._area):
            try:
                yield bytes.fromhex(name)
            except ValueError:
                continue

    def size(self, key: bytes) -> int:
        """Bytes of a cluster's file. Raises OSError where there is none."""
        name = key.hex()
        return os.path.getsize(self._store.find(self._area, name) or self._store.file(self._area, name))
