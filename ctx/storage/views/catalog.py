"""Where views and segments lie, and which are kept."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence, Set
from hashlib import blake2b
from typing import Any

import numpy as np

from ctx.errors import Damaged, StoreUnusable
from ctx.storage.arrays import Arrays, encode, map_file
from ctx.storage.partition import PARTITION_VERSION
from ctx.storage.store import Store
from ctx.storage.views.segments import Segment
from ctx.storage.views.view import View

_KEPT_VIEWS = 4
_KEPT_TIPS = 8
"""Views of branch tips and checked out commits that are kept besides: switching to one then costs nothing."""
_KEPT_OVERLAYS = 2
_OPEN = 8
"""Views that one process keeps open, with the segments that they name."""
_VIEW, _OVERLAY, _SEGMENT = "view-", "overlay-", "segment-"
_GRACE = 3600.0
"""Seconds for which a segment that no view names is left: its view may be about to be written."""

Tips = Callable[[Sequence[bytes]], Set[bytes]]
"""Tells which of some trees are those of a branch tip or of what a work tree has checked out."""


class Catalog:
    """The views and segments of one descriptor and one version of the words layer.

    What cannot be written (a read-only directory) is kept in memory for this process. What other stores
    lend is read where this one has nothing.
    """

    def __init__(self, store: Store, descriptor: str, words_version: int) -> None:
        self._store = store
        self.group = f"{descriptor}-w{words_version}"
        self._folder = os.path.join(store.path, "views", self.group)
        self._lent = [os.path.join(path, "views", self.group) for path in store.lent]
        self._segments: dict[str, Segment] = {}
        self._views: dict[bytes, View] = {}

    def view(self, tree: bytes) -> View | None:
        """The view of a tree, or None where there is none that can be used."""
        if (open_ := self._views.get(tree)) is not None:
            return self._keep(tree, open_)
        for name in (_VIEW + tree.hex(), _OVERLAY + tree.hex()):
            for path in self._files(name):
                try:
                    view = self._load(path, tree)
                except (OSError, Damaged):
                    continue
                self._use(name)
                return self._keep(tree, view)
        return None

    def _keep(self, tree: bytes, view: View) -> View:
        """Keep a view open, and let go of the one that was used least recently if there are too many."""
        self._views.pop(tree, None)
        self._views[tree] = view
        if len(self._views) > _OPEN:
            del self._views[next(iter(self._views))]
            named = {name for kept in self._views.values() for name in kept.names}
            self._segments = {name: one for name, one in self._segments.items() if name in named}
        return view

    def latest(self) -> View | None:
        """The view that was used last, to build the next one from."""
        return next(self.views(), None)

    def views(self) -> Iterator[View]:
        """All usable views, the one that was used last first."""
        for path in self._by_age(_VIEW, _OVERLAY):
            try:
                yield self._load(path, None)
            except (OSError, Damaged):
                continue
        yield from reversed(list(self._views.values()))

    def segment(self, name: str) -> Segment:
        """A segment by name. Raises `Damaged` and OSError."""
        if name not in self._segments:
            self._segments[name] = self._load_segment(name)
        return self._segments[name]

    def _load_segment(self, name: str) -> Segment:
        problem: Damaged | OSError | None = None
        for path in self._files(name):
            try:
                arrays, meta = map_file(path)
                if meta.get("name") != name:
                    raise Damaged("a segment is not the one that its name says")
                return Segment(arrays, meta)
            except (OSError, Damaged) as error:
                problem = problem or error
        assert problem is not None, "there is one place at least"
        raise problem

    def segments(self) -> Iterator[tuple[str, Segment]]:
        """All usable segments, the newest first."""
        names = map(os.path.basename, self._by_age(_SEGMENT))
        for name in dict.fromkeys([*names, *self._segments]):
            try:
                yield name, self.segment(name)
            except (OSError, Damaged):
                continue

    def add_segment(self, arrays: Arrays, meta: dict[str, Any]) -> str:
        """Keep a new segment; gives its name, which is a hash of its content."""
        name = segment_name(arrays, meta)
        meta = meta | {"name": name}
        # Written even where it is: what is there may be damaged.
        self._write(name, encode(arrays, meta))
        self._segments[name] = Segment(arrays, meta)
        return name

    def add_view(self, tree: bytes, arrays: Arrays, meta: dict[str, Any], committed: bool) -> View:
        """Keep a new view; those of trees that are not committed do not crowd out the others."""
        if all(self._use(name) for name in meta["segments"]):
            written = encode(arrays, meta | {"partition": PARTITION_VERSION})
            self._write((_VIEW if committed else _OVERLAY) + tree.hex(), written)
        view = View(arrays, meta, [self.segment(name) for name in meta["segments"]])
        return self._keep(tree, view)

    def forget(self, tree: bytes) -> None:
        """Let go of the view of a tree, so that it is read or made anew."""
        self._views.pop(tree, None)
        for prefix in (_VIEW, _OVERLAY):
            _remove(self._file(prefix + tree.hex()))

    def clear(self) -> None:
        """Remove all views and segments, and borrow none any more: a new one has nothing wrong with it."""
        self._views.clear()
        self._segments.clear()
        self._lent.clear()
        for path in _by_age(self._folder, _VIEW, _OVERLAY, _SEGMENT):
            _remove(path)

    def prune(self, are_tips: Tips) -> None:
        """Remove the views that were not used for longest, the segments that no view names, and scraps.

        Views of trees that `are_tips` are kept longer.
        """
        self._store.sweep()
        named: set[str] = set()
        views, overlays = _by_age(self._folder, _VIEW), _by_age(self._folder, _OVERLAY)
        kept = {*views[:_KEPT_VIEWS], *overlays[:_KEPT_OVERLAYS], *_tips(views[_KEPT_VIEWS:], are_tips)}
        for path in (*views, *overlays):
            try:
                if path in kept:
                    named.update(_names(map_file(path)[1]))
                    continue
            except (OSError, Damaged):
                pass
            _remove(path)
        for path in _by_age(self._folder, _SEGMENT):
            if os.path.basename(path) not in named and _age(path) > _GRACE:
                _remove(path)

    def _load(self, path: str, tree: bytes | None) -> View:
        arrays, meta = map_file(path)
        if tree is not None and (meta.get("tree"), meta.get("partition")) != (tree, PARTITION_VERSION):
            raise Damaged("a view is of another tree, or cut as another release did")
        return View(arrays, meta, [self.segment(name) for name in _names(meta)])

    def _use(self, name: str) -> bool:
        """Make a view young that is searched, or a segment that a view will name; whether it is there."""
        try:
            os.utime(self._file(name))
        except FileNotFoundError:
            return any(map(os.path.exists, self._files(name)))
        except OSError:
            return True
        return True

    def _write(self, name: str, data: bytes) -> None:
        try:
            self._store.write_file(self._file(name), data)
        except StoreUnusable:
            # A view is only a convenience: searching works where nothing may be written.
            pass

    def _file(self, name: str) -> str:
        return os.path.join(self._folder, name)

    def _files(self, name: str) -> Iterator[str]:
        """Where a file may lie: here, or in a store that is only read."""
        for folder in (self._folder, *self._lent):
            yield os.path.join(folder, name)

    def _by_age(self, *prefixes: str) -> Iterator[str]:
        """The paths of files, the youngest first, this store's before those of others."""
        for folder in (self._folder, *self._lent):
            yield from _by_age(folder, *prefixes)


