"""The mark phase of garbage collection: finds files that are no longer needed. It changes nothing.

The snapshots of the given trees are needed, and all young files: a process may have made or reused them
without having written a reference yet. Using a stored node or cluster makes it young (`Store.touch`), and
everything below a young node is needed too.
"""

from __future__ import annotations

from collections.abc import Iterable, Set
from contextlib import suppress
from typing import NamedTuple

from ctx.errors import Damaged, Decoding
from ctx.maintenance.inventory import (
    CLUSTER,
    LOG,
    NODE,
    OF_MODELS,
    OVERLAY,
    PACK,
    PARTIAL_CLUSTER,
    PARTIAL_TREE,
    SEGMENT,
    TEMPORARY,
    TREE,
    VIEW,
    WISH,
    Stored,
)
from ctx.storage.arrays import map_file
from ctx.storage.snapshots import Snapshots
from ctx.storage.store import Store

_OF_GROUPS = (CLUSTER, NODE, TREE, LOG, PARTIAL_CLUSTER, PARTIAL_TREE)
UNNAMED_SEGMENT = 3600.0
"""Seconds that an unreferenced segment is kept: its view may be about to be written."""
ABANDONED = 3600.0
"""Seconds after which a temporary file is abandoned."""


class Condemned(NamedTuple):
    """Files to remove, in this order; parent nodes come before their children.

    `spared` names descriptors of which a needed node cannot be read: what is below it is unknown, so all
    their nodes and clusters are kept.
    """

    trees: list[Stored]
    logs: list[Stored]
    nodes: list[Stored]
    clusters: list[Stored]
    views: list[Stored]
    scraps: list[Stored]
    spared: list[str]
    kept_trees: int
    kept_clusters: int

    def all(self) -> list[Stored]:
        """Return all files in the order of removal."""
        return [*self.trees, *self.logs, *self.nodes, *self.clusters, *self.views, *self.scraps]


def condemned(
    store: Store,
    found: Iterable[Stored],
    needed: Set[bytes],
    cutoff: float,
    now: float,
    views_in_use: str,
) -> Condemned:
    """Return the files of a store that are not needed.

    `needed` are the trees to keep; files younger than `cutoff` are kept. `views_in_use` is the directory of
    views that this program reads.
    """
    groups: dict[str, list[Stored]] = {}
    views: dict[str, list[Stored]] = {}
    scraps: list[Stored] = []
    ends = {TEMPORARY: now - ABANDONED, WISH: min(cutoff, now - ABANDONED), PACK: cutoff}
    for file in found:
        if file.kind in _OF_GROUPS:
            groups.setdefault(file.group, []).append(file)
        elif file.kind in (SEGMENT, VIEW, OVERLAY):
            views.setdefault(file.group, []).append(file)
        elif file.mtime < ends.get(file.kind, 0):
            scraps.append(file)
    result = Condemned([], [], [], [], [], scraps, [], 0, 0)
    covered: set[bytes] = set()
    shown: set[bytes] = set()
    idle: dict[str, list[Stored]] = {}
    for group, files in sorted(views.items()):
        if group != views_in_use and max(file.mtime for file in files) < cutoff:
            idle[group] = files
        elif group != views_in_use:
            shown |= _shown(files)
    for group, files in sorted(groups.items()):
        in_use = group == views_in_use.rpartition("-w")[0]
        own = views.get(views_in_use, []) if in_use else []
        overlays = [file for file in own if file.kind == OVERLAY and file.mtime >= cutoff]
        one = _Group(Snapshots(store, group), files, needed, cutoff, shown | _shown(overlays)).condemned()
        covered |= one.trees_kept | one.partial_kept if in_use else set()
        result.trees.extend(one.trees)
        result.logs.extend(one.logs)
        result.nodes.extend(one.nodes)
        result.clusters.extend(one.clusters)
        result.scraps.extend(one.partial)
        result.spared.extend([group] if one.spared else [])
        result = result._replace(
            kept_trees=result.kept_trees + len(one.trees_kept),
            kept_clusters=result.kept_clusters
            + sum(file.kind == CLUSTER for file in files)
            - len(one.clusters),
        )
    going = {file.path for file in result.clusters}
    for group, files in idle.items():
        # Needed to recognize a remote model as long as vectors of it exist.
        lasting = any(file.kind == CLUSTER and file.path not in going for file in groups.get(group, ()))
        result.views.extend(file for file in files if not (lasting and file.name in OF_MODELS))
    result.views.extend(_idle_views(views.get(views_in_use, []), covered, cutoff, now))
    return result


