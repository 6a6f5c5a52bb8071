"""Searching only the chunks that differ between two trees.

Each chunk is scored within its own tree, with the statistics of the whole tree, as a plain search of that
tree would score it. Both lists are then merged by score.
"""

from __future__ import annotations

import shlex
import time
from collections.abc import Collection, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from ctx.errors import CtxError, GitFailed, UsageError
from ctx.git.ranges import read_range
from ctx.git.resolution import REVISION
from ctx.git.worktree import has_work_tree
from ctx.search.chunk_diff import ChunkDiff, Side, diff_chunks
from ctx.search.coverage import lacks_in_words
from ctx.search.hits import Changed, FileFilter, exact_occurrences, filter_of, search_view
from ctx.search.opening import OpenedTree, open_resolved, open_tree, repairing
from ctx.storage.views.view import View
from ctx.text.contents import MISSING
from ctx.text.pluralize import pluralize_with
from ctx.types import (
    ADDED,
    COMMITTED,
    MODIFIED,
    REMOVED,
    STAGED,
    STATES,
    WORK_TREE,
    Answer,
    ChunkChange,
    Comparison,
    Hit,
    RankedHits,
    Request,
    by_score,
)

if TYPE_CHECKING:
    from ctx.search.session import SearchSession


class OpenedRange(NamedTuple):
    """The two trees of a range."""

    old: OpenedTree
    new: OpenedTree

    def repair(self, everything: bool) -> None:
        """Rebuild stored clusters of both trees."""
        self.new.repair(everything)
        self.old.repair(everything)


def search_changes(session: SearchSession, request: Request) -> Answer:
    """Return the best of the chunks that differ within a range. See `Index.search`."""
    assert request.within is not None, "the caller has checked it"
    started, within = time.monotonic(), request.within
    partial_clone = session.repository.settings.is_partial_clone

    def answer(opened_range: OpenedRange) -> Answer:
        old, new = opened_range
        found = compare(session, old, new)
        wanted = frozenset(request.states or STATES)
        filters = filter_of(session.repository, request)
        sides = [
            Changed(opened.view, changes)
            for opened, of_files in ((new, found.new), (old, found.old))
            if (changes := _of_states(of_files, wanted))
        ]
        is_exact = any(
            exact_occurrences(side.view, partial(session.record, side.view), request.text, request.word)
            for side in sides
        )
        local = partial(local_hits, session, sides, is_word=is_exact)
        services = request.models is not None or (session.has_model_services and not is_exact)
        if sides and services:
            from ctx.search.services.ranges import search_ranges

            ranked = search_ranges(session, sides, request, filters, local)
        else:
            hits, message = local(request.text, request.limit, filters)
            ranked = RankedHits(hits[: request.limit], message)
        comparison = Comparison(
            text=within,
            revision=old.about.revision,
            commit=old.about.commit,
            tree=old.about.tree,
            files=found.files,
            added=found.count(ADDED),
            modified=found.count(MODIFIED),
            removed=found.count(REMOVED),
        )
        lacking = (
            not_compared(found, old, new)
            or lacks_in_words(new.about, partial_clone)
            or lacks_in_words(old.about, partial_clone)
        )
        if not sides and not lacking:
            ranked = ranked._replace(message=_nothing(found, wanted, within))
        about = replace(new.about, comparison=comparison, seconds=time.monotonic() - started)
        message = "; ".join(filter(None, (lacking, ranked.message))) or None
        return session.answered(about, ranked._replace(message=message))

    return repairing(partial(open_range, session, within, staged=request.overlay == STAGED), answer)


def local_hits(
    session: SearchSession,
    sides: Sequence[Changed],
    query: str,
    limit: int,
    filters: FileFilter,
    is_word: bool = False,
) -> tuple[list[Hit], str | None]:
    """Return the best chunks of both trees by the local ranking, and a message if there are none."""
    hits: list[Hit] = []
    messages = []
    for view, chunks in sides:
        records = partial(session.record, view)
        found = search_view(
            view, records, query, limit, filters, chunks, tuning=session.tuning, is_word=is_word
        )
        hits += found.hits
        messages.append(found.message)
    hits.sort(key=by_score)
    return hits, messages[0] if messages and all(messages) else None


