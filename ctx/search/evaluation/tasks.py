"""Evaluation tasks: the files and chunks in the parent tree that a commit changed.

If a commit changes sources, its targets are the sources, since tests, documents and settings follow from
them. If it changes no sources, its targets are the tests, and so on.
"""

from __future__ import annotations

from typing import NamedTuple

from ctx.search.evaluation.commits import LARGE, NEW, Commit
from ctx.search.evaluation.measures import Lines, Target
from ctx.storage.records import decode_record
from ctx.storage.views import paths
from ctx.storage.views.segments import Records
from ctx.storage.views.view import NO_SEGMENT, View
from ctx.text.subjects import query_of

SOURCES, TESTS, DOCS, CONFIG = "sources", "tests", "docs", "config"
MOST_FILES = 6
"""Maximum number of target files; commits with more do not point to a particular place."""


class Task(NamedTuple):
    """A query and its targets: whole `files`, and `places`, the changed lines of each changed chunk."""

    commit: Commit
    query: str
    kind: str
    files: tuple[Target, ...]
    places: tuple[Target, ...]


def task_of(commit: Commit, view: View, records: Records) -> Task | str:
    """Return the task of a commit in its parent tree, or the reason why there is none. Raises `Damaged`."""
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
    """Return the kind of a file by its path flags; examples count as documents."""
    if flags & (paths.CONFIG | paths.DATA):
        return CONFIG
    if flags & (paths.DOCS | paths.EXAMPLE):
        return DOCS
    return TESTS if flags & paths.TEST else SOURCES


def _places(view: View, records: Records, file: int, path: bytes, changed: tuple[Lines, ...]) -> list[Target]:
    """Return the changed lines of one file, grouped by chunk; lines between chunks are separate."""
    segment = view.segments[int(view.file_segment[file])]
    key = segment.key(int(view.file_document[file]))
    record = decode_record(records(view.cluster_of(file), key))
    by_chunk: dict[int, list[Lines]] = {}
    separate: list[Target] = []
    for first, last in changed:
        inside = [
            (number, (max(first, chunk.start_line), min(last, chunk.end_line)))
            for number, chunk in enumerate(record.positions)
            if chunk.start_line <= last and chunk.end_line >= first
        ]
        for number, lines in inside:
            by_chunk.setdefault(number, []).append(lines)
        if not inside:
            separate.append(Target(path, ((first, last),)))
    # Changed imports are a side effect, not a target.
    relevant = [number for number in sorted(by_chunk) if record.kinds[number] != "imports"]
    return [Target(path, tuple(by_chunk[number])) for number in relevant or sorted(by_chunk)] + separate
