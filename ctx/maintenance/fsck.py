"""`git ctx fsck`: validate every file of the store, and remove damaged ones so that they are rebuilt.

The path of a file determines its kind and key. A node or tree that refers to a damaged file is removed too,
since searches trust references. Foreign files are reported and kept.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from ctx.errors import Damaged, Decoding
from ctx.maintenance.compare import compare_trees
from ctx.maintenance.examine import Examiner
from ctx.maintenance.gc import locked
from ctx.maintenance.inventory import Kind, StoreFile, inventory
from ctx.maintenance.pins import Pin, write_pin
from ctx.storage.regular_files import read_regular
from ctx.storage.store import Store

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
    with locked(session, _LOCK_WAITS):
        return _check(session, full, True, on_progress)


def _check(session: SearchSession, full: bool, remove: bool, on_progress: OnProgress) -> Report:
    files = list(inventory(session.store))
    wrong, checked = _examine(session, files, on_progress)
    uncompared: list[bytes] = []
    if full:
        by_path = {file.path: file for file in files}
        trees = [file for file in files if file.kind == Kind.TREE and file.group == str(session.descriptor)]
        broken = {file.path for file, _ in wrong}
        whole = [bytes.fromhex(file.name) for file in trees if file.path not in broken]
        mismatches, uncompared = compare_trees(session, whole)
        wrong += [(by_path[path], problem) for path, problem in mismatches if path in by_path]
    findings = []
    for file, problem in wrong:
        if remove:
            _repair(session.store, file)
        findings.append(Finding(os.path.relpath(file.path, session.store.path), file.kind, problem, remove))
    foreign = [os.path.relpath(file.path, session.store.path) for file in files if file.kind == Kind.FOREIGN]
    return Report(checked, findings, foreign, uncompared)


def _examine(
    session: SearchSession, files: list[StoreFile], on_progress: OnProgress
) -> tuple[list[tuple[StoreFile, str]], dict[str, int]]:
    """Return damaged files with their problems, referring files first, and the number of files by kind."""
    unchecked = (Kind.FOREIGN, Kind.PACK, Kind.TEMPORARY, Kind.REQUEST)
    order = [file for file in files if file.kind not in unchecked]
    examiner = Examiner(session)
    wrong: list[tuple[StoreFile, str]] = []
    for done, file in enumerate(order):
        on_progress(done, len(order))
        problem = examiner.problem(file)
        # Another process may have replaced or removed it since it was listed.
        if problem is not None and os.path.lexists(file.path) and examiner.problem(file) is not None:
            wrong.append((file, problem))
    wrong += examiner.dangling(order)
    on_progress(len(order), len(order))
    first = {Kind.TREE: 0, Kind.NODE: 1}
    wrong.sort(key=lambda pair: first.get(pair[0].kind, 2))
    checked = Counter(file.kind for file in order if file.kind != Kind.OWN)
    return wrong, dict(checked)


def _repair(store: Store, file: StoreFile) -> None:
    """Rewrite a damaged file with its readable parts, or remove it. Raises `StoreUnusable`."""
    if file.kind == Kind.PIN:
        # The name of the file is the pinned tree.
        write_pin(store, Pin(bytes.fromhex(file.name), file.name, int(file.mtime)))
    elif file.kind == Kind.LOG:
        store.write_file(file.path, _readable_lines(file.path))
    elif file.kind == Kind.OWN:
        store.prepare()
    else:
        store.remove_file(file.path)


def _readable_lines(path: str) -> bytes:
    kept = b""
    for line in (read_regular(path) or b"").split(b"\n"):
        with suppress(Damaged), Decoding("a line of the log"):
            if isinstance(json.loads(line), dict):
                kept += line + b"\n"
    return kept
