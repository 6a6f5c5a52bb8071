"""Finding similar code: in one tree, or for each chunk that differs between two trees.

Chunks that share rare words with the code, and those whose vectors agree with its own, are read and compared
word by word (`ctx.ranking.code_similarity`). A chunk no more similar than code of another project is dropped.
"""

from __future__ import annotations

import os
import posixpath
import time
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ctx.errors import CtxError, NothingCommitted, UnknownRevision, UsageError
from ctx.git.quoting import unquoted_argument
from ctx.ranking import code_similarity
from ctx.ranking.ranker import RankedRow
from ctx.search.answering import refuse_search_options
from ctx.search.changes import OpenedRange, compare, not_compared, open_range
from ctx.search.citations import look_up, read_citation, read_place
from ctx.search.coverage import lacks_in_words
from ctx.search.hits import FileFilter, allowed_files, corpus_of, filter_of, hit_of
from ctx.search.opening import OpenedTree, open_tree, repairing
from ctx.storage.records import decode_record
from ctx.storage.views.view import NO_SEGMENT
from ctx.text.contents import to_text
from ctx.text.pluralize import pluralize
from ctx.types import (
    ADDED,
    COMMITTED,
    IDENTICAL,
    MODIFIED,
    NEAR_DUPLICATE,
    STAGED,
    Answer,
    Hit,
    Request,
    by_score,
)

if TYPE_CHECKING:
    from ctx.search.session import SearchSession

LEAST_SCORE = 0.3
"""Lowest score of a match.

The best match of a function in another project (of cobra in flask, say) is below 0.28 for 99 in 100.
"""
MUCH_SCORE = 0.55
"""Lowest score of an unsolicited match: a fifth of functions have a match this similar."""
_SAME_WORDS, _SAME_VECTOR = 0.6, 0.75
"""Thresholds of a near-duplicate: nine in ten functions reach them with their version of 150 commits ago."""
_FEWEST_TERMS = 8
"""A changed chunk with fewer distinct words (imports, a getter) matches too many others."""


class Code(NamedTuple):
    """A piece of code to compare with; `blob` and its lines are set if it lies in a tree."""

    text: str
    language: str | None = None
    blob: str | None = None
    first: int = 0
    last: int = 0
    path: str = ""


def related(session: SearchSession, place: str | None, request: Request) -> Answer:
    """Return code similar to the code at a place, or to the text of the request. See `Index.related`."""
    refuse_search_options(request)
    started = time.monotonic()
    named = request.revision or request.branch
    code = Code(request.text) if place is None else _code_at(session, place, named)
    if not code.text.strip():
        raise UsageError("there is no code to compare with: name a place that has some, or pass it on stdin")
    filters = filter_of(session.repository, request)

    def answer(opened: OpenedTree) -> Answer:
        hits, message = _similar_chunks(session, opened, code, request.limit, filters)
        lacking = lacks_in_words(opened.about, session.repository.settings.is_partial_clone)
        return replace(opened.about, hits=hits, message=opened.about.message or lacking or message)

    opening = partial(open_tree, session, request.revision, request.branch, request.overlay)
    return replace(repairing(opening, answer), seconds=time.monotonic() - started)


def related_changes(
    session: SearchSession, within: str, request: Request
) -> tuple[Answer, list[tuple[Hit, list[Hit]]]]:
    """Return for each added or modified chunk the similar code elsewhere in the new tree, and that tree."""
    started = time.monotonic()
    opening = partial(open_range, session, within, staged=request.overlay == STAGED)
    about, found = repairing(opening, partial(_related_changes, session, request))
    return replace(about, seconds=time.monotonic() - started), found


def _related_changes(
    session: SearchSession, request: Request, opened: OpenedRange
) -> tuple[Answer, list[tuple[Hit, list[Hit]]]]:
    old, new = opened
    found: list[tuple[Hit, list[Hit]]] = []
    corpus = corpus_of(new.view)
    records = partial(session.record, new.view)
    filters = filter_of(session.repository, request)
    differing = compare(session, old, new)
    for file, changes in sorted(differing.new.items(), key=lambda one: new.view.path(one[0])):
        for number, change in sorted(changes.items()):
            if change.state not in (ADDED, MODIFIED):
                continue
            row = int(corpus.document_start[corpus.file_document[file]]) + number
            hit = hit_of(corpus, records, RankedRow(row, file, 0.0, 0.0))
            hit = replace(hit, change=change, reader=new.about.reader)
            if hit.kind == "imports":
                continue
            code = _code_of(session, hit)
            if (
                code is None
                or len(code_similarity.read_sample(code.text, code.language).terms) < _FEWEST_TERMS
            ):
                continue
            others = [
                one for one in _similar_chunks(session, new, code, request.limit, filters)[0] if _is_much(one)
            ]
            if others:
                found.append((hit, others))
    message = not_compared(differing, old, new)
    return replace(new.about, message=message), found


def _code_of(session: SearchSession, hit: Hit) -> Code | None:
    text = session.text(hit)
    position = hit.position
    if text is None:
        return None
    return Code(text, hit.language, hit.blob, position.start_line, position.end_line, hit.path)


