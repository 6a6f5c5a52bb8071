"""The mark phase of garbage collection: finds files that are no longer needed. It changes nothing.

The snapshots of the given trees are needed, and all young files: a process may have made or reused them
without having written a reference yet. Using a stored node or cluster makes it young (`Store.touch`), and
everything below a young node is needed too.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Set
from contextlib import suppress
from graphlib import CycleError, TopologicalSorter
from typing import NamedTuple, TypeVar

from ctx.errors import Damaged, Decoding
from ctx.git.commits import history_of
from ctx.git.repository import Repository
from ctx.history.blocks import block_key, runs
from ctx.maintenance.inventory import OF_MODELS, Kind, StoreFile
from ctx.storage.arrays import map_file
from ctx.storage.snapshots import Snapshots
from ctx.storage.store import ABANDONED, Store

_OF_GROUPS = (Kind.TREE, Kind.LOG, Kind.NODE, Kind.CLUSTER, Kind.PARTIAL_CLUSTER, Kind.PARTIAL_TREE)
_REMOVAL_ORDER = (Kind.TREE, Kind.LOG, Kind.NODE, Kind.CLUSTER)
"""Kinds that are removed before all others, in this order: what refers to others comes first."""
UNNAMED_SEGMENT = 3600.0
"""Seconds that an unreferenced segment is kept: its view may be about to be written."""
_MOST_TIPS = 100
"""With more tips than this all blocks of commits are kept, so that a collection stays fast."""

T = TypeVar("T")


class Garbage(NamedTuple):
    """Files to remove, in this order; parent nodes come before their children.

    `spared` names descriptors of which a needed node cannot be read: what is below it is unknown, so all
    their nodes and clusters are kept.
    """

    files: list[StoreFile]
    spared: list[str]


def find_garbage(
    store: Store, found: Iterable[StoreFile], needed: Set[bytes], cutoff: float, now: float, views_in_use: str
) -> Garbage:
    """Return the files of a store that are not needed, except blocks of commits.

    `needed` are the trees to keep; files younger than `cutoff` are kept. `views_in_use` is the directory of
    views that this program reads.
    """
    groups: dict[str, list[StoreFile]] = {}
    views: dict[str, list[StoreFile]] = {}
    gone: list[StoreFile] = []
    ends = {Kind.TEMPORARY: now - ABANDONED, Kind.REQUEST: min(cutoff, now - ABANDONED), Kind.PACK: cutoff}
    for file in found:
        if file.kind in _OF_GROUPS:
            groups.setdefault(file.group, []).append(file)
        elif file.kind in (Kind.SEGMENT, Kind.VIEW, Kind.OVERLAY):
            views.setdefault(file.group, []).append(file)
        elif file.mtime < ends.get(file.kind, 0):
            gone.append(file)
    own = views.pop(views_in_use, [])
    idle = {group: files for group, files in views.items() if max(file.mtime for file in files) < cutoff}
    shown = _clusters_of_views(file for group, files in views.items() if group not in idle for file in files)
    spared: list[str] = []
    covered: Set[bytes] = set()
    for group, files in sorted(groups.items()):
        in_use = group == views_in_use.rpartition("-w")[0]
        overlays = [file for file in own if file.kind == Kind.OVERLAY and file.mtime >= cutoff]
        read = shown | _clusters_of_views(overlays) if in_use else shown
        unreached, kept, whole = _mark_group(Snapshots(store, group), files, needed, cutoff, read)
        gone += unreached
        spared += [] if whole else [group]
        covered = kept if in_use else covered
    going = {file.path for file in gone}
    for group, files in idle.items():
        # Needed to recognize a model service as long as vectors of it exist.
        lasting = any(file.kind == Kind.CLUSTER and file.path not in going for file in groups.get(group, ()))
        gone += [file for file in files if not (lasting and file.name in OF_MODELS)]
    gone += _idle_views(own, covered, cutoff, now)
    rank = {kind: place for place, kind in enumerate(_REMOVAL_ORDER)}
    return Garbage(sorted(gone, key=lambda file: rank.get(file.kind, len(rank))), spared)


def idle_history(repository: Repository, files: Iterable[StoreFile], cutoff: float) -> list[StoreFile]:
    """Return the old blocks and views of histories that no branch or HEAD needs. Raises GitFailed."""
    old = [file for file in files if file.kind in (Kind.BLOCK, Kind.BLOCK_VIEW) and file.mtime < cutoff]
    if not any(file.kind == Kind.BLOCK for file in old):
        return old
    tips = repository.tips()
    if len(tips) > _MOST_TIPS:
        return [file for file in old if file.kind == Kind.BLOCK_VIEW]
    needed: set[str] = set()
    for tip in tips:
        history = history_of(repository, tip)
        needed.update(
            block_key(history.commits[start:end], history.shallow).hex()
            for start, end in runs(history.commits)
        )
    return [file for file in old if file.name not in needed]


def _idle_views(
    files: Iterable[StoreFile], covered: Set[bytes], cutoff: float, now: float
) -> list[StoreFile]:
    """Return views of trees without a snapshot, old overlays, and unreferenced segments."""
    idle: list[StoreFile] = []
    named: set[str] = set()
    shown = {tree.hex() for tree in covered}
    segments: list[StoreFile] = []
    for file in files:
        if file.kind == Kind.SEGMENT:
            segments.append(file)
            continue
        tree = file.name.partition("-")[2]
        if (tree in shown) if file.kind == Kind.VIEW else (file.mtime >= cutoff):
            with suppress(OSError, Damaged), Decoding("a view"):
                named.update(map_file(file.path)[1].get("segments", ()))
        else:
            idle.append(file)
    limit = max(cutoff, now - UNNAMED_SEGMENT)
    return idle + [file for file in segments if file.name not in named and file.mtime < limit]


def _clusters_of_views(views: Iterable[StoreFile]) -> set[bytes]:
    """Return the clusters from which views read the structure of their hits."""
    keys: set[bytes] = set()
    for file in views:
        if file.kind == Kind.SEGMENT:
            continue
        with suppress(OSError, Damaged), Decoding("a view"):
            keys.update(row.tobytes() for row in map_file(file.path)[0]["cluster_key"])
    return keys


def _mark_group(
    snapshots: Snapshots, files: Iterable[StoreFile], needed: Set[bytes], cutoff: float, shown: Set[bytes]
) -> tuple[list[StoreFile], Set[bytes], bool]:
    """Mark from the needed trees and young nodes of one descriptor down.

    Return the files that are not reached, the trees and partial trees to keep, and True if all nodes could be
    read. `shown` are clusters to keep.
    """
    every: dict[str, dict[bytes, StoreFile]] = {kind: {} for kind in _OF_GROUPS}
    for file in files:
        every[file.kind][bytes.fromhex(file.name)] = file
    old = {
        kind: {key: file for key, file in found.items() if file.mtime < cutoff}
        for kind, found in every.items()
    }
    kept = every[Kind.TREE].keys() - (old[Kind.TREE].keys() - needed)
    roots = [root for tree in kept if (root := snapshots.tree(tree)) is not None]
    young = every[Kind.NODE].keys() - old[Kind.NODE].keys()
    nodes, clusters, whole = reach(snapshots, [*roots, *young])
    partial = every[Kind.PARTIAL_TREE].keys() - kept - (old[Kind.PARTIAL_TREE].keys() - needed)
    named = {key for found in filter(None, map(snapshots.partial, partial)) for key in found.clusters}
    gone = [file for tree, file in every[Kind.TREE].items() if tree not in kept]
    gone += [file for tree, file in old[Kind.LOG].items() if tree not in kept]
    gone += [file for tree, file in every[Kind.PARTIAL_TREE].items() if tree not in partial]
    gone += [file for key, file in old[Kind.PARTIAL_CLUSTER].items() if key not in named]
    if whole:
        idle = every[Kind.NODE].keys() - nodes
        gone += [every[Kind.NODE][key] for key in _parents_first(snapshots, idle)]
        clusters |= named | shown
        gone += [file for key, file in old[Kind.CLUSTER].items() if key not in clusters]
    return gone, kept | partial, whole


def reach(snapshots: Snapshots, roots: Iterable[bytes]) -> tuple[set[bytes], set[bytes], bool]:
    """Return the nodes and clusters below `roots`, inclusive, and True if all could be read."""
    nodes: set[bytes] = set()
    clusters: set[bytes] = set()
    whole = True
    pending = list(roots)
    while pending:
        key = pending.pop()
        if key in nodes:
            continue
        nodes.add(key)
        record = snapshots.node(key)
        if record is None:
            whole = False
            continue
        clusters.update(record.clusters)
        pending += record.nodes
    return nodes, clusters, whole


def _parents_first(snapshots: Snapshots, keys: Set[bytes]) -> list[bytes]:
    """Return nodes in topological order. Those that lead to a cycle, which only damage makes, come first."""
    below: dict[bytes, list[bytes]] = {}
    for key in keys:
        record = snapshots.node(key)
        below[key] = [child for child in record.nodes if child in keys] if record else []
    ordered = children_first(below)
    return [*(keys - set(ordered)), *reversed(ordered)]


def children_first(below: Mapping[T, Collection[T]]) -> list[T]:
    """Return the keys of a graph in topological order, without those that lead to a cycle.

    `below` has the keys below each; each of them must be a key too.
    """
    sorter = TopologicalSorter(below)
    with suppress(CycleError):
        sorter.prepare()
    order: list[T] = []
    while ready := sorter.get_ready():
        order += ready
        sorter.done(*ready)
    return order
