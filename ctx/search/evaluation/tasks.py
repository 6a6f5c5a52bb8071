"""What a commit makes one look for in the tree before it: the files that it changed, and the chunks in them.

A commit that changes sources is about its sources: the tests, documents and settings that go with them follow
from those. Only a commit without sources is about its tests, and so on.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from ctx.search.evaluation.commits import LARGE, NEW, Commit
from ctx.search.evaluation.measures import Lines, Target
from ctx.storage.records import decode_record
from ctx.storage.views import paths
from ctx.storage.views.segments import Key
from ctx.storage.views.view import NO_SEGMENT, View
from ctx.text.subjects import query_of

SOURCES, TESTS, DOCS, CONFIG = "sources", "tests", "docs", "config"
MOST_FILES = 6
"""Files that a task may be about; with more of them the commit speaks of no place in particular."""

Records = Callable[[bytes, Key], bytes]


class Task(NamedTuple):
    """A query, and what answers it: `files` whole, `places` the changed lines of each changed chunk."""

    commit: Commit
    query: str
    kind: str
    files: tuple[Target, ...]
    places: tuple[Target, ...]


def task_of(commit: Commit, view: View, records: Records) -> Task | str:
    """The task of a commit in the tree before it, or why there is none. Raises `Damaged`."""
    query = query_of(commit.subject)
    if commit.left_out is not None or query is None:
        return commit.left_out or NEW
    changed = {change.path: change.lines for change in commit.changes}
    known = {path: file for file, path in enumerate(view.paths) if path in changed}
    by_kind: dict[str, list[bytes]] = {}
    for path, file in known.items():
        if view.file_segment[file] != NO_SEGMENT:
            by_kind.setdefault(kind_of(int(view.file_flags[file])), []).append(path)
    for kind in (SOURCES, TESTS, DOCS, CONFIG):
        if found := by_kind.get(kind):
            if len(found) > MOST_FILES:
                return LARGE
            places = [
                place for path in found for place in _places(view, records, known[path], path, changed[path])
            ]
            return Task(commit, query, kind, tuple(Target(path) for path in found), tuple(places))
    return NEW


def kind_of(flags: int) -> str:
    """What a file is, by the flags of its path; an example belongs to the documents."""
    if flags & (paths.CONFIG | paths.DATA):
        return CONFIG
    if flags & (paths.DOCS | paths.EXAMPLE):
        return DOCS
    return TESTS if flags & paths.TEST else SOURCES


def _places(view: View, records: Records, file: int, path: bytes, changed: tuple[Lines, ...]) -> list[Target]:
    """The changed lines of one file, those of a chunk together; lines between chunks stand alone."""
    segment = view.segments[int(view.file_segment[file])]
    key = segment.key(int(view.file_document[file]))
    record = decode_record(records(view.cluster_of(file), key))
    by_chunk: dict[int, list[Lines]] = {}
    alone: list[Target] = []
    for first, last in changed:
        inside = [
            (number, (max(first, chunk.start_line), min(last, chunk.end_line)))
            for number, chunk in enumerate(record.positions)
            if chunk.start_line <= last and chunk.end_line >= first
        ]
        for number, lines in inside:
            by_chunk.setdefault(number, []).append(lines)
        if not inside:
            alone.append(Target(path, ((first, last),)))
    # What a change has to import is not what anybody looked for.
    meant = [number for number in sorted(by_chunk) if record.kinds[number] != "imports"]
    return [Target(path, tuple(by_chunk[number])) for number in meant or sorted(by_chunk)] + alone