def segment_name(arrays: Arrays, meta: dict[str, Any]) -> str:
    """The name of a segment: a hash of its arrays and of its description without the name."""
    digest = blake2b(repr({key: meta[key] for key in meta if key != "name"}).encode(), digest_size=16)
    for array in arrays.values():
        digest.update(np.ascontiguousarray(array).tobytes())
    return f"segment-{digest.hexdigest()}"


def _tips(views: Sequence[str], are_tips: Tips) -> Sequence[str]:
    """Those of some views (paths, the one used last first) that are kept for the sake of their trees."""
    trees: dict[bytes, str] = {}
    for path in views:
        try:
            trees[bytes.fromhex(os.path.basename(path).removeprefix(_VIEW))] = path
        except ValueError:
            continue
    if not trees:
        return ()
    wanted = are_tips(list(trees))
    return [path for tree, path in trees.items() if tree in wanted][:_KEPT_TIPS]


def _names(meta: dict[str, Any]) -> Sequence[str]:
    names = meta.get("segments")
    if not isinstance(names, list) or not all(
        isinstance(name, str) and name.startswith(_SEGMENT) and name[8:].isalnum() for name in names
    ):
        raise Damaged("a view does not name its segments")
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


def _remove(path: str) -> None:
    try:
        os.unlink(path)
    except OSError:
        pass
