"""Search-ready vectors of a model service: rows by cluster, stored next to the views of the embedded model.

A file holds the vectors of clusters, in the order of their files and chunks. Clusters are identified by their
keys under the embedded model's descriptor, so a view finds them without further reads. The files are derived:
lost ones are rebuilt from the clusters of the model service.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ctx.errors import Damaged, StoreUnusable
from ctx.storage.arrays import ANY, Arrays, are_ends, content_hash, encode, expect, map_file
from ctx.storage.regular_files import discard_file
from ctx.storage.store import Store

FORMAT = 1
PREFIX = "vectors-"
_ARRAYS = {"cluster_key": ("|u1", (20,)), "cluster_end": ("<u4", ()), "vector": ("|u1", (ANY,))}
_SMALL_FILES = 8
"""Merge vector files once there are this many."""


class VectorRange(NamedTuple):
    """The vectors of one cluster: rows `start` to `end` of an array (rows, vector bytes) uint8."""

    rows: npt.NDArray[np.uint8]
    start: int
    end: int


class VectorFiles:
    """The vector files of one descriptor."""

    def __init__(self, store: Store, descriptor: str, vector_bytes: int) -> None:
        self._store = store
        self._folder = os.path.join(store.path, "views", descriptor)
        self._width = vector_bytes
        self._ranges: dict[bytes, VectorRange] = {}
        self._loaded: set[str] = set()

    def find(self, clusters: Sequence[bytes]) -> list[VectorRange | None]:
        """Return the vectors of each cluster, None if no file has them."""
        if any(key not in self._ranges for key in clusters):
            self._load()
        return [self._ranges.get(key) for key in clusters]

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
            key: span.rows[span.start : span.end]
            for key, span in zip(clusters, found, strict=True)
            if span is not None
        }
        merged = self.add(kept)
        for name in names:
            if merged is not None and name != merged:
                discard_file(os.path.join(self._folder, name))

    def _names(self) -> list[str]:
        with suppress(OSError):
            return sorted(name for name in os.listdir(self._folder) if name.startswith(PREFIX))
        return []

    def _load(self) -> None:
        for name in self._names():
            with suppress(OSError, Damaged):
                if name not in self._loaded:
                    arrays, meta = map_file(os.path.join(self._folder, name))
                    self._check(arrays, meta)
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
        bounds = pairwise([0, *arrays["cluster_end"].tolist()])
        for key, (start, end) in zip(arrays["cluster_key"], bounds, strict=True):
            self._ranges[key.tobytes()] = VectorRange(arrays["vector"], start, end)