def open_range(session: SearchSession, within: str, *, staged: bool = False) -> OpenedRange:
    """Open the two trees of a range. Raises UsageError, UnknownRevision, CtxError."""
    session.forget_submodules()
    ends = read_range(session.repository, within)
    if ends.new is not None and staged:
        raise UsageError(
            f"'{within}' names both ends and cannot be combined with staged files: leave out one of the two"
        )
    if ends.new is None and not has_work_tree(session.repository):
        raise CtxError(
            f"nothing is checked out in {session.repository.git_dir} that '{within}' could be compared with: "
            f"name both ends, as in {within}~5..{within}"
        )
    old = open_resolved(session, ends.old, COMMITTED)
    if ends.new is None:
        return OpenedRange(old, open_tree(session, overlay=STAGED if staged else WORK_TREE))
    return OpenedRange(old, open_resolved(session, ends.new, COMMITTED))


def compare(session: SearchSession, old: OpenedTree, new: OpenedTree) -> ChunkDiff:
    """Return the chunks in which two trees differ.

    Raises GitFailed; in a partial clone its message says how to fetch the missing objects.
    """
    try:
        return diff_chunks(session.reader, _side(session, old.view), _side(session, new.view))
    except GitFailed:
        if not session.repository.settings.is_partial_clone:
            raise
    names = _lacking(old, new)
    raise GitFailed(
        f"{' and '.join(names)} cannot be compared, since this partial clone lacks objects of "
        f"{'them' if len(names) > 1 else 'it'}: {_getting(names)} them"
    )


def not_compared(found: ChunkDiff, old: OpenedTree, new: OpenedTree) -> str | None:
    """Return a message about files that differ and are not in this clone."""
    if not found.absent:
        return None
    files = pluralize_with(found.absent, "file", "that differs is", "that differ are")
    return f"{files} not in this clone and not compared: {_getting(_lacking(old, new))} what is missing"


def _lacking(old: OpenedTree, new: OpenedTree) -> list[str]:
    """Return the names of those of the two trees whose objects are missing here."""
    lacking = [end.about for end in (old, new) if end.about.coverage.skipped.get(MISSING)]
    return [_resolvable(about) for about in lacking or [old.about, new.about]]


def _getting(names: Sequence[str]) -> str:
    commands = " and ".join(f"`git ctx index --fetch {shlex.quote(name)}`" for name in names)
    return f"{commands} get{'' if len(names) > 1 else 's'}"


def _resolvable(about: Answer) -> str:
    """Return a name of the tree of an answer that git can resolve; for a merge base this is its id."""
    if about.resolved_by == REVISION and not about.revision.startswith("merge base "):
        return about.revision
    return (about.commit or about.tree)[:12]


def _side(session: SearchSession, view: View) -> Side:
    def record(file: int) -> bytes:
        key = view.segments[view.file_segment[file]].key(int(view.file_document[file]))
        return session.record(view, view.cluster_of(file), key)

    return Side(view, record, dict(zip(view.paths, range(view.files), strict=True)))


def _of_states(
    of_files: dict[int, dict[int, ChunkChange]], wanted: Collection[str]
) -> dict[int, dict[int, ChunkChange]]:
    kept = {
        file: {number: change for number, change in changes.items() if change.state in wanted}
        for file, changes in of_files.items()
    }
    return {file: changes for file, changes in kept.items() if changes}


def _nothing(found: ChunkDiff, wanted: Collection[str], within: str) -> str:
    if not found.files:
        return f"nothing differs in {within}"
    if not found.old and not found.new:
        files = pluralize_with(found.files, "file", "differs", "differ")
        return f"{files} in {within}, none of them with lines that are indexed"
    states = " or ".join(state for state in STATES if state in wanted)
    return f"no chunk was {states} in {within}"
