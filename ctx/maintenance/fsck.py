"""`git ctx fsck`: look into every file of the store, and remove what is damaged so that it is made anew.

What a file must be is said by its place and name. A node or a tree that names something that is not sound is
removed with it: a search would trust it. Files that are not git-ctx's are told and left.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from ctx.errors import StoreUnusable
from ctx.indexing.lock import IndexLock
from ctx.maintenance import examine
from ctx.maintenance.compare import differing_trees
from ctx.maintenance.gc import busy, grant
from ctx.maintenance.inventory import (
    CLUSTER,
    FOREIGN,
    NODE,
    OWN,
    PACK,
    TEMPORARY,
    TREE,
    WISH,
    Stored,
    inventory,
)
from ctx.maintenance.mend import mend

if TYPE_CHECKING:
    from ctx.search.open_index import OpenIndex

Told = Callable[[int, int], None]
"""Is told how many files of how many were looked into."""

_LOCK_WAITS = 5.0


class Finding(NamedTuple):
    """A file that is not what it should be, relative to the store, and whether it was mended."""

    path: str
    kind: str
    problem: str
    mended: bool


class Report(NamedTuple):
    """How many files of each kind were looked into, what was wrong, and which files are not git-ctx's."""

    checked: dict[str, int]
    findings: list[Finding]
    foreign: list[str]
    uncompared: list[bytes]


def check(
    index: OpenIndex, *, full: bool = False, dry_run: bool = False, told: Told = lambda done, all: None
) -> Report:
    """Look into everything; with `full` also compare each snapshot with its tree as git has it.

    Raises `StoreUnusable` when another process indexes for long or nothing may be removed.
    """
    if dry_run or not os.path.isdir(index.store.path):
        return _check(index, full, False, told)
    lock = IndexLock(index.store)
    if not lock.acquire(_LOCK_WAITS):
        raise StoreUnusable(busy(lock))
    with lock:
        report = _check(index, full, True, told)
    grant(index, lock)
    return report


def _check(index: OpenIndex, full: bool, remove: bool, told: Told) -> Report:
    files = list(inventory(index.store))
    wrong, checked = _examined(index, files, told)
    uncompared: list[bytes] = []
    if full:
        broken = {(file.group, file.name) for file, _ in wrong if file.kind == TREE}
        trees = [file for file in files if file.kind == TREE and file.group == str(index.descriptor)]
        whole = [bytes.fromhex(file.name) for file in trees if (file.group, file.name) not in broken]
        differing, uncompared = differing_trees(index, whole)
        by_path = {file.path: file for file in files}
        wrong += [(by_path[path], problem) for path, problem in differing if path in by_path]
    findings = [
        Finding(
            os.path.relpath(file.path, index.store.path),
            file.kind,
            problem,
            remove and mend(index.store, file),
        )
        for file, problem in wrong
    ]
    foreign = [os.path.relpath(file.path, index.store.path) for file in files if file.kind == FOREIGN]
    return Report(checked, findings, foreign, uncompared)


def _examined(
    index: OpenIndex, files: list[Stored], told: Told
) -> tuple[list[tuple[Stored, str]], dict[str, int]]:
    """What is wrong, what names other things first, and how many files of each kind there are."""
    order = [file for file in files if file.kind not in (FOREIGN, PACK, TEMPORARY, WISH)]
    rank = {CLUSTER: 0, NODE: 1, TREE: 2}
    order.sort(key=lambda file: rank.get(file.kind, 3))
    examiner = examine.Examiner(index)
    wrong: list[tuple[Stored, str]] = []
    for done, file in enumerate(order):
        told(done, len(order))
        problem = examiner.problem(file)
        # Another process may have replaced or collected it since it was listed.
        if problem is not None and os.path.lexists(file.path) and examiner.problem(file) is not None:
            wrong.append((file, problem))
    wrong += examiner.dangling(file for file in order if file.kind in (NODE, TREE))
    told(len(order), len(order))
    last = {TREE: 0, NODE: 1}
    wrong.sort(key=lambda pair: last.get(pair[0].kind, 2))
    checked = Counter(file.kind for file in order if file.kind != OWN)
    return wrong, dict(checked)
