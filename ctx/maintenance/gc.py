"""`git ctx gc`: remove what no reachable tree needs.

Removed files can be rebuilt from git. Searches may run meanwhile.
"""

from __future__ import annotations

import os
import re
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

from ctx.errors import StoreUnusable, UsageError
from ctx.git.expiry import cutoff
from ctx.indexing.lock import IndexLock, nobody_is_at_work
from ctx.maintenance.due import stamp
from ctx.maintenance.inventory import Kind, StoreFile, inventory
from ctx.maintenance.mark import find_garbage, idle_history
from ctx.maintenance.pins import pins
from ctx.maintenance.removal import remove_tree
from ctx.maintenance.roots import reachable_trees
from ctx.maintenance.sweep import remove_empty_directories, sweep
from ctx.storage.document_index import DocumentIndex

if TYPE_CHECKING:
    from ctx.search.session import SearchSession

_AREAS = ("objects", "snapshots", "views", "history", "packs", "tmp")
_LOCK_WAITS = 5.0
"""Seconds to wait for a process that is indexing."""
_LONGEST_WORK = 86_400.0
"""Maximum seconds that a process works before its files are referenced."""
_TICK = 0.05
"""Seconds that file times may lag behind the clock."""


class Report(NamedTuple):
    """Result of a collection or dry run. Sizes in bytes by area, counts by kind.

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


def collect_unless_busy(session: SearchSession) -> Report | None:
    """Collect; return None if the index is in use or read-only."""
    try:
        return collect(session, wait=0.0)
    except StoreUnusable:
        return None


def collect(
    session: SearchSession,
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
    since = cutoff(session.repository, grace)
    if drop is not None:
        _check_descriptor(session, drop)
    if dry_run or not os.path.isdir(session.store.path):
        return _collect(session, since, drop, dry_run=True)._replace(dry_run=dry_run)
    with locked(session, wait):
        return _collect(session, _safe_cutoff(session, since, wait), drop, dry_run=False)


def _safe_cutoff(session: SearchSession, since: float, wait: float) -> float:
    """Return the cutoff, at most a day ago if another process may have written unreferenced files."""
    now = time.time()
    if since > now - _LONGEST_WORK and not nobody_is_at_work(session.store, min(wait, 2.0)):
        return now - _LONGEST_WORK
    return min(since, now - _TICK)


@contextmanager
def locked(session: SearchSession, wait: float) -> Iterator[None]:
    """Hold the lock of the store; then serve the indexing requests that were queued meanwhile.

    Raises `StoreUnusable` if another process holds it for more than `wait` seconds.
    """
    lock = IndexLock(session.store)
    if not lock.acquire(wait):
        holder = lock.holder()
        who = f"another process (pid {holder})" if holder else "another process"
        raise StoreUnusable(
            f"{who} is working on this index: wait until it exits, or stop it, then run the command again"
        )
    with lock:
        yield
    if lock.requests():
        session.indexer.serve_requests(lock)


def _collect(session: SearchSession, since: float, drop: str | None, *, dry_run: bool) -> Report:
    now = time.time()
    files = list(inventory(session.store))
    before = _sizes(session, files)
    pinned = {pin.tree for pin in pins(session.store)}
    needed = reachable_trees(session.repository, since) | pinned
    dropped = [file for file in files if drop is not None and _descriptor_of(file.group) == drop]
    left = [file for file in files if drop is None or _descriptor_of(file.group) != drop]
    unneeded, spared = find_garbage(session.store, left, needed, since, now, session.catalog.group)
    unneeded += idle_history(session.repository, left, since)
    gone = unneeded
    if not dry_run:
        if drop is not None:
            _drop(session, drop)
        gone = sweep(session.store, unneeded)
        for descriptor in {file.group for file in unneeded if file.kind == Kind.CLUSTER}:
            _forget_documents(session, descriptor)
        stamp(session)
    gone = gone + dropped
    others: Counter[str] = Counter()
    in_use = _in_use(session)
    for file in left:
        if file.kind in (Kind.TREE, Kind.NODE, Kind.CLUSTER) and file.group not in in_use:
            others[file.group] += file.size
    lost = _sizes(session, gone)
    kept = Counter(file.kind for file in left)
    kept.subtract(file.kind for file in unneeded)
    return Report(
        dry_run,
        before,
        {area: size - lost[area] for area, size in before.items()},
        dict(Counter(file.kind for file in gone)),
        kept[Kind.TREE],
        kept[Kind.CLUSTER],
        len(pinned),
        dict(others),
        spared,
    )


def _in_use(session: SearchSession) -> set[str]:
    """Return the descriptors that searches use, including that of a configured model service."""
    try:
        model = session.embedding_model
    except UsageError:
        model = None
    return {str(session.descriptor)} | ({str(model.descriptor)} if model is not None else set())


def _forget_documents(session: SearchSession, descriptor: str) -> None:
    """Remove references to deleted clusters from a document index."""
    documents = DocumentIndex(session.store, descriptor)
    if descriptor == str(session.descriptor):
        documents.renew(session.clusters)
    else:
        documents.drop()


def _sizes(session: SearchSession, files: Iterable[StoreFile]) -> dict[str, int]:
    sizes = dict.fromkeys((*_AREAS, "other"), 0)
    for file in files:
        area = os.path.relpath(file.path, session.store.path).split(os.sep)[0]
        sizes[area if area in _AREAS else "other"] += file.size
    return sizes


def _descriptor_of(group: str) -> str:
    """Return the descriptor of a directory name; view directories append the version of the words layer."""
    return re.sub(r"-w\d+$", "", group)


def _check_descriptor(session: SearchSession, drop: str) -> None:
    if drop == str(session.descriptor):
        raise UsageError(f"{drop} is the descriptor in use; `git ctx remove-index` removes everything")
    known = {_descriptor_of(file.group) for file in inventory(session.store)} - {""}
    if drop not in known:
        there = ", ".join(sorted(known - {str(session.descriptor)})) or "there is no other"
        raise UsageError(f"the store has no descriptor '{drop}': {there}")


def _drop(session: SearchSession, drop: str) -> None:
    for area in ("snapshots", "objects", "views"):
        folder = os.path.join(session.store.path, area)
        for name in os.listdir(folder) if os.path.isdir(folder) else ():
            if _descriptor_of(name) == drop:
                remove_tree(os.path.join(folder, name))
    DocumentIndex(session.store, drop).drop()
    remove_empty_directories(session.store)
