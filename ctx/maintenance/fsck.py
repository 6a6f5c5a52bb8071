"""`git ctx fsck`: validate every file of the store, and remove damaged ones so that they are rebuilt.

The path of a file determines its kind and key. A node or tree that refers to a damaged file is removed too,
since searches trust references. Foreign files are reported and kept.
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
from ctx.maintenance.repair import repair

if TYPE_CHECKING:
    from ctx.search.session import SearchSession

OnProgress = Callable[[int, int], None]
"""Called with the number of files checked and the total."""

_LOCK_WAITS = 5.0


class Finding(NamedTuple):
    """A damaged file: `path` relative to the store; `repaired` is True if it was repaired."""

    path: str
    kind: str
    problem: str
    repaired: bool


class Report(NamedTuple):
    """Number of checked files by kind, damaged files, foreign files, and trees that git no longer has."""

    checked: dict[str, int]
    findings: list[Finding]
    foreign: list[str]
    uncompared: list[bytes]


def check(
    session: SearchSession,
    *,
    full: bool = False,
    dry_run: bool = False,
    on_progress: OnProgress = lambda done, all: None,
) -> Report:
    """Check all files; with `full` also compare each snapshot with its tree in git.

    Raises `StoreUnusable` if another process holds the lock too long or files cannot be removed.
    """
    if dry_run or not os.path.isdir(session.store.path):
        return _check(session, full, False, on_progress)
    lock = IndexLock(session.store)
    if not lock.acquire(_LOCK_WAITS):
        raise StoreUnusable(busy(lock))
    with lock:
        report = _check(session, full, True, on_progress)
    grant(session, lock)
    return report


def _check(session: SearchSession, full: bool, remove: bool, on_progress: OnProgress) -> Report:
    files = list(inventory(session.store))
    wrong, checked = _examined(session, files, on_progress)
    uncompared: list[bytes] = []
    if full:
        broken = {(file.group, file.name) for file, _ in wrong if file.kind == TREE}
        trees = [file for file in files if file.kind == TREE and file.group == str(session.descriptor)]
        whole = [bytes.fromhex(file.name) for file in trees if (file.group, file.name) not in broken]
        differing, uncompared = differing_trees(session, whole)
        by_path = {file.path: file for file in files}
        wrong += [(by_path[path], problem) for path, problem in differing if path in by_path]
    findings = [
        Finding(
            os.path.relpath(file.path, session.store.path),
            file.kind,
            problem,
            remove and repair(session.store, file),
        )
        for file, problem in wrong
    ]
    foreign = [os.path.relpath(file.path, session.store.path) for file in files if file.kind == FOREIGN]
    return Report(checked, findings, foreign, uncompared)


def _examined(
    session: SearchSession, files: list[Stored], on_progress: OnProgress
) -> tuple[list[tuple[Stored, str]], dict[str, int]]:
    """Return damaged files with their problems, referring files first, and the number of files by kind."""
    order = [file for file in files if file.kind not in (FOREIGN, PACK, TEMPORARY, WISH)]
    rank = {CLUSTER: 0, NODE: 1, TREE: 2}
    order.sort(key=lambda file: rank.get(file.kind, 3))
    examiner = examine.Examiner(session)
    wrong: list[tuple[Stored, str]] = []
    for done, file in enumerate(order):
        on_progress(done, len(order))
        problem = examiner.problem(file)
        # Another process may have replaced or removed it since it was listed.
        if problem is not None and os.path.lexists(file.path) and examiner.problem(file) is not None:
            wrong.append((file, problem))
    wrong += examiner.dangling(file for file in order if file.kind in (NODE, TREE))
    on_progress(len(order), len(order))
    last = {TREE: 0, NODE: 1}
    wrong.sort(key=lambda pair: last.get(pair[0].kind, 2))
    checked = Counter(file.kind for file in order if file.kind != OWN)
    return wrong, dict(checked)