def _code_at(session: SearchSession, place: str, revision: str | None) -> Code:
    """Return the code named by a citation or `<path>:<line>`.

    The path is looked up in the work tree, then in the revision.
    """
    unknown: UnknownRevision | None = None
    if read_citation(place) is not None:
        try:
            found = look_up(session, place)
            return Code(found.text, None, found.blob, found.first, found.last)
        except UnknownRevision as error:
            if read_place(place) is None:
                raise
            unknown = error
    lines = read_place(place)
    if lines is None or lines.first is None or lines.last is None:
        raise UsageError(f"'{place}' is not a place: write <path>:<line>, a citation, or - for code on stdin")
    literal = os.fsencode(lines.name)
    names = [one for one in (literal, unquoted_argument(literal)) if one is not None]
    last = lines.last if "-" in place.rpartition(":")[2] else None
    paths = [posixpath.normpath(session.repository.prefix + name) for name in names]
    read = partial(_code_in, session, paths, lines.first, last)
    for asked in (None, revision) if revision else (None,):
        overlay = None if asked is None else COMMITTED
        try:
            code = repairing(partial(open_tree, session, asked, overlay=overlay), read)
        except NothingCommitted:
            continue
        if code is not None:
            return code
    if unknown is not None:
        raise unknown
    raise CtxError(
        f"there is no indexed file '{lines.name}' here: `git ctx status` says what is left out and why"
    )


def _code_in(
    session: SearchSession, paths: Sequence[bytes], first: int, last: int | None, opened: OpenedTree
) -> Code | None:
    """Return the code at a line, or at lines, of the first of these paths that is indexed."""
    view = opened.view
    files = [view.paths.index(path) for path in paths if path in view.paths]
    file = next((one for one in files if view.file_segment[one] != NO_SEGMENT), None)
    if file is None:
        return None
    path = view.paths[file]
    key = view.segments[view.file_segment[file]].key(int(view.file_document[file]))
    record = decode_record(session.record(view, view.cluster_of(file), key))
    if (last or first) > record.lines:
        raise CtxError(
            f"'{os.fsdecode(path)}' has {pluralize(record.lines, 'line')}, "
            f"so there is no line {last or first:,}"
        )
    blob = session.reader.read_blob(key[0])
    if last is not None:
        text = to_text(blob, 0, len(blob)).split("\n")
        return Code(
            "\n".join(text[first - 1 : last]), key[1] or None, key[0].hex(), first, last, os.fsdecode(path)
        )
    for position in record.positions:
        # A line between two chunks belongs to the one below it.
        if first <= position.end_line:
            text_of = to_text(blob, position.start, position.end)
            return Code(
                text_of,
                key[1] or None,
                key[0].hex(),
                position.start_line,
                position.end_line,
                os.fsdecode(path),
            )
    return Code("", key[1] or None)


def _similar_chunks(
    session: SearchSession, opened: OpenedTree, code: Code, limit: int, filters: FileFilter
) -> tuple[list[Hit], str | None]:
    corpus = corpus_of(opened.view)
    allowed, message = allowed_files(opened.view, filters)
    if allowed is not None and not allowed.any():
        return [], message
    shown = (
        corpus.shown
        if allowed is None
        else corpus.shown_among(np.flatnonzero(allowed & (corpus.file_document >= 0)))
    )
    wanted = code_similarity.read_sample(code.text, code.language)
    records = partial(session.record, opened.view)
    read: list[tuple[int, Hit, code_similarity.Sample]] = []
    for row in code_similarity.candidates(corpus, wanted):
        file = int(shown[corpus.document_of[row]])
        if file < 0:
            continue
        hit = _elsewhere(hit_of(corpus, records, RankedRow(row, file, 0.0, 0.0)), code)
        hit = hit and replace(hit, reader=opened.about.reader)
        text = None if hit is None else session.text(hit)
        if hit is not None and text is not None:
            read.append((row, hit, code_similarity.read_sample(text, hit.language)))
    terms = sorted(set(wanted.terms).union(*(sample.terms for _, _, sample in read)))
    weights = dict(
        zip(terms, code_similarity.rarity(corpus, np.array(terms, dtype=np.int64)).tolist(), strict=True)
    )
    found = []
    for row, hit, sample in read:
        similar = code_similarity.compare(wanted, sample, corpus.bits[row], weights)
        if similar.same or similar.score >= LEAST_SCORE:
            found.append(
                replace(hit, score=similar.score, agreement=similar.agreement, duplicate=_duplicate(similar))
            )
    found.sort(key=lambda hit: (hit.duplicate != IDENTICAL, *by_score(hit)))
    return found[:limit], None if found else "nothing in this tree is like it"


def _elsewhere(hit: Hit, code: Code) -> Hit | None:
    """Return the hit; if it is of the definition itself, only with the other paths of its blob, or None."""
    first, last = hit.definition_lines
    if hit.blob != code.blob or last < code.first or first > code.last:
        return hit
    others = tuple(path for path in sorted((hit.path, *hit.also_at), key=os.fsencode) if path != code.path)
    return replace(hit, path=others[0], also_at=others[1:]) if code.path and others else None


def _is_much(hit: Hit) -> bool:
    return hit.duplicate is not None or hit.score >= MUCH_SCORE


def _duplicate(similar: code_similarity.Similarity) -> str | None:
    if similar.same:
        return IDENTICAL
    is_near = similar.words >= _SAME_WORDS and similar.agreement >= _SAME_VECTOR
    return NEAR_DUPLICATE if is_near else None
