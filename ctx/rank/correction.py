"""What a repository's past says of its files, as a correction of the ranker's scores.

`git ctx evaluate --fit` learns it. It is evidence from outside the tree, so a search uses it only where
`ctx.fit` is set, and says so. It holds hashes of paths and of words, no text.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Sequence
from hashlib import blake2b
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ctx.arrays import Arrays, encode, expect, map_file
from ctx.errors import Damaged
from ctx.rank.query import Query
from ctx.views import paths
from ctx.views.view import View

FORMAT = 1
FEATURES = ("changed", "folder changed", "said of it", "test", "document")
"""How often a file, and its folder, were changed before, lately more than long ago; the share of the query's
words that messages of those changes had; whether it is a test, or no code, and not asked for. In 0..1."""

_NOT_CODE = paths.DOCS | paths.CONFIG | paths.DATA | paths.EXAMPLE
_SAID_ENOUGH = np.log1p(3.0)
"""A word that three messages had counts in full."""

Floats = npt.NDArray[np.float64]


class Past(NamedTuple):
    """The history of files up to a commit. Hashes ascend.

    `path` uint64 and `changed` float32 are (paths,), `folder` and `folder_changed` (folders,); `term` int64,
    `place` uint32 (of `path`) and `times` float32 are (postings,).
    """

    path: npt.NDArray[np.uint64]
    changed: npt.NDArray[np.float32]
    folder: npt.NDArray[np.uint64]
    folder_changed: npt.NDArray[np.float32]
    term: npt.NDArray[np.int64]
    place: npt.NDArray[np.uint32]
    times: npt.NDArray[np.float32]

    def features(self, found: Sequence[bytes], flags: npt.NDArray[np.uint8], query: Query) -> Floats:
        """(files, FEATURES) for some files, by their paths and the flags of these."""
        place = _places(self.path, [path_hash(path) for path in found])
        folder = _places(self.folder, [path_hash(folder_of(path)) for path in found])
        flags = flags & ~np.uint8(query.asked & 0xFF)
        return np.stack(
            [
                _scaled(self.changed, place),
                _scaled(self.folder_changed, folder),
                self._said(query, place),
                (flags & paths.TEST) > 0,
                (flags & _NOT_CODE) > 0,
            ],
            axis=1,
        ).astype(np.float64)

    def _said(self, query: Query, place: npt.NDArray[np.int64]) -> Floats:
        """The share of the query's words, weighed by how rare they are, that were said of each file."""
        said = np.zeros(len(self.path) + 1)
        whole = 0.0
        for term in np.unique(query.hashes[query.weights >= 1.0]).tolist():
            start, end = np.searchsorted(self.term, [term, term + 1]).tolist()
            rare = float(np.log1p(len(self.path) / (end - start + 1)))
            whole += rare
            often = np.minimum(np.log1p(self.times[start:end]) / _SAID_ENOUGH, 1.0)
            said[self.place[start:end]] += rare * often
        return said[place] / max(whole, 1e-9)  # the last one is that of files without a past


class Correction(NamedTuple):
    """A past with what it weighs; `commit` is the last one that it knows.

    It learned from so many `tasks`.
    """

    past: Past
    weights: Floats
    commit: bytes
    tasks: int

    def __call__(self, view: View, query: Query, files: npt.NDArray[np.int64], scores: Floats) -> Floats:
        """The corrected scores of candidate files, both (n,)."""
        found = [view.path(file) for file in files.tolist()]
        features = self.past.features(found, view.file_flags[files], query)
        corrected: Floats = scores + features @ self.weights
        return corrected

    @property
    def name(self) -> str:
        """What an answer says that it was ranked with."""
        return f"fit {self.commit.hex()[:12]}"

    def encoded(self) -> bytes:
        """The bytes of the file that keeps it."""
        meta = {
            "format": FORMAT,
            "features": list(FEATURES),
            "weights": self.weights.tolist(),
            "commit": self.commit,
            "tasks": self.tasks,
            "ranker": _ranker(),
        }
        return encode({name: _stored(array) for name, array in self.past._asdict().items()}, meta)


def fit_path(store: str) -> str:
    """Where the correction of a repository lies, below the directory of its index."""
    return os.path.join(store, "fit")


def load(path: str) -> Correction | None:
    """The correction in a file; None where there is none for this program's ranker that can be trusted."""
    try:
        arrays, meta = map_file(path)
        expect(arrays, _ARRAYS)
        weights = np.array(meta["weights"], dtype=np.float64)
        if (meta["format"], meta["features"], meta["ranker"]) != (FORMAT, list(FEATURES), _ranker()):
            return None
        past = _past(arrays)
        if weights.shape != (len(FEATURES),) or not np.isfinite(weights).all():
            return None
        if not isinstance(meta["commit"], bytes) or not isinstance(meta["tasks"], int):
            return None
    except (OSError, Damaged, KeyError, ValueError, TypeError):
        return None
    return Correction(past, weights, meta["commit"], meta["tasks"])


def path_hash(path: bytes) -> int:
    """64 bits that stand for a path (BLAKE2b, RFC 7693)."""
    return int.from_bytes(blake2b(path, digest_size=8).digest(), "little")


def folder_of(path: bytes) -> bytes:
    """The directory that a path lies in, empty for the root."""
    return path.rpartition(b"/")[0]


_ARRAYS = {
    "path": ("<u8", ()),
    "changed": ("<f4", ()),
    "folder": ("<u8", ()),
    "folder_changed": ("<f4", ()),
    "term": ("<i8", ()),
    "place": ("<u4", ()),
    "times": ("<f4", ()),
}


def _past(arrays: Arrays) -> Past:
    past = Past(**{name: arrays[name] for name in Past._fields})
    if not (
        len(past.path) == len(past.changed)
        and len(past.folder) == len(past.folder_changed)
        and len(past.term) == len(past.place) == len(past.times)
        and int(past.place.max(initial=0)) < max(1, len(past.path))
        and all(bool((one[:-1] <= one[1:]).all()) for one in (past.path, past.folder, past.term))
        and all(bool(np.isfinite(one).all()) for one in (past.changed, past.folder_changed, past.times))
    ):
        raise Damaged("the arrays of a fit do not fit each other")
    return past


def _stored(array: npt.NDArray[np.generic]) -> npt.NDArray[np.generic]:
    return array.astype(array.dtype.newbyteorder("<"))


def _places(known: npt.NDArray[np.uint64], wanted: list[int]) -> npt.NDArray[np.int64]:
    """Where each hash is among the known ones, their number where it is not."""
    hashes = np.array(wanted, dtype=np.uint64)
    place = np.searchsorted(known, hashes)
    found = np.append(known, np.uint64(0))[place] == hashes
    return np.where(found & (place < len(known)), place, len(known)).astype(np.int64)


def _scaled(values: npt.NDArray[np.float32], place: npt.NDArray[np.int64]) -> Floats:
    high = float(np.log1p(values.max(initial=0.0)))
    logs: Floats = np.append(np.log1p(values.astype(np.float64)), 0.0)[place]
    return logs / high if high else logs


def _ranker() -> int:
    """A checksum of the trees that the weights were learned on top of."""
    found = 0
    folder = os.path.dirname(__file__)
    for name in sorted(os.listdir(folder)):
        if name.endswith(".bin"):
            with open(os.path.join(folder, name), "rb") as file:
                found = zlib.crc32(file.read(), found)
    return found
