"""File search: the best files for a question, each with evidence and excerpts."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from ctx import text as words
from ctx.ranking.query_terms import query_terms, similar_terms
from ctx.search.answering import check, refuse_search_options
from ctx.search.coverage import lacks_in_words
from ctx.search.dependencies.types import Edge
from ctx.search.evidence.commits import matching_commits
from ctx.search.evidence.file_ranking import FileRanking
from ctx.search.evidence.files import best_score, file_hit, similar_words_of
from ctx.search.evidence.types import FileAnswer, FileHit
from ctx.search.hits import FileFilter, allowed_files, filter_of
from ctx.search.opening import OpenedTree, open_tree, repairing
from ctx.types import Request

if TYPE_CHECKING:
    from ctx.search.session import SearchSession

EXCERPT_BUDGET = 48_000
"""Maximum number of characters in all excerpts of an answer; symbols and JSON overhead are not counted."""
_ROWS_PER_FILE = 5
"""Chunks ranked per requested file, since several chunks of one file may match."""
_MOST_CONNECTED = 20
"""Number of top files between which dependency edges are searched."""
TOKENIZER = f"words-{words.VERSION}"
"""Name and version of the tokenizer for questions and texts."""


def search_files(session: SearchSession, request: Request, *, excerpts: bool = True) -> FileAnswer:
    """Return the best files of one tree. See `Index.search_files`."""
    check(request, "file")
    refuse_search_options(request)
    started = time.monotonic()
    filters = filter_of(session.repository, request)

    answer = repairing(
        partial(open_tree, session, request.revision, request.branch, request.overlay),
        lambda opened: _answer(session, opened, request, filters, excerpts),
    )
    lacking = lacks_in_words(answer.about, session.repository.settings.is_partial_clone)
    message = session.remark(answer.about.message or lacking)
    about = replace(answer.about, message=message, seconds=time.monotonic() - started)
    return replace(answer, about=about)


def _answer(
    session: SearchSession, opened: OpenedTree, request: Request, filters: FileFilter, excerpts: bool
) -> FileAnswer:
    """Return the best files of a tree.

    Raises `Damaged` if a cluster of the view cannot be read and `UsageError` for an invalid filter.
    """
    text, limit = request.text, request.limit
    allowed, message = allowed_files(opened.view, filters)
    ranked_with = session.tuning.ranked_with
    about = replace(opened.about, message=opened.about.message or message, ranked_with=ranked_with)
    ranking = FileRanking(session, opened, text, limit * _ROWS_PER_FILE, allowed, most_files=limit)
    files = [] if allowed is not None and not allowed.any() else list(ranking.by_file)[:limit]
    edges = edges_among(ranking, files[:_MOST_CONNECTED])
    past = matching_commits(session, about.commit, text, [ranking.corpus.view.path(file) for file in files])
    best = best_score(ranking)
    hits: list[FileHit] = []
    budget = EXCERPT_BUDGET
    for file in files:
        changed = past.get(ranking.corpus.view.path(file), ())
        hit = file_hit(ranking, file, best, edges(file), budget if excerpts else None, changed)
        budget -= sum(len(one.text or "") for one in hit.excerpts)
        hits.append(hit)
    terms = query_terms(ranking.query) + similar_terms(ranking.query, similar_words_of(hits))
    return FileAnswer(about=about, query=text, terms=terms, tokenizer=TOKENIZER, hits=tuple(hits))


def edges_among(ranking: FileRanking, files: Sequence[int]) -> Callable[[int], list[Edge]]:
    """Return a function that gives the edges of a file to or from the others, incoming edges first."""
    view = ranking.corpus.view
    paths = {view.path(file) for file in files}
    found = [edge for edge in ranking.dependencies.outgoing(sorted(paths)) if edge.target_path in paths]

    def of(file: int) -> list[Edge]:
        path = view.path(file)
        return [edge for edge in found if edge.target_path == path] + [
            edge for edge in found if edge.source_path == path
        ]

    return of
