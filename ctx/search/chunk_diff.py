"""Comparing the chunks of two trees, by git's diff and the positions of the chunks.

A chunk of the new tree differs if the diff adds one of its lines, a chunk of the old tree if the diff removes
one. A chunk with names is *modified* if its file has one of them on both sides, else *added* or *removed*. A
chunk without a name is added or removed as a whole, or modified. A modified chunk is reported in its new
form, and in its old form only if it lost lines and gained none.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from ctx.git.diff import FileChange, changed_files
from ctx.git.repository import Repository
from ctx.storage.records import Record, decode_record
from ctx.storage.views.view import NO_SEGMENT, View
from ctx.types import ADDED, MODIFIED, NEW, OLD, REMOVED, ChunkChange, Position

_JOINTS = (".", "::", " > ")
"""Separators between the parts of a qualified name."""
Lines = list[tuple[int, int]]
"""First and last line of disjoint pieces of a file, in order."""


class Side(NamedTuple):
    """One of two trees: its view, a reader of file records, and its file numbers by path."""

    view: View
    record: Callable[[int], bytes]
    files: Mapping[bytes, int]


class ChunkDiff(NamedTuple):
    """Changes of chunks by file number and chunk number, for both views, and the number of differing files.

    `absent` of these files are not in this clone and could not be compared.
    """

    old: dict[int, dict[int, ChunkChange]]
    new: dict[int, dict[int, ChunkChange]]
    files: int
    absent: int

    def count(self, state: str) -> int:
        """Return the number of chunks with a state."""
        return sum(
            change.state == state
            for side in (self.old, self.new)
            for of_file in side.values()
            for change in of_file.values()
        )


def diff_chunks(repository: Repository, old: Side, new: Side) -> ChunkDiff:
    """Compare two trees. Raises GitFailed, and `Damaged` if a record cannot be read."""

    def is_indexed(change: FileChange) -> bool:
        return change.old_path in old.files or change.new_path in new.files

    changes = changed_files(repository, old.view.tree, new.view.tree, is_indexed)
    differ = len([change for change in changes if change.hunks != []])
    found = ChunkDiff({}, {}, differ, len([change for change in changes if change.absent]))
    for change in changes:
        if not change.hunks:
            continue
        before, after = _file(old, change.old_path), _file(new, change.new_path)
        was, now = _record(old, before), _record(new, after)
        of_new = _new_chunks(change, was, now)
        of_old = _old_chunks(change, was, now, of_new)
        if after is not None and of_new:
            found.new[after] = of_new
        if before is not None and of_old:
            found.old[before] = of_old
    return found


def _file(side: Side, path: bytes | None) -> int | None:
    file = side.files.get(path) if path is not None else None
    return None if file is None or side.view.file_segment[file] == NO_SEGMENT else file


def _record(side: Side, file: int | None) -> Record | None:
    return None if file is None else decode_record(side.record(file))


def _new_chunks(change: FileChange, was: Record | None, now: Record | None) -> dict[int, ChunkChange]:
    if now is None:
        return {}
    added = _pieces((hunk.new_start, hunk.new_count) for hunk in change.hunks or ())
    known = _known(was)
    found: dict[int, ChunkChange] = {}
    for number, position in enumerate(now.positions):
        lines = within(added, position)
        if lines:
            own = _own(now, number)
            is_new = known.isdisjoint(own) if own else _covers(lines, position)
            found[number] = ChunkChange(ADDED if is_new else MODIFIED, NEW, lines)
    return found


def _old_chunks(
    change: FileChange, was: Record | None, now: Record | None, of_new: Mapping[int, ChunkChange]
) -> dict[int, ChunkChange]:
    if was is None:
        return {}
    removed = _pieces((hunk.old_start, hunk.old_count) for hunk in change.hunks or ())
    replaced = _pieces((hunk.old_start, hunk.old_count) for hunk in change.hunks or () if hunk.new_count)
    known, reported = _known(now), _known(now, of_new)
    found: dict[int, ChunkChange] = {}
    for number, position in enumerate(was.positions):
        lines = within(removed, position)
        if not lines:
            continue
        own = _own(was, number)
        if known.isdisjoint(own) if own else _covers(lines, position):
            found[number] = ChunkChange(REMOVED, OLD, lines)
        elif reported.isdisjoint(own) and not within(replaced, position):
            found[number] = ChunkChange(MODIFIED, OLD, lines)
    return found


def _own(record: Record, number: int) -> set[str]:
    """Return the qualified names of a chunk's own definitions, as far as its symbol gives their scope."""
    symbol = record.symbols[number]
    if not symbol:
        return set()
    prefix = _prefix(record, number)
    return {symbol, *(prefix + name for name in record.names[number] if prefix)}


def _known(record: Record | None, numbers: Iterable[int] | None = None) -> set[str]:
    """Return every qualified name that a file, or some of its chunks, may have.

    Small definitions share a chunk.
    """
    found: set[str] = set()
    if record is None:
        return found
    for number in range(len(record.symbols)) if numbers is None else numbers:
        symbol, prefix = record.symbols[number], _prefix(record, number)
        found.add(symbol)
        for name in record.names[number]:
            found.update((prefix + name, *(symbol + joint + name for joint in _JOINTS)))
    return found


def _prefix(record: Record, number: int) -> str:
    symbol = record.symbols[number]
    own = next((name for name in record.names[number] if name and symbol.endswith(name)), "")
    return symbol[: -len(own)] if own else ""


def within(pieces: Lines, position: Position) -> tuple[tuple[int, int], ...]:
    """Return the parts of some pieces that lie in a chunk."""
    first = bisect_left(pieces, position.start_line, key=lambda piece: piece[1])
    found = []
    for start, end in pieces[first:]:
        if start > position.end_line:
            break
        found.append((max(start, position.start_line), min(end, position.end_line)))
    return tuple(found)


def _covers(lines: Sequence[tuple[int, int]], position: Position) -> bool:
    return sum(end - start + 1 for start, end in lines) == position.end_line - position.start_line + 1


def _pieces(hunks: Iterable[tuple[int, int]]) -> Lines:
    pieces: Lines = []
    for start, count in hunks:
        if count and pieces and pieces[-1][1] == start - 1:
            pieces[-1] = (pieces[-1][0], start + count - 1)
        elif count:
            pieces.append((start, start + count - 1))
    return pieces
