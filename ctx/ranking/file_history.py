"""History of files up to a commit: changes and messages, as evidence from outside the tree.

It holds hashes of paths and of words, no text.
"""

from __future__ import annotations

import math
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
from ctx.text.query import terms_in
from ctx.text.subjects import query_of

_CHANGES, _MESSAGES = 0.5, 4.0
"""Weights of the change frequency and of the messages, both in 0..1; see docs/retrieval.md."""
_K1, _B = 1.2, 0.75
_HISTORY = 3000
"""Number of commits in the history."""
_MOST_FILES = 20
_HALF_LIFE = 300.0
"""Number of commits after which a change counts half."""

_OID = re.compile(rb"(?:[0-9a-f]{40}|[0-9a-f]{64})")


class FileHistory(NamedTuple):
    """The history of files up to a commit. Hashes ascend.

    `path` uint64, `changed` and `said` float32 are (paths,); `term` int64, `place` uint32 (of `path`) and
    `times` float32 are (postings,). `times` is the frequency of a word in messages about a file, and `said`
    their length; a message is divided by the number of its files.
    """

    path: npt.NDArray[np.uint64]
    changed: npt.NDArray[np.float32]
    said: npt.NDArray[np.float32]
    term: Ints
    place: npt.NDArray[np.uint32]
    times: npt.NDArray[np.float32]

    def gains(self, paths: Sequence[bytes], query: Query) -> Floats:
        """Return what the history adds to the scores of some files, (files,)."""
        place = _places(self.path, paths)
        return _CHANGES * _scaled(self.changed, place) + _MESSAGES * self._said(query, place)

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


def history_of(repository: Repository, commit: bytes) -> FileHistory:
    """Return the history up to a commit, with its own changes and message. Raises GitFailed."""
    listing = repository.git(
        "-c", "log.showSignature=false", "log", "-z", "--no-merges", f"--max-count={_HISTORY}",
        "--name-only", "--no-renames", "--no-relative", "--encoding=UTF-8",
        "--format=%x01%H%x02%s%x02", commit.hex(), "--",
    )  # fmt: skip
    changed: Counter[bytes] = Counter()
    times: defaultdict[tuple[int, bytes], float] = defaultdict(float)
    lengths: defaultdict[bytes, float] = defaultdict(float)
    age = 0
    for record in listing.split(b"\x01")[1:]:
        oid, _, rest = record.partition(b"\x02")
        subject, _, names = rest.rpartition(b"\x02")
        if not _OID.fullmatch(oid):
            continue  # the rest of a name that contains the separator
        paths = [name for name in names.lstrip(b"\0\n").split(b"\0") if name]
        if len(paths) <= _MOST_FILES:
            weight = 0.5 ** (age / _HALF_LIFE)
            query = query_of(subject.decode("utf-8", "replace"))
            terms = terms_in(query) if query else set()
            worth = 1.0 / math.sqrt(max(len(paths), 1))
            for path in paths:
                changed[path] += weight
                lengths[path] += worth * len(terms)
                for term in terms:
                    times[term, path] += worth
        age += 1
    hashed = sorted((path_hash(path), path) for path in changed)
    number = {path: place for place, (_, path) in enumerate(hashed)}
    postings = sorted((term, number[path], count) for (term, path), count in times.items())
    return FileHistory(
        np.array([one for one, _ in hashed], dtype="<u8"),
        np.array([changed[path] for _, path in hashed], dtype="<f4"),
        np.array([lengths[path] for _, path in hashed], dtype="<f4"),
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
