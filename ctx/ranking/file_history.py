"""History of files up to a commit: changes and messages, as evidence from outside the tree.

It holds hashes of paths and of words, no text.
"""

from __future__ import annotations

import math
import posixpath
import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from hashlib import blake2b
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ctx.git.repository import Repository
from ctx.ranking.query import Query
from ctx.ranking.signals import idf
from ctx.storage.arrays import Floats, Ints
from ctx.storage.views import paths as path_flags
from ctx.text.query import terms_in
from ctx.text.subjects import query_of

FEATURES = ("changed", "folder changed", "said of it", "test", "document")
"""Features in 0..1.

The recency-weighted change frequency of a file and of its folder; how well the messages of those changes
match the query (BM25, as a share of the maximum); whether the file is a test, or not code, and not asked for.
"""

_NOT_CODE = path_flags.DOCS | path_flags.CONFIG | path_flags.DATA | path_flags.EXAMPLE
_K1, _B = 1.2, 0.75
_HISTORY = 3000
"""Number of commits in the history."""
_MOST_FILES = 20
_HALF_LIFE = 300.0
"""Number of commits after which a change counts half."""

_OID = re.compile(rb"(?:[0-9a-f]{40}|[0-9a-f]{64})")


class FileHistory(NamedTuple):
    """The history of files up to a commit. Hashes ascend.

    `path` uint64, `changed` and `said` float32 are (paths,), `folder` and `folder_changed` (folders,); `term`
    int64, `place` uint32 (of `path`) and `times` float32 are (postings,). `times` is the frequency of a word
    in messages about a file, and `said` their length; a message is divided by the number of its files.
    """

    path: npt.NDArray[np.uint64]
    changed: npt.NDArray[np.float32]
    said: npt.NDArray[np.float32]
    folder: npt.NDArray[np.uint64]
    folder_changed: npt.NDArray[np.float32]
    term: Ints
    place: npt.NDArray[np.uint32]
    times: npt.NDArray[np.float32]

    def features(self, paths: Sequence[bytes], flags: npt.NDArray[np.uint8], query: Query) -> Floats:
        """Return the features (files, FEATURES) of some files, by their paths and path flags."""
        place = _places(self.path, paths)
        folder = _places(self.folder, [posixpath.dirname(path) for path in paths])
        flags = flags & ~np.uint8(query.requested & 0xFF)
        return np.stack(
            [
                _scaled(self.changed, place),
                _scaled(self.folder_changed, folder),
                self._said(query, place),
                (flags & path_flags.TEST) > 0,
                (flags & _NOT_CODE) > 0,
            ],
            axis=1,
        ).astype(np.float64)

    def _said(self, query: Query, place: Ints) -> Floats:
        """Return the BM25 of the messages about each file, as a share of the maximum for the query."""
        found = np.zeros(len(self.path) + 1)
        whole = 0.0
        mean = max(float(self.said.mean()), 1e-9) if len(self.said) else 1.0
        for term in np.unique(query.hashes[query.weights >= 1.0]).tolist():
            start, end = np.searchsorted(self.term, [term, term + 1]).tolist()
            rare = float(idf(len(self.path), np.array([end - start]))[0])
            whole += rare
            own, times = self.place[start:end], self.times[start:end].astype(np.float64)
            found[own] += rare * times / (times + _K1 * (1 - _B + _B * self.said[own] / mean))
        return found[place] / max(whole, 1e-9)  # the last element is for files without a history


class _Entry(NamedTuple):
    """One commit of the history."""

    paths: list[bytes]
    terms: set[int]


class CommitHistory:
    """The changes and messages of the ancestors of a commit, newest first. Raises GitFailed."""

    def __init__(self, repository: Repository, start: bytes) -> None:
        listing = repository.git(
            "-c", "log.showSignature=false", "log", "-z", "--no-merges", f"--max-count={_HISTORY}",
            "--name-only", "--no-renames", "--no-relative", "--encoding=UTF-8",
            "--format=%x01%H%x02%s%x02", start.hex(), "--",
        )  # fmt: skip
        self._entries: list[_Entry] = []
        self._place: dict[bytes, int] = {}
        for record in listing.split(b"\x01")[1:]:
            oid, _, rest = record.partition(b"\x02")
            subject, _, names = rest.rpartition(b"\x02")
            if not _OID.fullmatch(oid):
                continue  # the rest of a name that contains the separator
            touched = [name for name in names.lstrip(b"\0\n").split(b"\0") if name]
            query = query_of(subject.decode("utf-8", "replace"))
            self._place[bytes.fromhex(oid.decode())] = len(self._entries)
            many = len(touched) > _MOST_FILES
            self._entries.append(_Entry([] if many else touched, terms_in(query) if query else set()))

    def before(self, commits: Sequence[bytes]) -> FileHistory:
        """Return the history that ends before the oldest of some commits."""
        return self._until(max((self._place.get(oid, len(self._entries)) for oid in commits), default=-1) + 1)

    def whole(self) -> FileHistory:
        """Return the whole history."""
        return self._until(0)

    def _until(self, start: int) -> FileHistory:
        changed: Counter[bytes] = Counter()
        folders: Counter[bytes] = Counter()
        times: defaultdict[tuple[int, bytes], float] = defaultdict(float)
        lengths: defaultdict[bytes, float] = defaultdict(float)
        for age, entry in enumerate(self._entries[start:]):
            weight = 0.5 ** (age / _HALF_LIFE)
            for path in entry.paths:
                changed[path] += weight
                worth = 1.0 / math.sqrt(len(entry.paths))
                lengths[path] += worth * len(entry.terms)
                for term in entry.terms:
                    times[term, path] += worth
            for folder in {posixpath.dirname(path) for path in entry.paths}:
                folders[folder] += weight
        hashed = sorted((path_hash(path), path) for path in changed)
        number = {path: place for place, (_, path) in enumerate(hashed)}
        postings = sorted((term, number[path], count) for (term, path), count in times.items())
        by_folder = sorted((path_hash(folder), count) for folder, count in folders.items())
        return FileHistory(
            np.array([one for one, _ in hashed], dtype="<u8"),
            np.array([changed[path] for _, path in hashed], dtype="<f4"),
            np.array([lengths[path] for _, path in hashed], dtype="<f4"),
            np.array([one for one, _ in by_folder], dtype="<u8"),
            np.array([count for _, count in by_folder], dtype="<f4"),
            np.array([term for term, _, _ in postings], dtype="<i8"),
            np.array([place for _, place, _ in postings], dtype="<u4"),
            np.array([count for _, _, count in postings], dtype="<f4"),
        )


def path_hash(path: bytes) -> int:
    """Return a 64-bit hash of a path (BLAKE2b, RFC 7693)."""
    return int.from_bytes(blake2b(path, digest_size=8).digest(), "little")


def _places(known: npt.NDArray[np.uint64], paths: Sequence[bytes]) -> Ints:
    """Return the index of each path among the known hashes, their number if it is not there."""
    hashes = np.array([path_hash(path) for path in paths], dtype=np.uint64)
    place = np.searchsorted(known, hashes)
    found = np.append(known, np.uint64(0))[place] == hashes
    return np.where(found & (place < len(known)), place, len(known)).astype(np.int64)


def _scaled(values: npt.NDArray[np.float32], place: Ints) -> Floats:
    high = float(np.log1p(values.max(initial=0.0)))
    logs: Floats = np.append(np.log1p(values.astype(np.float64)), 0.0)[place]
    return logs / high if high else logs
