"""Storage, lookup and expiry of views and segments."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from contextlib import suppress
from typing import Any, Generic, TypeVar

from ctx.errors import Damaged, StoreUnusable
from ctx.storage.arrays import Arrays, content_hash, encode, map_file
from ctx.storage.partition import PARTITION_VERSION
from ctx.storage.regular_files import discard_file
from ctx.storage.store import Store
from ctx.storage.views.segments import TARGET_ROWS, Segment, SegmentPart
from ctx.storage.views.segments import build as build_segment
from ctx.storage.views.view import View

_KEPT_VIEWS = 4
_KEPT_TIPS = 8
"""Additional views kept for branch tips and checked-out commits, so that switching branches is fast."""
_KEPT_OVERLAYS = 2
_OPEN = 8
"""Maximum number of views that one process keeps open, with their segments."""
_READY = 4
"""Number of these views that are kept ready for scoring."""
_VIEW, _OVERLAY, _SEGMENT = "view-", "overlay-", "segment-"
_GRACE = 3600.0
"""Seconds before an unreferenced segment is removed, since its view may still be written."""

Written = TypeVar("Written")
Tips = Callable[[Sequence[bytes]], Set[bytes]]
"""Return the trees that belong to a branch tip or a checked-out commit."""


class Catalog:
    """Views and segments of one descriptor and one version of the words layer.

    If the store is read-only, new files are kept in memory for this process. Files that the store lacks are
    read from the stores of alternates.
    """

    def __init__(self, store: Store, descriptor: str, words_version: int) -> None:
        self._store = store
        self.group = f"{descriptor}-w{words_version}"
        self._folders = [os.path.join(path, "views", self.group) for path in (store.path, *store.alternates)]
        self._segments: dict[str, Segment] = {}
        self._views: dict[bytes, View] = {}

    def view(self, tree: bytes) -> View | None:
        """Return the view of a tree, or None if there is no usable one."""
        if (view := self._views.get(tree)) is not None:
            return self._keep(tree, view)
        for name in (_VIEW + tree.hex(), _OVERLAY + tree.hex()):
            for path in self._files(name):
                with suppress(OSError, Damaged):
                    view = self._load(path, tree)
                    self._use(name)
                    return self._keep(tree, view)
        return None

    def _keep(self, tree: bytes, view: View) -> View:
        """Keep a view open; close the least recently used one if there are too many."""
        self._views.pop(tree, None)
        self._views[tree] = view
        for unused in list(self._views.values())[:-_READY]:
            unused.corpus = None
        if len(self._views) > _OPEN:
            del self._views[next(iter(self._views))]
            named = {name for kept in self._views.values() for name in kept.names}
            self._segments = {name: one for name, one in self._segments.items() if name in named}
        return view

    def latest(self) -> View | None:
        """Return the most recently used view, to build the next one from, or None."""
        return next(self.views(), None)

    def views(self) -> Iterator[View]:
        """Yield all usable views, most recently used first."""
        for path in self._by_age(_VIEW, _OVERLAY):
            with suppress(OSError, Damaged):
                yield self._load(path, None)
        yield from reversed(list(self._views.values()))

    def segment(self, name: str) -> Segment:
        """Return a segment by name. Raises `Damaged` and OSError."""
        if name not in self._segments:
            self._segments[name] = self._load_segment(name)
        return self._segments[name]

    def _load_segment(self, name: str) -> Segment:
        own, *others = self._files(name)
        try:
            return _read_segment(own, name)
        except (OSError, Damaged):
            for path in others:
                with suppress(OSError, Damaged):
                    return _read_segment(path, name)
            raise

    def segments(self) -> Iterator[tuple[str, Segment]]:
        """Yield all usable segments with their names, newest first."""
        names = map(os.path.basename, self._by_age(_SEGMENT))
        for name in dict.fromkeys([*names, *self._segments]):
            with suppress(OSError, Damaged):
                yield name, self.segment(name)

    def add_segment(self, arrays: Arrays, meta: dict[str, Any]) -> str:
        """Store a segment and return its name, a hash of its content."""
        name = segment_name(arrays, meta)
        meta = meta | {"name": name}
        # Overwrite an existing file, since it may be damaged.
        self._write(name, encode(arrays, meta))
        self._segments[name] = Segment(arrays, meta)
        return name

    def add_view(self, tree: bytes, arrays: Arrays, meta: dict[str, Any], committed: bool) -> View:
        """Store and return a view. Views of uncommitted trees expire separately from the others."""
        if all(self._use(name) for name in meta["segments"]):
            written = encode(arrays, meta | {"partition": PARTITION_VERSION})
            self._write((_VIEW if committed else _OVERLAY) + tree.hex(), written)
        view = View(arrays, meta, [self.segment(name) for name in meta["segments"]])
        return self._keep(tree, view)

    def forget(self, tree: bytes) -> None:
        """Remove the view of a tree, so that it is read again or rebuilt."""
        if (view := self._views.pop(tree, None)) is not None:
            view.corpus = None
        for prefix in (_VIEW, _OVERLAY):
            discard_file(self._file(prefix + tree.hex()))

    def close(self) -> None:
        """Release the views and segments in memory."""
        for view in self._views.values():
            view.corpus = None  # breaks a reference cycle
        self._views.clear()
        self._segments.clear()

    def clear(self) -> None:
        """Remove all views and segments and stop reading from alternates, so that everything is rebuilt."""
        self.close()
        del self._folders[1:]
        for path in _by_age(self._folders[0], _VIEW, _OVERLAY, _SEGMENT):
            discard_file(path)

    def prune(self, are_tips: Tips) -> None:
        """Remove the least recently used views, unreferenced segments and temporary files.

        Views of trees that `are_tips` selects are kept longer.
        """
        self._store.sweep()
        named: set[str] = set()
        folder = self._folders[0]
        views, overlays = _by_age(folder, _VIEW), _by_age(folder, _OVERLAY)
        kept = {*views[:_KEPT_VIEWS], *overlays[:_KEPT_OVERLAYS], *_tips(views[_KEPT_VIEWS:], are_tips)}
        for path in (*views, *overlays):
            with suppress(OSError, Damaged):
                if path in kept:
                    named.update(_names(map_file(path)[1]))
                    continue
            discard_file(path)
        for path in _by_age(folder, _SEGMENT):
            if os.path.basename(path) not in named and _age(path) > _GRACE:
                discard_file(path)

    def _load(self, path: str, tree: bytes | None) -> View:
        arrays, meta = map_file(path)
        if tree is not None and (meta.get("tree"), meta.get("partition")) != (tree, PARTITION_VERSION):
            raise Damaged("a view is of another tree, or partitioned by another release")
        return View(arrays, meta, [self.segment(name) for name in _names(meta)])

    def _use(self, name: str) -> bool:
        """Update the modification time of a used file. Return True if the file exists."""
        with suppress(OSError):
            os.utime(self._file(name))
        return any(map(os.path.exists, self._files(name)))

    def _write(self, name: str, data: bytes) -> None:
        with suppress(StoreUnusable):  # views are a cache; searching works on a read-only store
            self._store.write_file(self._file(name), data)

    def _file(self, name: str) -> str:
        return os.path.join(self._folders[0], name)

    def _files(self, name: str) -> list[str]:
        """Return the possible paths of a file: in this store, then in those of alternates."""
        return [os.path.join(folder, name) for folder in self._folders]

    def _by_age(self, *prefixes: str) -> Iterator[str]:
        """Yield the paths of files, youngest first, this store before alternates."""
        for folder in self._folders:
            yield from _by_age(folder, *prefixes)


class SegmentWriter(Generic[Written]):
    """Collector of parts that calls `write` with a segment for every TARGET_ROWS rows."""

    def __init__(self, write: Callable[[Arrays, dict[str, Any]], Written]) -> None:
        self._write = write
        self._parts: list[SegmentPart] = []
        self._rows = 0
        self._written: list[Written] = []

    def add(self, parts: Iterable[SegmentPart]) -> None:
        """Add parts, each of at most MAX_ROWS rows."""
        for part in parts:
            if self._rows + len(part.lengths) > TARGET_ROWS:
                self.flush()
            if part.documents:
                self._parts.append(part)
                self._rows += len(part.lengths)

    def flush(self) -> list[Written]:
        """Write the last segment; return the results for all segments."""
        if self._parts:
            self._written.append(self._write(*build_segment(self._parts)))
        self._parts, self._rows = [], 0
        return self._written


def _read_segment(path: str, name: str) -> Segment:
    arrays, meta = map_file(path)
    if meta.get("name") != name:
        raise Damaged("a segment does not match its name")
    return Segment(arrays, meta)


def segment_name(arrays: Arrays, meta: dict[str, Any]) -> str:
    """Return the name of a segment: a hash of its arrays and its metadata without the name."""
    description = repr({key: meta[key] for key in meta if key != "name"}).encode()
    return f"segment-{content_hash(arrays, description)}"


def _tips(views: Sequence[str], are_tips: Tips) -> Sequence[str]:
    """Return the paths of views to keep because of their trees; `views` are sorted by last use."""
    trees: dict[bytes, str] = {}
    for path in views:
        with suppress(ValueError):
            trees[bytes.fromhex(os.path.basename(path).removeprefix(_VIEW))] = path
    tips = are_tips(list(trees)) if trees else ()
    return [path for tree, path in trees.items() if tree in tips][:_KEPT_TIPS]


def _names(meta: dict[str, Any]) -> Sequence[str]:
    names = meta.get("segments")
    if not isinstance(names, list) or not all(
        isinstance(name, str) and name.startswith(_SEGMENT) and name[8:].isalnum() for name in names
    ):
        raise Damaged("the segment names of a view are missing or invalid")
    return names


def _by_age(folder: str, *prefixes: str) -> list[str]:
    try:
        paths = [os.path.join(folder, name) for name in os.listdir(folder) if name.startswith(prefixes)]
    except OSError:
        return []
    return sorted(paths, key=lambda path: (_age(path), path))


def _age(path: str) -> float:
    try:
        return time.time() - os.stat(path).st_mtime
    except OSError:
        return 0.0
