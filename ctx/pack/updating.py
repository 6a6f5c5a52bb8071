"""Update of a pack after edits: new and changed files are sent, unchanged ones are referred to.

Files are compared by hash, not by time. If only the tree has changed, the selection of files is kept: a new
ranking of unchanged files is of no use to the reader.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from ctx.pack.candidates import LEAST_CHANCE, Candidate
from ctx.pack.making import PackResult, RankedTree, check, choose, finished, ranked, selection_for
from ctx.pack.render import SHORT
from ctx.pack.selection import Selection, in_order
from ctx.pack.store import PackStore
from ctx.pack.task import read_log, read_task
from ctx.pack.types import (
    ADDED,
    CHANGED,
    DELETED,
    ERROR_LOG,
    NOT_SELECTED,
    SELECTED,
    STRATEGY,
    UNCHANGED,
    Considered,
    Delta,
    Pack,
    PackedFile,
    PackOptions,
    RemovedFile,
    StaleCitation,
)
from ctx.ranking.query_terms import SYNONYM, QueryTerm
from ctx.search.dependencies.types import Edge
from ctx.text.tokens import Count, counter

if TYPE_CHECKING:
    from ctx.search.session import SearchSession

_SHOWN_BEFORE = -1.0
"""Log-odds of rows that the parent pack showed and the ranking no longer has."""
_ROOM, _GROWTH = 200, 1.5
"""A changed file may take `_GROWTH` times its previous tokens plus `_ROOM`."""


class UpdateOptions(NamedTuple):
    """Requested changes to the task and options of the parent pack; None keeps its value."""

    task: str | None = None
    budget: int | None = None
    max_files: int | None = None
    tokenizer: str | None = None
    format: str | None = None
    revision: str | None = None
    within: str | None = None

    def options(self, before: PackOptions) -> PackOptions:
        """Return the parent's options with the changes; a new revision replaces a range and vice versa."""
        changes = self._asdict()
        del changes["task"]
        given = {name: value for name, value in changes.items() if value is not None}
        if "revision" in given:
            given.setdefault("within", None)
        elif "within" in given:
            given["revision"] = None
        return before._replace(**given)


def update(
    session: SearchSession, packs: PackStore, parent: Pack, changes: UpdateOptions, log: str | None = None
) -> PackResult:
    """Make an update of a pack without storing it. Raises as `making.make` does."""
    task = parent.task if changes.task is None else changes.task
    options = changes.options(parent.options)
    check(task, options)
    count = counter(options.tokenizer)
    logged = read_log(log) if log is not None else [one for one in parent.hints if one.origin == ERROR_LOG]
    hints = tuple(dict.fromkeys([*read_task(task), *logged]))
    complete = _why_complete(packs, parent)
    same = (
        task == parent.task
        and options._replace(format=parent.options.format) == parent.options
        and hints == parent.hints
    )

    def build(ranking: RankedTree) -> PackResult:
        blobs = _blobs(ranking)
        lost = _lost_edges(ranking, parent, blobs)
        pack = ranking.empty._replace(delta=Delta(parent.slug, (), (), complete, lost))
        if complete is None and same and _terms_of_task(pack) == _terms_of_task(parent):
            return _touched(ranking, pack, parent, blobs, count)
        selection = selection_for(ranking, pack, count)
        choose(ranking, selection)
        return finished(pack, selection, lambda made: _compared(made, parent, blobs, complete))

    return ranked(session, task, options, hints, build, parent.slug)


def _terms_of_task(pack: Pack) -> list[QueryTerm]:
    """Return the terms that the task alone decides."""
    return [term for term in pack.query_terms if term.origin != SYNONYM]


def _why_complete(packs: PackStore, parent: Pack) -> str | None:
    """Return the reason why everything must be sent again, or None."""
    if parent.strategy != STRATEGY:
        return "its excerpts were chosen in another way"
    if any(file.excerpts and (file.blob is None or file.digest is None) for file in parent.files):
        return "it does not say what its sources were"
    above = parent
    while above.delta is not None and above.delta.complete is None:
        if not packs.has(above.delta.parent):
            return f"it is an update of {above.delta.parent}, which is gone"
        above = packs.read(above.delta.parent)
    return None


def _blobs(ranking: RankedTree) -> dict[str, str]:
    """Return the blobs of the tree's files that have rows, by path."""
    corpus = ranking.records.corpus
    found = {}
    for file, path in enumerate(corpus.view.paths):
        document = int(corpus.file_document[file])
        if document >= 0:
            found[os.fsdecode(path)] = corpus.key(document)[0].hex()
    return found


def _lost_edges(ranking: RankedTree, parent: Pack, blobs: Mapping[str, str]) -> tuple[Edge, ...]:
    """Return the edges between files of the parent pack that the tree no longer has."""
    before = {file.path: file.blob for file in parent.files}
    dependencies = ranking.dependencies()

    def is_lost(edge: Edge) -> bool:
        ends = os.fsdecode(edge.source_path), os.fsdecode(edge.target_path)
        if all(blobs.get(path) == before.get(path) for path in ends):
            return False
        return not all(path in blobs for path in ends) or all(
            (one.target_path, one.symbol) != (edge.target_path, edge.symbol)
            for one in dependencies.by_names(edge.source_path, (edge.symbol,))
        )

    return tuple(filter(is_lost, parent.edges))


