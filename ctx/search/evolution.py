"""The commits at which the best hits of an answer changed, newest first from the searched commit."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from ctx.errors import CtxError, UsageError
from ctx.git.diff import Hunk, changed_files
from ctx.git.line_history import LineRange, line_histories
from ctx.search.citations import find_file
from ctx.types import OLD, Answer, Evolution, Hit

if TYPE_CHECKING:
    from ctx.git.repository import Repository
    from ctx.search.session import SearchSession

HITS = 5
"""Number of hits with an evolution: git may have to read a whole history for each."""
COMMITS = 10
SECONDS = 10.0


def with_evolution(session: SearchSession, answer: Answer) -> Answer:
    """Return the answer with the evolution of its best hits. Raises UsageError if no commit was searched."""
    if answer.commit is None:
        raise UsageError(f"'{answer.revision}' is a tree and has no history: name a commit")
    places = [_committed(session, answer, hit) for hit in answer.hits[:HITS]]
    questions = [question for question, _ in places if question is not None]
    histories = iter(line_histories(session.repository, questions, COMMITS, SECONDS))
    hits = []
    for hit, (question, is_changed) in zip(answer.hits, places, strict=False):
        found = (
            next(histories)
            if question is not None
            else Evolution(commits=[], uncommitted=False, complete=True)
        )
        hits.append(replace(hit, evolution=replace(found, uncommitted=is_changed)))
    return replace(answer, hits=hits + answer.hits[HITS:])


def _committed(session: SearchSession, answer: Answer, hit: Hit) -> tuple[LineRange | None, bool]:
    """Return the lines of a hit in the commit, if it has them, and whether their text differs."""
    of_old = answer.comparison is not None and hit.change is not None and hit.change.side == OLD
    commit = answer.comparison.commit if of_old and answer.comparison else answer.commit
    if commit is None:
        return None, False
    first, last = hit.lines
    oid, path, blob = bytes.fromhex(commit), os.fsencode(hit.path), bytes.fromhex(hit.blob)
    tree = session.repository.commit_info(oid).tree
    try:
        if find_file(session.repository, tree, path) == blob:
            return LineRange(oid, path, first, last), False
    except CtxError:
        pass
    for change in [] if of_old else changed_files(_reader(session, answer), tree, bytes.fromhex(answer.tree)):
        if change.new_path == path and change.new_blob == blob:
            lines = old_lines(change.hunks or (), first, last) if change.old_path is not None else None
            if change.old_path is None or change.absent or lines is None:
                return None, True
            differs = any(
                hunk.new_start <= last and first < hunk.new_start + max(1, hunk.new_count)
                for hunk in change.hunks or ()
            )
            return LineRange(oid, change.old_path, *lines), differs
    return None, False


def _reader(session: SearchSession, answer: Answer) -> Repository:
    """Return the repository that reads the objects of an answer's tree."""
    return session.reader if answer.reader is None else answer.reader.of("")


def old_lines(hunks: Sequence[Hunk], first: int, last: int) -> tuple[int, int] | None:
    """Map lines of the new text to first and last line of the old one; None if they are all new."""
    start: int | None = None
    end = 0
    for line in range(first, last + 1):
        shift = 0
        old: tuple[int, int] | None = (line, line)
        for hunk in hunks:
            if hunk.new_count and hunk.new_start <= line < hunk.new_start + hunk.new_count:
                own = (hunk.old_start, hunk.old_start + hunk.old_count - 1)
                old = own if hunk.old_count else None
                break
            if line < hunk.new_start + (hunk.new_count == 0):
                old = (line - shift, line - shift)
                break
            shift += hunk.new_count - hunk.old_count
            old = (line - shift, line - shift)
        if old is not None:
            start = old[0] if start is None else min(start, old[0])
            end = max(end, old[1])
    return None if start is None else (start, end)