def _idle_views(files: Iterable[Stored], covered: Set[bytes], cutoff: float, now: float) -> list[Stored]:
    """Return views of trees without a snapshot, old overlays, and unreferenced segments."""
    idle: list[Stored] = []
    named: set[str] = set()
    shown = {tree.hex() for tree in covered}
    segments: list[Stored] = []
    for file in files:
        if file.kind == SEGMENT:
            segments.append(file)
            continue
        tree = file.name.partition("-")[2]
        if (tree in shown) if file.kind == VIEW else (file.mtime >= cutoff):
            with suppress(OSError, Damaged), Decoding("a view"):
                named.update(map_file(file.path)[1].get("segments", ()))
        else:
            idle.append(file)
    limit = max(cutoff, now - UNNAMED_SEGMENT)
    return idle + [file for file in segments if file.name not in named and file.mtime < limit]


def _shown(views: Iterable[Stored]) -> set[bytes]:
    """Return the clusters from which views read the structure of their hits."""
    keys: set[bytes] = set()
    for file in views:
        if file.kind == SEGMENT:
            continue
        with suppress(OSError, Damaged), Decoding("a view"):
            keys.update(row.tobytes() for row in map_file(file.path)[0]["cluster_key"])
    return keys


class _GroupCondemned(NamedTuple):
    trees_kept: set[bytes]
    trees: list[Stored]
    logs: list[Stored]
    nodes: list[Stored]
    clusters: list[Stored]
    spared: bool
    partial_kept: set[bytes]
    partial: list[Stored]


class _Group:
    """The snapshots and clusters of one descriptor."""

    def __init__(
        self,
        snapshots: Snapshots,
        files: Iterable[Stored],
        needed: Set[bytes],
        cutoff: float,
        shown: Set[bytes],
    ) -> None:
        self._snapshots = snapshots
        self._needed = needed
        self._cutoff = cutoff
        self._by_kind: dict[str, dict[bytes, Stored]] = {kind: {} for kind in _OF_GROUPS}
        for file in files:
            self._by_kind[file.kind][bytes.fromhex(file.name)] = file
        self._shown = shown

    def condemned(self) -> _GroupCondemned:
        """Mark from the needed trees and young nodes down; return what was not reached."""
        trees = self._by_kind[TREE]
        kept = {tree for tree, file in trees.items() if tree in self._needed or self._is_young(file)}
        roots = [key for tree in kept if (key := self._snapshots.tree(tree)) is not None]
        young = [key for key, file in self._by_kind[NODE].items() if self._is_young(file)]
        nodes, clusters, whole = reach(self._snapshots, [*roots, *young])
        logs = [
            file for tree, file in self._by_kind[LOG].items() if tree not in kept and not self._is_young(file)
        ]
        gone = [file for tree, file in trees.items() if tree not in kept]
        partial_kept, named, partial = self._partial(kept)
        clusters |= named
        if not whole:
            return _GroupCondemned(kept, gone, logs, [], [], True, partial_kept, partial)
        idle = {key: file for key, file in self._by_kind[NODE].items() if key not in nodes}
        return _GroupCondemned(
            kept,
            gone,
            logs,
            [idle[key] for key in _from_the_top(self._snapshots, idle)],
            [
                file
                for key, file in self._by_kind[CLUSTER].items()
                if not (key in clusters or key in self._shown or self._is_young(file))
            ],
            False,
            partial_kept,
            partial,
        )

    def _partial(self, covered: Set[bytes]) -> tuple[set[bytes], set[bytes], list[Stored]]:
        """Return the partial trees to keep, their clusters, and the partial files to remove."""
        trees, clusters = self._by_kind[PARTIAL_TREE], self._by_kind[PARTIAL_CLUSTER]
        kept = {
            tree
            for tree, file in trees.items()
            if tree not in covered and (tree in self._needed or self._is_young(file))
        }
        found = filter(None, map(self._snapshots.partial, kept))
        named = {key for partial in found for key in partial.clusters}
        gone = [file for tree, file in trees.items() if tree not in kept]
        gone += [file for key, file in clusters.items() if key not in named and not self._is_young(file)]
        return kept, named, gone

    def _is_young(self, file: Stored) -> bool:
        return file.mtime >= self._cutoff


def reach(snapshots: Snapshots, roots: Iterable[bytes]) -> tuple[set[bytes], set[bytes], bool]:
    """Return the nodes and clusters below `roots`, inclusive, and True if all could be read."""
    nodes: set[bytes] = set()
    clusters: set[bytes] = set()
    whole = True
    open_ = list(roots)
    while open_:
        key = open_.pop()
        if key in nodes:
            continue
        nodes.add(key)
        record = snapshots.node(key)
        if record is None:
            whole = False
            continue
        clusters.update(record.clusters)
        open_ += record.nodes
    return nodes, clusters, whole


def _from_the_top(snapshots: Snapshots, keys: Iterable[bytes]) -> list[bytes]:
    """Return nodes in topological order, parents first."""
    left = set(keys)
    order: list[bytes] = []
    open_: list[tuple[bytes, bool]] = [(key, False) for key in left]
    while open_:
        key, done = open_.pop()
        if done:
            order.append(key)
        elif key in left:
            left.discard(key)
            record = snapshots.node(key)
            open_.append((key, True))
            open_ += [(below, False) for below in (record.nodes if record else ()) if below in left]
    return order[::-1]
