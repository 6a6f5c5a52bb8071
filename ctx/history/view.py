"""Search-ready arrays of one history: its blocks joined, postings sorted by term. Derived data.

A history is all that one commit reaches, so its view is named by that commit and needs no listing.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from functools import cached_property
from hashlib import blake2b

import numpy as np
import numpy.typing as npt

from ctx.errors import Damaged, StoreUnusable
from ctx.git.commits import Range
from ctx.history import AREA, VERSION
from ctx.history.block import ARRAYS, EDGE, MERGE, NO_PATH, check_rows, join
from ctx.storage.arrays import Arrays, Ints, begins, encode, expect, map_file
from ctx.storage.store import Store
from ctx.storage.vectors import MODEL_ID
from ctx.text import VERSION as WORDS_VERSION

_FORMAT = 2
_PREFIX = "view-"
_KEPT = 4
_DAY = 86_400.0
_TERMS = {
    "term": ("<u8", ()),
    "term_end": ("<u4", ()),
    "posting_row": ("<u4", ()),
    "posting_times": ("|u1", ()),
}


class View:
    """One history. `commit_of_row` (rows,) int64 is the index of the commit, oldest first."""

    def __init__(self, arrays: Arrays) -> None:
        self.arrays = arrays
        self.commits = len(arrays["commit_id"])
        self.commit_of_row: Ints = np.repeat(np.arange(self.commits, dtype=np.int64), arrays["commit_rows"])
        self._first_path: Ints = np.cumsum(arrays["commit_paths"], dtype=np.int64) - arrays["commit_paths"]
        self._path_end: Ints = np.cumsum(arrays["path_length"], dtype=np.int64)

    def commit_id(self, commit: int) -> bytes:
        """Return the object id of a commit."""
        oid: bytes = self.arrays["commit_id"][commit].tobytes()
        return oid

    def ids(self) -> list[bytes]:
        """Return the object ids of all commits, oldest first."""
        return _ids(self.arrays["commit_id"])

    def history(self) -> Range:
        """Return the commits as git listed them when the view was built."""
        ids, flags = self.arrays["commit_id"], self.arrays["commit_flags"]
        merges, edges = (frozenset(_ids(ids[flags & flag != 0])) for flag in (MERGE, EDGE))
        return Range(self.ids(), merges, edges)

    def all_paths(self) -> list[bytes]:
        """Return all paths of all commits, in the order of the commits."""
        flat = self.arrays["path_bytes"].tobytes()
        ends = self._path_end.tolist()
        return [flat[start:end] for start, end in zip([0, *ends[:-1]], ends, strict=True)]

    @cached_property
    def places_of_rows(self) -> Ints:
        """Index of each row's path among all paths (rows,) int64, -1 without a path."""
        path = self.arrays["row_path"].astype(np.int64)
        return np.where(path == NO_PATH, -1, self._first_path[self.commit_of_row] + path)

    def commit_of_path(self) -> Ints:
        """Return the commit of each path (paths,) int64."""
        return np.repeat(np.arange(self.commits, dtype=np.int64), self.arrays["commit_paths"])

    def postings(self, term: int) -> tuple[Ints, Ints]:
        """Return the rows with a term, ascending, and its count in each."""
        terms, ends = self.arrays["term"], self.arrays["term_end"]
        place = int(np.searchsorted(terms, np.uint64(term)))
        if place == len(terms) or int(terms[place]) != term:
            return np.zeros(0, np.int64), np.zeros(0, np.int64)
        start, end = (int(ends[place - 1]) if place else 0), int(ends[place])
        rows, times = (self.arrays[name][start:end] for name in ("posting_row", "posting_times"))
        return rows.astype(np.int64), times.astype(np.int64)

    def path(self, place: int) -> bytes:
        """Return the path at an index among all paths."""
        end = int(self._path_end[place])
        path: bytes = self.arrays["path_bytes"][end - int(self.arrays["path_length"][place]) : end].tobytes()
        return path


def view_of(blocks: Sequence[Arrays]) -> View:
    """Return the view of some blocks."""
    joined = join(blocks)
    order = np.lexsort((joined["posting_row"], joined["posting_term"]))
    terms = joined["posting_term"][order]
    first = np.flatnonzero(begins(terms))
    arrays = {name: joined[name] for name in ARRAYS}
    arrays["term"] = terms[first]
    arrays["term_end"] = np.append(first, len(terms))[1:].astype("<u4")
    arrays["posting_row"] = joined["posting_row"][order]
    arrays["posting_times"] = joined["posting_times"][order]
    return View(arrays)


class Views:
    """The views of a store, in files `view-<hash>` beside the blocks."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._folder = os.path.join(store.path, AREA, "views")

    def find(self, name: str, tip: bytes) -> View | None:
        """Return the view of that name whose last commit is `tip`; None if missing or invalid."""
        try:
            arrays, meta = map_file(os.path.join(self._folder, name))
            if meta != {"format": _FORMAT, "name": name}:
                return None
            _check(arrays, tip)
            return View(arrays)
        except (OSError, Damaged):
            return None

    def grows_old(self, name: str) -> bool:
        """Return True if a view was not marked as used for a day, and mark it."""
        path = os.path.join(self._folder, name)
        try:
            if time.time() - os.path.getmtime(path) < _DAY:
                return False
            os.utime(path)
        except OSError:
            return False
        return True

    def keep(self, name: str, view: View) -> None:
        """Store a view if possible, and remove the oldest ones."""
        data = encode(view.arrays, {"format": _FORMAT, "name": name})
        try:
            self._store.write_file(os.path.join(self._folder, name), data)
            files = [entry.path for entry in os.scandir(self._folder) if entry.name.startswith(_PREFIX)]
            for path in sorted(files, key=os.path.getmtime)[:-_KEPT]:
                os.unlink(path)
        except (OSError, StoreUnusable):
            return


def view_name(tip: bytes, edges: bytes) -> str:
    """Return the name of the view of all that `tip` reaches; `edges` are shallow boundaries and grafts."""
    head = f"view\0{VERSION}\0{WORDS_VERSION}\0{MODEL_ID}\0".encode()
    return _PREFIX + blake2b(head + tip + edges, digest_size=20).hexdigest()


def _ids(array: npt.NDArray[np.uint8]) -> list[bytes]:
    width, flat = array.shape[1], array.tobytes()
    return [flat[at : at + width] for at in range(0, len(flat), width)]


def _check(arrays: Arrays, tip: bytes) -> None:
    expect(arrays, {**ARRAYS, **_TERMS})
    if arrays["commit_id"][-1:].tobytes() != tip:
        raise Damaged("a view of commits is of other commits")
    check_rows(arrays, len(arrays["commit_id"]))
    ends, rows = arrays["term_end"], arrays["posting_row"]
    if not (
        len(arrays["term"]) == len(ends)
        and bool((ends[:-1] <= ends[1:]).all())
        and int(ends[-1] if len(ends) else 0) == len(rows) == len(arrays["posting_times"])
        and int(rows.max(initial=0)) < max(1, len(arrays["row_kind"]))
    ):
        raise Damaged("the words of a view of commits do not fit its rows")
