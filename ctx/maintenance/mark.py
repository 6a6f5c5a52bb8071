"""What of a store is still needed, and what may go: nothing is changed here.

Needed are the snapshots of the trees that are given, and whatever is young: it may have been made, or found
and relied upon, by a process that has not yet written what names it. Using a stored node or cluster makes it
young (`Store.touch`), and what lies below a young node is needed too.
"""

from __future__ import annotations

from collections.abc import Iterable, Set
from typing import NamedTuple

from ctx.errors import Damaged
from ctx.maintenance.inventory import (
    CLUSTER,
    LOG,
    NODE,
    OF_MODELS,
    OVERLAY,
    PACK,
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

UNNAMED_SEGMENT = 3600.0
"""Seconds for which a segment that no view names is left: its view may be about to be written."""
ABANDONED = 3600.0
"""Seconds after which nobody writes a temporary file any more."""


class Condemned(NamedTuple):
    """What may go, in this order; of nodes those above come before those below.

    `spared` names descriptors in whose snapshots a node that is needed cannot be read: what is below it is
    not known, so their nodes and clusters stay.
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
        """Everything, in the order in which it may go."""
        return [*self.trees, *self.logs, *self.nodes, *self.clusters, *self.views, *self.scraps]


def condemned(
    store: Store,
    found: Iterable[Stored],
    needed: Set[bytes],
    cutoff: float,
    now: float,
    views_in_use: str,
) -> Condemned:
    """Sort the files of a store by whether anybody needs them.

    `needed` are the trees to keep; files that are younger than `cutoff` stay. `views_in_use` is the
    directory of views that this program reads.
    """
    groups: dict[str, list[Stored]] = {}
    views: dict[str, list[Stored]] = {}
    scraps: list[Stored] = []
    ends = {TEMPORARY: now - ABANDONED, WISH: min(cutoff, now - ABANDONED), PACK: cutoff}
    for file in found:
        if file.kind in (CLUSTER, NODE, TREE, LOG):
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
        covered |= one.trees_kept if in_use else set()
        result.trees.extend(one.trees)
        result.logs.extend(one.logs)
        result.nodes.extend(one.nodes)
        result.clusters.extend(one.clusters)
        result.spared.extend([group] if one.spared else [])
        result = result._replace(
            kept_trees=result.kept_trees + len(one.trees_kept),
            kept_clusters=result.kept_clusters
            + sum(file.kind == CLUSTER for file in files)
            - len(one.clusters),
        )
    going = {file.path for file in result.clusters}
    for group, files in idle.items():
        # What a remote model said once tells, as long as there are vectors of it, whether it is the same.
        lasting = any(file.kind == CLUSTER and file.path not in going for file in groups.get(group, ()))
        result.views.extend(file for file in files if not (lasting and file.name in OF_MODELS))
    result.views.extend(_idle_views(views.get(views_in_use, []), covered, cutoff, now))
    return result


def _idle_views(files: Iterable[Stored], covered: Set[bytes], cutoff: float, now: float) -> list[Stored]:
    """Views of trees without a snapshot, old ones of uncommitted files, and segments that nothing names."""
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
            try:
                named.update(map_file(file.path)[1].get("segments", ()))
            except (OSError, Damaged, TypeError):
                continue
        else:
            idle.append(file)
    limit = max(cutoff, now - UNNAMED_SEGMENT)
    return idle + [file for file in segments if file.name not in named and file.mtime < limit]


def _shown(views: Iterable[Stored]) -> set[bytes]:
    """The clusters that views read the structure of their hits from."""
    keys: set[bytes] = set()
    for file in views:
        if file.kind == SEGMENT:
            continue
        try:
            rows = map_file(file.path)[0]["cluster_key"]
        except (OSError, Damaged, KeyError):
            continue
        keys.update(row.tobytes() for row in rows)
    return keys


class _GroupCondemned(NamedTuple):
    trees_kept: set[bytes]
    trees: list[Stored]
    logs: list[Stored]
    nodes: list[Stored]
    clusters: list[Stored]
    spared: bool


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
        self._by_kind: dict[str, dict[bytes, Stored]] = {kind: {} for kind in (CLUSTER, NODE, TREE, LOG)}
        for file in files:
            self._by_kind[file.kind][bytes.fromhex(file.name)] = file
        self._shown = shown

    def condemned(self) -> _GroupCondemned:
        """Follow what is needed from the trees down; what is not met may go."""
        trees = self._by_kind[TREE]
        kept = {tree for tree, file in trees.items() if tree in self._needed or self._is_young(file)}
        roots = [key for tree in kept if (key := self._snapshots.tree(tree)) is not None]
        young = [key for key, file in self._by_kind[NODE].items() if self._is_young(file)]
        nodes, clusters, whole = reach(self._snapshots, [*roots, *young])
        logs = [
            file for tree, file in self._by_kind[LOG].items() if tree not in kept and not self._is_young(file)
        ]
        gone = [file for tree, file in trees.items() if tree not in kept]
        if not whole:
            return _GroupCondemned(kept, gone, logs, [], [], True)
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
        )

    def _is_young(self, file: Stored) -> bool:
        return file.mtime >= self._cutoff


def reach(snapshots: Snapshots, roots: Iterable[bytes]) -> tuple[set[bytes], set[bytes], bool]:
    """The nodes and the clusters below some nodes, themselves included, and whether all could be read."""
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
    """Nodes in an order in which each comes before those that it names."""
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
