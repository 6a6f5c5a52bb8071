"""In which stored cluster a document is: no blob that any tree had is cut again for another one.

One file for each descriptor, appended to while clusters are made or fetched. It is a hint, believed only
after a look into the cluster, so what is lost or wrong in it costs work and never an answer. Where there is
none it is made from the clusters.
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
from ctx.storage.regular_files import open_regular, without_waiting
from ctx.storage.store import Store
from ctx.storage.views.segments import Key

AREA = "documents"
"""The area of the store: a file for each descriptor, by its name."""
_RECORD = np.dtype([("document", "<u8"), ("cluster", "u1", 20)])
_HEAD = b"CTXD\1".ljust(_RECORD.itemsize, b"\0")

Records = npt.NDArray[Any]


class DocumentIndex:
    """The documents of the stored clusters of one descriptor."""

    def __init__(self, store: Store, descriptor: str) -> None:
        self._store = store
        places = [os.path.join(path, AREA, descriptor) for path in (store.path, *store.lent)]
        self._path, self._all = places[0], places

    def clusters_of(self, keys: Iterable[Key]) -> dict[Key, bytes]:
        """For each of these documents that is known, the key of the cluster that had it last."""
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
        """Note in which clusters documents are, where that can be written."""
        if not found:
            return
        data = b"".join(_record(key, cluster) for key, cluster in found.items())
        try:
            if _is_whole(self._path):
                # One write at the end of the file: two processes do not mix their records.
                with open(self._path, "ab", buffering=0, opener=without_waiting) as file:
                    file.write(data)
            else:
                self._store.write_file(self._path, _HEAD + _of_clusters(clusters) + data)
        except (OSError, StoreUnusable):
            return

    def renew(self, clusters: ClusterStore) -> None:
        """Make it anew after a collection: a document may live on in other clusters than that which is noted.

        Raises `StoreUnusable`.
        """
        if records := _of_clusters(clusters):
            self._store.write_file(self._path, _HEAD + records)
        else:
            self.drop()

    def drop(self) -> None:
        """Forget all of it."""
        self._store.remove_file(self._path)


def _of_clusters(clusters: ClusterStore) -> bytes:
    """A record of each document of all clusters that are stored."""
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
    """Whether there is a file that can be appended to."""
    try:
        with open_regular(path) as file:
            return file.read(len(_HEAD)) == _HEAD and not os.fstat(file.fileno()).st_size % len(_HEAD)
    except OSError:
        return False


def _read(path: str) -> Records | None:
    try:
        with open_regular(path) as file:
            data = file.read()
    except OSError:
        return None
    if not data.startswith(_HEAD):
        return None
    # Another process may be about to write the last one.
    count = len(data) // len(_HEAD) - 1
    return np.frombuffer(data, dtype=_RECORD, count=count, offset=len(_HEAD))
