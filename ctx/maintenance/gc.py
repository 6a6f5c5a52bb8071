"""`git ctx gc`: remove what no reachable tree needs.

Removed files can be rebuilt from git. Searches may run meanwhile.
"""

from __future__ import annotations

import os
import re
import time
from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from ctx.errors import StoreUnusable, UsageError
from ctx.git.expiry import cutoff
from ctx.indexing.lock import IndexLock, nobody_is_at_work
from ctx.maintenance.due import stamp
from ctx.maintenance.inventory import (
    CLUSTER,
    HISTORY,
    NODE,
    OBJECTS,
    PACKS,
    SNAPSHOTS,
    TMP,
    TREE,
    VIEWS,
    Stored,
    inventory,
)
from ctx.maintenance.mark import condemned
from ctx.maintenance.pins import pins
from ctx.maintenance.removal import remove_tree
from ctx.maintenance.roots import reachable_trees
from ctx.maintenance.sweep import remove_empty_directories, sweep
from ctx.storage.document_index import DocumentIndex

if TYPE_CHECKING:
    from ctx.search.open_index import OpenIndex

AREAS = (OBJECTS, SNAPSHOTS, VIEWS, HISTORY, PACKS, TMP)
_LOCK_WAITS = 5.0
"""Seconds to wait for a process that is indexing."""
_LONGEST_WORK = 86_400.0
"""Maximum seconds that a process works before its files are referenced."""
_TICK = 0.05
"""Seconds that file times may lag behind the clock."""


class Report(NamedTuple):
    """Result of a collection or dry run. Sizes in bytes by area (AREAS, "other"), counts by kind.

    `others` are descriptors not in use, with the bytes of their snapshots and clusters; `spared` those kept
    completely because a part of them is damaged.
    """

    dry_run: bool
    before: dict[str, int]
    after: dict[str, int]
    removed: dict[str, int]
    kept_snapshots: int
    kept_clusters: int
    pinned: int
    others: dict[str, int]
    spared: list[str]


def collect(
    index: OpenIndex,
    grace: str | None = None,
    *,
    dry_run: bool = False,
    drop: str | None = None,
    wait: float = _LOCK_WAITS,
) -> Report:
    """Remove files that are neither needed nor young; `drop` is a descriptor to remove completely.

    Wait up to `wait` seconds for a process that is indexing. Raises `StoreUnusable` if it takes longer, or if
    files cannot be removed.
    """
    since = cutoff(index.repository, grace)
    if drop is not None:
        _check_descriptor(index, drop)
    if dry_run or not os.path.isdir(index.store.path):
        return _collect(index, since, drop, dry_run=True)._replace(dry_run=dry_run)
    lock = IndexLock(index.store)
    if not lock.acquire(wait):
        raise StoreUnusable(busy(lock))
    with lock:
        report = _collect(index, _cautious(index, since, wait), drop, dry_run=False)
    grant(index, lock)
    return report


def _cautious(index: OpenIndex, since: float, wait: float) -> float:
    """Return the cutoff, at most a day ago if another process may have written unreferenced files."""
    now = time.time()
    if since > now - _LONGEST_WORK and not nobody_is_at_work(index.store, min(wait, 2.0)):
        return now - _LONGEST_WORK
    return min(since, now - _TICK)


def busy(lock: IndexLock) -> str:
    """Return the error message for a lock held by another process."""
    holder = lock.holder()
    who = f"another process (pid {holder})" if holder else "another process"
    return f"{who} is working on this index: wait until it exits, or stop it, then run the command again"


def grant(index: OpenIndex, lock: IndexLock) -> None:
    """Serve indexing requests that were queued while the lock was held for another purpose."""
    while lock.requests() and lock.acquire():
        with lock:
            index.indexer.serve_requests(lock, None, False)


def _collect(index: OpenIndex, since: float, drop: str | None, *, dry_run: bool) -> Report:
    now = time.time()
    files = list(inventory(index.store))
    before = _sizes(index, files)
    kept = {pin.tree for pin in pins(index.store)}
    needed = reachable_trees(index.repository, since) | kept
    dropped = [file for file in files if drop is not None and _descriptor_of(file.group) == drop]
    left = [file for file in files if drop is None or _descriptor_of(file.group) != drop]
    marked = condemned(index.store, left, needed, since, now, index.catalog.group)
    from ctx.maintenance.histories import idle_history

    marked.scraps.extend(idle_history(index.repository, left, since))
    gone = marked.all()
    if not dry_run:
        if drop is not None:
            _drop(index, drop)
        gone = sweep(index.store, marked)
        _forget(index, {file.group for file in marked.clusters})
        stamp(index)
    gone += dropped
    others: Counter[str] = Counter()
    in_use = _in_use(index)
    for file in left:
        if file.kind in (TREE, NODE, CLUSTER) and file.group not in in_use:
            others[file.group] += file.size
    lost = _sizes(index, gone)
    return Report(
        dry_run,
        before,
        {area: size - lost[area] for area, size in before.items()},
        dict(Counter(file.kind for file in gone)),
        marked.kept_trees,
        marked.kept_clusters,
        len(kept),
        dict(others),
        marked.spared,
    )


def _in_use(index: OpenIndex) -> set[str]:
    """Return the descriptors that searches use, including that of a configured remote model."""
    try:
        model = index.remote_model
    except UsageError:
        model = None
    return {str(index.descriptor)} | ({str(model.descriptor)} if model is not None else set())


def _forget(index: OpenIndex, descriptors: Iterable[str]) -> None:
    """Remove references to deleted clusters from the document indexes."""
    for descriptor in descriptors:
        documents = DocumentIndex(index.store, descriptor)
        if descriptor == str(index.descriptor):
            documents.renew(index.clusters)
        else:
            documents.drop()


def _sizes(index: OpenIndex, files: Iterable[Stored]) -> dict[str, int]:
    sizes = dict.fromkeys((*AREAS, "other"), 0)
    for file in files:
        area = os.path.relpath(file.path, index.store.path).split(os.sep)[0]
        sizes[area if area in AREAS else "other"] += file.size
    return sizes


def _descriptor_of(group: str) -> str:
    """Return the descriptor of a directory name; view directories append the version of the words layer."""
    return re.sub(r"-w\d+$", "", group)


def _check_descriptor(index: OpenIndex, drop: str) -> None:
    if drop == str(index.descriptor):
        raise UsageError(f"{drop} is the descriptor in use; `git ctx remove-index` removes everything")
    known = {_descriptor_of(file.group) for file in inventory(index.store)} - {""}
    if drop not in known:
        there = ", ".join(sorted(known - {str(index.descriptor)})) or "there is no other"
        raise UsageError(f"the store has no descriptor '{drop}': {there}")


def _drop(index: OpenIndex, drop: str) -> None:
    views = os.path.join(index.store.path, VIEWS)
    names = os.listdir(views) if os.path.isdir(views) else []
    folders = [os.path.join(index.store.path, area, drop) for area in (SNAPSHOTS, OBJECTS)]
    folders += [os.path.join(views, name) for name in names if _descriptor_of(name) == drop]
    for folder in folders:
        remove_tree(folder)
    DocumentIndex(index.store, drop).drop()
    remove_empty_directories(index.store)
