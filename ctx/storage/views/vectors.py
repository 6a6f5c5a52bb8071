"""Search-ready vectors of a model service: rows by cluster, stored next to the views of the embedded model.

A file holds the vectors of clusters, in the order of their files and chunks. Clusters are identified by their
keys under the embedded model's descriptor, so a view finds them without further reads. The files are derived:
lost ones are rebuilt from the clusters of the model service.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ctx.errors import Damaged, StoreUnusable
from ctx.storage.arrays import ANY, Arrays, are_ends, content_hash, encode, expect, map_file
from ctx.storage.regular_files import remove_file
from ctx.storage.store import Store

FORMAT = 1
PREFIX = "vectors-"
_ARRAYS = {"cluster_key": ("|u1", (20,)), "cluster_end": ("<u4", ()), "vector": ("|u1", (ANY,))}
_SMALL_FILES = 8
"""Merge vector files once there are this many."""


class Rows(NamedTuple):
    """Location of one cluster's vectors: a file and its rows from `start` to `end`."""

    file: int
    start: int
    end: int


class VectorFiles:
    """The vector files of one descriptor."""

    def __init__(self, store: Store, descriptor: str, vector_bytes: int) -> None:
        self._store = store
        self._folder = os.path.join(store.path, "views", descriptor)
        self._width = vector_bytes
        self._arrays: list[npt.NDArray[np.uint8]] = []
        self._where: dict[bytes, Rows] = {}
        self._loaded: set[str] = set()

    def find(self, clusters: Sequence[bytes]) -> list[Rows | None]:
        """Return the location of each cluster's vectors, None if no file has them."""
        if any(key not in self._where for key in clusters):
            self._load()
        return [self._where.get(key) for key in clusters]

    def vectors(self, file: int) -> npt.NDArray[np.uint8]:
        """Return all rows of a file, (rows, vector bytes) uint8."""
        return self._arrays[file]

    def add(self, clusters: Mapping[bytes, npt.NDArray[np.uint8]]) -> str | None:
        """Store the vectors of clusters by key; in memory only if the store is read-only.

        Return the name of the file, or None if none was written.
        """
        if not clusters:
            return None
        arrays: Arrays = {
            "cluster_key": np.frombuffer(b"".join(clusters), dtype=np.uint8).reshape(-1, 20),
            "cluster_end": np.cumsum([len(rows) for rows in clusters.values()]).astype("<u4"),
            "vector": np.concatenate([rows.reshape(-1, self._width) for rows in clusters.values()]),
        }
        self._take(arrays)
        name = f"{PREFIX}{content_hash(arrays)}"
        self._loaded.add(name)
        try:
            self._store.write_file(os.path.join(self._folder, name), encode(arrays, {"format": FORMAT}))
        except StoreUnusable:
            return None
        return name

    def merge(self, clusters: Sequence[bytes]) -> None:
        """Merge the vectors of these clusters into one file if there are many files; remove the rest."""
        names = self._names()
        if len(names) < _SMALL_FILES:
            return
        found = self.find(clusters)
        kept = {
            key: self._arrays[rows.file][rows.start : rows.end]
            for key, rows in zip(clusters, found, strict=True)
            if rows is not None
        }
        merged = self.add(kept)
        for name in names:
            if merged is not None and name != merged:
                remove_file(os.path.join(self._folder, name))

    def _names(self) -> list[str]:
        try:
            return sorted(name for name in os.listdir(self._folder) if name.startswith(PREFIX))
        except OSError:
            return []

    def _load(self) -> None:
        for name in self._names():
            if name in self._loaded:
                continue
            try:
                arrays, meta = map_file(os.path.join(self._folder, name))
                self._check(arrays, meta)
            except (OSError, Damaged):
                continue
            self._loaded.add(name)
            self._take(arrays)

    def _check(self, arrays: Arrays, meta: dict[str, Any]) -> None:
        expect(arrays, _ARRAYS)
        if (
            meta.get("format") != FORMAT
            or arrays["vector"].shape[1] != self._width
            or len(arrays["cluster_end"]) != len(arrays["cluster_key"])
            or not are_ends(arrays["cluster_end"], len(arrays["vector"]))
        ):
            raise Damaged("the arrays of a vector file are inconsistent")

    def _take(self, arrays: Arrays) -> None:
        number = len(self._arrays)
        self._arrays.append(arrays["vector"])
        bounds = pairwise([0, *arrays["cluster_end"].tolist()])
        for key, (start, end) in zip(arrays["cluster_key"], bounds, strict=True):
            self._where[key.tobytes()] = Rows(number, start, end)