def _compared(made: Pack, parent: Pack, blobs: Mapping[str, str], complete: str | None) -> Pack:
    """Return a newly selected pack with the states of its files relative to the parent pack."""
    before = {file.path: file for file in parent.files if file.excerpts}
    files = []
    for file in made.files:
        old = before.get(file.path)
        if old is None:
            state = ADDED
        elif old.digest is None or old.digest != file.digest:
            state = CHANGED
        else:
            # A complete refresh does not refer to previous excerpts.
            state = UNCHANGED if complete is not None or old.excerpts == file.excerpts else CHANGED
        files.append(file._replace(state=state))
    here = {file.path for file in files}
    gone = [
        RemovedFile(path, NOT_SELECTED if path in blobs else DELETED) for path in before if path not in here
    ]
    return _with_delta(made._replace(files=tuple(files)), before, gone)


def _with_delta(made: Pack, before: Mapping[str, PackedFile], gone: list[RemovedFile]) -> Pack:
    assert made.delta is not None
    old = [path for path, file in ((file.path, file) for file in made.files) if file.state == CHANGED]
    old += [one.path for one in gone]
    stale = [
        StaleCitation(path, f"{(before[path].blob or '')[:SHORT]}:{first}-{last}")
        for path in old
        if path in before
        for excerpt in before[path].excerpts
        for first, last in excerpt.ranges
    ]
    return made._replace(delta=made.delta._replace(removed=tuple(gone), stale=tuple(stale)))


def _touched(
    ranking: RankedTree, pack: Pack, parent: Pack, blobs: Mapping[str, str], count: Count
) -> PackResult:
    """Return the parent's files in their current state, and changed files that are now selected."""
    before = {file.path: file for file in parent.files if file.excerpts}
    kept = [file._replace(state=UNCHANGED) for file in before.values() if blobs.get(file.path) == file.blob]
    gone = [RemovedFile(path, DELETED) for path in before if path not in blobs]
    changed = [path for path in before if path in blobs and blobs[path] != before[path].blob]

    def against(made: Pack) -> Pack:
        files = [
            file._replace(state=CHANGED if file.path in before else ADDED)
            for file in made.files
            if file.excerpts or file.path in before
        ]
        here = {file.path for file in files}
        out = [RemovedFile(path, NOT_SELECTED) for path in changed if path not in here]
        now = {one.path: one for one in parent.considered if one.path in blobs}
        now |= {path: Considered(path, blobs[path], now[path].status) for path in now}
        now |= {one.path: one for one in made.considered}
        whole = made._replace(files=(*files, *kept), considered=tuple(now.values()))
        return _with_delta(whole, before, gone + out)

    selection = selection_for(ranking, against(pack), count)
    for path in changed:
        _show_again(ranking, selection, before[path])
    known = {(one.path, one.blob) for one in parent.considered}
    new = [one for one in ranking.found if one.path not in before and (one.path, one.blob.hex()) not in known]
    selection.budget = min(
        selection.budget, max(selection.used, selection.budget - sum(file.tokens for file in kept))
    )
    selection.max_files = max(len(selection.shown), selection.max_files - len(kept))
    selection.fill(in_order(new))
    for one in ranking.found:
        if one.path not in before and one.chance >= LEAST_CHANCE:
            selection.status.setdefault(one.path, (_status(parent, one.path), one.blob.hex()))
    return finished(pack, selection, against)


def _status(parent: Pack, path: str) -> str:
    return next((one.status for one in parent.considered if one.path == path), SELECTED)


def _show_again(ranking: RankedTree, selection: Selection, old: PackedFile) -> None:
    """Select excerpts of a changed file: of the symbols shown before, then of other matches."""
    symbols = {excerpt.symbol for excerpt in old.excerpts}
    found = {one.row: one for one in ranking.found if one.path == old.path}
    for one in _rows(ranking, old.path):
        if one.row not in found and one.symbol in symbols:
            found[one.row] = one
    if not found:
        found = {one.row: one for one in _rows(ranking, old.path)[:1]}
    order = sorted(found.values(), key=lambda one: (one.symbol not in symbols, -one.odds, one.row))
    most = min(selection.budget, selection.used + int(old.tokens * _GROWTH) + _ROOM)
    for one in order:
        if one.symbol in symbols or one.chance >= LEAST_CHANCE:
            # The first one must be shown, however much it has grown.
            selection.add(one, most if old.path in selection.shown else None)


def _rows(ranking: RankedTree, path: str) -> list[Candidate]:
    """Return all rows of a file as candidates."""
    corpus = ranking.records.corpus
    file = corpus.view.paths.index(os.fsencode(path))
    document = int(corpus.file_document[file])
    return [ranking.records.candidate(row, file, _SHOWN_BEFORE, {}, []) for row in corpus.rows_of(document)]
