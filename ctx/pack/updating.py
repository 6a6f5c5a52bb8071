"""Updating a pack after edits: what is new or changed is sent, what still holds is referred to.

Files are compared by their hashes, whatever their times say. As long as nothing but the tree has changed the
choice of files is kept: another ranking of what nobody touched is no news to the reader.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, NamedTuple

from ctx.pack.candidates import Candidate
from ctx.pack.hints import read_log, read_task
from ctx.pack.links import has_edge
from ctx.pack.making import Made, Ranking, blank, check, choose, finished, ranked, selection_for, with_edges
from ctx.pack.render import SHORT
from ctx.pack.selection import Selection, in_order
from ctx.pack.shelf import Shelf
from ctx.pack.values import (
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
    Gone,
    Options,
    Pack,
    PackedFile,
    QueryTerm,
    Stale,
)
from ctx.pack.worth import LEAST
from ctx.ranking.query_terms import SYNONYM
from ctx.search.dependencies.values import Edge
from ctx.text.tokens import Count, counter
from ctx.types import Plan, Progress

if TYPE_CHECKING:
    from ctx.search.open_index import OpenIndex

_SHOWN_BEFORE = -1.0
"""The logarithm of the odds of what the pack before showed and the ranking does not have any more."""
_ROOM, _GROWTH = 200, 1.5
"""A changed file may take so many tokens more, and so many times the tokens, than before."""


class Wishes(NamedTuple):
    """What an update is asked to do otherwise than the pack before; None is as before."""

    task: str | None = None
    budget: int | None = None
    max_files: int | None = None
    tokenizer: str | None = None
    format: str | None = None
    revision: str | None = None
    within: str | None = None

    def options(self, before: Options) -> Options:
        """The options of the pack before with what is asked for; of revision and range the new one counts."""
        wishes = self._asdict()
        del wishes["task"]
        given = {name: value for name, value in wishes.items() if value is not None}
        if "revision" in given:
            given.setdefault("within", None)
        elif "within" in given:
            given["revision"] = None
        return before._replace(**given)


def update(
    index: OpenIndex,
    shelf: Shelf,
    parent: Pack,
    wishes: Wishes,
    log: str | None = None,
    progress: Callable[[Progress], None] | None = None,
    announce: Callable[[Plan], None] | None = None,
) -> Made:
    """What has changed since a pack was made; nothing is stored. Raises as `making.make` does."""
    task = parent.task if wishes.task is None else wishes.task
    options = wishes.options(parent.options)
    check(task, options)
    count = counter(options.tokenizer)
    logged = read_log(log) if log is not None else [one for one in parent.hints if one.origin == ERROR_LOG]
    hints = tuple(dict.fromkeys([*read_task(task), *logged]))
    complete = _why_complete(shelf, parent)
    same = (
        task == parent.task
        and options._replace(format=parent.options.format) == parent.options
        and hints == parent.hints
    )

    def built(ranking: Ranking) -> Made:
        pack = blank(ranking, index, task, options, hints, parent.slug)
        blobs = _blobs(ranking)
        lost = _lost_edges(ranking, parent, blobs)
        pack = pack._replace(delta=Delta(parent.slug, (), (), complete, lost))
        if complete is None and same and _asked(pack) == _asked(parent):
            return with_edges(ranking, _touched(ranking, pack, parent, blobs, count))
        selection = selection_for(ranking, pack, count)
        choose(ranking, selection)
        made = finished(
            ranking.sources, pack, selection, count, lambda made: _compared(made, parent, blobs, complete)
        )
        return with_edges(ranking, made)

    return ranked(index, task, options, hints, built, progress, announce)


def _asked(pack: Pack) -> list[QueryTerm]:
    """Return the terms that the task alone decides."""
    return [term for term in pack.query_terms if term.origin != SYNONYM]


def _why_complete(shelf: Shelf, parent: Pack) -> str | None:
    """Why everything has to be sent again, None where it has not."""
    if parent.strategy != STRATEGY:
        return "its excerpts were cut in another way"
    if any(file.excerpts and (file.blob is None or file.digest is None) for file in parent.files):
        return "it does not say what its sources were"
    above = parent
    while above.delta is not None and above.delta.complete is None:
        if not shelf.has(above.delta.parent):
            return f"it is an update of {above.delta.parent}, which is gone"
        above = shelf.read(above.delta.parent)
    return None


def _blobs(ranking: Ranking) -> dict[bytes, str]:
    """The blob of each file of the tree that has rows, by its path."""
    corpus = ranking.shelves.corpus
    found = {}
    for file, path in enumerate(corpus.view.paths):
        document = int(corpus.file_document[file])
        if document >= 0:
            segment, place = corpus.place(document)
            found[path] = segment.key(place)[0].hex()
    return found


def _lost_edges(ranking: Ranking, parent: Pack, blobs: Mapping[bytes, str]) -> tuple[Edge, ...]:
    """Return the edges between the files of the pack before that the tree has no more."""
    before = {file.path: file.blob for file in parent.files}
    dependencies = ranking.dependencies()
    return tuple(
        edge
        for edge in parent.edges
        if any(blobs.get(path) != before.get(path) for path in (edge.source_path, edge.target_path))
        and not (edge.source_path in blobs and edge.target_path in blobs and has_edge(dependencies, edge))
    )


def _compared(made: Pack, parent: Pack, blobs: Mapping[bytes, str], complete: str | None) -> Pack:
    """A pack that was chosen anew, with what its files are against the pack before."""
    before = {file.path: file for file in parent.files if file.excerpts}
    files = []
    for file in made.files:
        old = before.get(file.path)
        if old is None:
            state = ADDED
        elif old.digest is None or old.digest != file.digest:
            state = CHANGED
        else:
            # Where everything is sent again, nothing refers to the excerpts before.
            state = UNCHANGED if complete is not None or old.excerpts == file.excerpts else CHANGED
        files.append(file._replace(state=state))
    here = {file.path for file in files}
    gone = [Gone(path, DELETED if path not in blobs else NOT_SELECTED) for path in before if path not in here]
    return _with_delta(made._replace(files=tuple(files)), before, gone)


def _with_delta(made: Pack, before: Mapping[bytes, PackedFile], gone: list[Gone]) -> Pack:
    assert made.delta is not None
    old = [path for path, file in ((file.path, file) for file in made.files) if file.state == CHANGED]
    old += [one.path for one in gone]
    stale = [
        Stale(path, f"{(before[path].blob or '')[:SHORT]}:{first}-{last}")
        for path in old
        if path in before
        for excerpt in before[path].excerpts
        for first, last in excerpt.ranges
    ]
    return made._replace(delta=made.delta._replace(removed=tuple(gone), stale=tuple(stale)))


def _touched(ranking: Ranking, pack: Pack, parent: Pack, blobs: Mapping[bytes, str], count: Count) -> Made:
    """The files of the pack before as they are now, and files that were touched and belong to it now."""
    before = {file.path: file for file in parent.files if file.excerpts}
    kept = [file._replace(state=UNCHANGED) for file in before.values() if blobs.get(file.path) == file.blob]
    gone = [Gone(path, DELETED) for path in before if path not in blobs]
    changed = [path for path in before if path in blobs and blobs[path] != before[path].blob]

    def against(made: Pack) -> Pack:
        files = [
            file._replace(state=CHANGED if file.path in before else ADDED)
            for file in made.files
            if file.excerpts or file.path in before
        ]
        here = {file.path for file in files}
        out = [Gone(path, NOT_SELECTED) for path in changed if path not in here]
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
        if one.path not in before and one.chance >= LEAST:
            selection.status.setdefault(one.path, (_status(parent, one.path), one.blob.hex()))
    return finished(ranking.sources, pack, selection, count, against)


def _status(parent: Pack, path: bytes) -> str:
    return next((one.status for one in parent.considered if one.path == path), SELECTED)


def _show_again(ranking: Ranking, selection: Selection, old: PackedFile) -> None:
    """Choose excerpts of a file that has changed: of what was shown of it, then of what else answers."""
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
        if one.symbol in symbols or one.chance >= LEAST:
            # The first one has to be there, however much it has grown.
            selection.add(one, most if old.path in selection.shown else None)


def _rows(ranking: Ranking, path: bytes) -> list[Candidate]:
    """All rows of a file as candidates."""
    corpus = ranking.shelves.corpus
    file = corpus.view.paths.index(path)
    document = int(corpus.file_document[file])
    start = int(corpus.document_start[document])
    return [
        ranking.shelves.candidate(row, file, _SHOWN_BEFORE, {}, [])
        for row in range(start, start + int(corpus.document_rows[document]))
    ]
