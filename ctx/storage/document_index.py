"""Index from documents to the stored clusters that contain them, so that blobs are not chunked twice.

One file for each descriptor, appended to while clusters are built or fetched. It is a hint that is verified
in the cluster: a missing or wrong entry costs work, but never correctness. If the file is missing, it is
built from the clusters.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from hashlib import blake2b
from typing import Any

import numpy as np
import numpy.typing as npt

from ctx.errors import Damaged, StoreUnusable
from ctx.storage.cluster_store import ClusterStore
from ctx.storage.clusters import contents
from ctx.storage.regular_files import discard_file, open_regular, read_regular, without_waiting
from ctx.storage.store import Store
from ctx.storage.views.segments import Key

AREA = "documents"
"""Area of the store: one file for each descriptor, by its name."""
_RECORD = np.dtype([("document", "<u8"), ("cluster", "u1", 20)])
_HEAD = b"CTXD\1".ljust(_RECORD.itemsize, b"\0")

Records = npt.NDArray[Any]


class DocumentIndex:
    """The documents of the stored clusters of one descriptor."""

    def __init__(self, store: Store, descriptor: str) -> None:
        self._store = store
        places = [os.path.join(path, AREA, descriptor) for path in (store.path, *store.alternates)]
        self._path, self._all = places[0], places

    def clusters_of(self, keys: Iterable[Key]) -> dict[Key, bytes]:
        """Return for each known document the key of the last cluster that had it."""
        wanted = {_hash(key): key for key in keys}
        if not wanted:
            return {}
        ordered = np.sort(np.fromiter(wanted, dtype="<u8", count=len(wanted)))
        found: dict[Key, bytes] = {}
        for path in reversed(self._all):
            if (records := _read(path)) is None:
                continue
            documents = records["document"]
            places = np.searchsorted(ordered, documents)
            places[places == len(ordered)] = 0
            for place in np.flatnonzero(ordered[places] == documents).tolist():
                found[wanted[int(documents[place])]] = records["cluster"][place].tobytes()
        return found

    def add(self, found: Mapping[Key, bytes], clusters: ClusterStore) -> None:
        """Add the clusters of documents; do nothing if the store is not writable."""
        if not found:
            return
        data = b"".join(_record(key, cluster) for key, cluster in found.items())
        try:
            if _is_whole(self._path):
                # A single append, so that records of two processes are not mixed.
                with open(self._path, "ab", buffering=0, opener=without_waiting) as file:
                    file.write(data)
            else:
                self._store.write_file(self._path, _HEAD + _of_clusters(clusters) + data)
        except (OSError, StoreUnusable):
            return

    def renew(self, clusters: ClusterStore) -> None:
        """Rebuild the index after garbage collection: a document may remain only in other clusters.

        Raises `StoreUnusable`.
        """
        if records := _of_clusters(clusters):
            self._store.write_file(self._path, _HEAD + records)
        else:
            self.drop()

    def drop(self) -> None:
        """Remove the index."""
        discard_file(self._path)


def _of_clusters(clusters: ClusterStore) -> bytes:
    """Return the records of the documents of all stored clusters."""
    found: dict[bytes, bytes] = {}
    for cluster in list(clusters.keys()):
        try:
            stored = clusters.stored(cluster)
        except Damaged:
            continue
        for key in contents(stored):
            record = _record(key, cluster)
            found[record[:8]] = record
    return b"".join(found.values())


def _hash(key: Key) -> int:
    return int.from_bytes(blake2b(key[0] + key[1].encode(), digest_size=8).digest(), "little")


def _record(key: Key, cluster: bytes) -> bytes:
    return _hash(key).to_bytes(8, "little") + cluster


def _is_whole(path: str) -> bool:
    """Return True if the file exists and can be appended to."""
    try:
        with open_regular(path) as file:
            return file.read(len(_HEAD)) == _HEAD and not os.fstat(file.fileno()).st_size % len(_HEAD)
    except OSError:
        return False


def _read(path: str) -> Records | None:
    data = read_regular(path)
    if data is None or not data.startswith(_HEAD):
        return None
    # Another process may be writing the last record.
    count = len(data) // len(_HEAD) - 1
    return np.frombuffer(data, dtype=_RECORD, count=count, offset=len(_HEAD))
