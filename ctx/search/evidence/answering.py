"""File search: the best files for a question, each with evidence and excerpts."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from ctx import text as words
from ctx.ranking.explain import explain
from ctx.ranking.query import Query, prepare
from ctx.ranking.query_terms import query_terms, similar_terms
from ctx.ranking.ranker import adapt
from ctx.search.answering import check, refuse_search_options
from ctx.search.coverage import lacks_in_words
from ctx.search.dependencies.types import Edge
from ctx.search.evidence.case import Case
from ctx.search.evidence.commits import matching_commits
from ctx.search.evidence.files import best_score, file_hit, similar_words_of
from ctx.search.evidence.types import FileAnswer, FileHit
from ctx.search.hits import FileFilter, allowed_files, corpus_of, filter_of
from ctx.search.opening import OpenedTree, open_tree, repairing
from ctx.storage.arrays import Bools
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


def case_of(
    session: SearchSession,
    opened: OpenedTree,
    text: str,
    rows: int,
    allowed: Bools | None = None,
    query: Query | None = None,
    most_files: int | None = None,
) -> Case:
    """Return the case of a question in an opened tree, with its best `rows` rows among the allowed files.

    `allowed` is (files,) bool, or None for all files. `query` defaults to the query made from `text`;
    `most_files` as in `explain`.
    """
    corpus = corpus_of(opened.view)
    tuning = session.tuning
    query = prepare(text) if query is None else query
    explained = explain(corpus, query, allowed, rows, tuning=tuning, most_files=most_files)
    records = partial(session.record, opened.view)
    return Case(
        corpus, adapt(query, corpus, tuning), text, explained, records, session.reader.read_blob, tuning.name
    )


def search_files(session: SearchSession, request: Request, *, excerpts: bool = True) -> FileAnswer:
    """Return the best files of one tree. See `Index.search_files`."""
    check(request, "file")
    refuse_search_options(request)
    started = time.monotonic()
    filters = filter_of(session.repository, request)

    answer = repairing(
        partial(open_tree, session, request.revision, request.branch, request.overlay),
        lambda opened: answer_files(session, opened, request.text, request.limit, filters, content=excerpts),
    )
    lacking = lacks_in_words(answer.about, session.repository.settings.is_partial_clone)
    message = session.remark(answer.about.message or lacking)
    about = replace(answer.about, message=message, seconds=time.monotonic() - started)
    return replace(answer, about=about)


def answer_files(
    session: SearchSession,
    opened: OpenedTree,
    text: str,
    limit: int,
    filters: FileFilter,
    *,
    content: bool = True,
) -> FileAnswer:
    """Return the best files of a tree for a question, with excerpts if `content` is true.

    Raises `Damaged` if a cluster of the view cannot be read and `UsageError` for an invalid filter.
    """
    allowed, message = allowed_files(opened.view, filters)
    ranked_with = session.tuning.ranked_with
    about = replace(opened.about, message=opened.about.message or message, ranked_with=ranked_with)
    case = case_of(session, opened, text, limit * _ROWS_PER_FILE, allowed, most_files=limit)
    files = [] if allowed is not None and not allowed.any() else list(case.by_file)[:limit]
    edges = edges_among(case, files[:_MOST_CONNECTED])
    past = matching_commits(session, about.commit, text, [case.corpus.view.path(file) for file in files])
    best = best_score(case)
    hits: list[FileHit] = []
    budget = EXCERPT_BUDGET
    for file in files:
        changed = past.get(case.corpus.view.path(file), ())
        hit = file_hit(case, file, best, edges(file), budget if content else None, changed)
        budget -= sum(len(one.text or "") for one in hit.excerpts)
        hits.append(hit)
    terms = query_terms(case.query) + similar_terms(case.query, similar_words_of(hits))
    return FileAnswer(about=about, query=text, terms=terms, tokenizer=TOKENIZER, hits=tuple(hits))


def edges_among(case: Case, files: Sequence[int]) -> Callable[[int], list[Edge]]:
    """Return a function that gives the edges of a file to or from the others, incoming edges first."""
    view = case.corpus.view
    paths = {view.path(file) for file in files}
    found = [edge for edge in case.dependencies.outgoing(sorted(paths)) if edge.target_path in paths]

    def of(file: int) -> list[Edge]:
        path = view.path(file)
        return [edge for edge in found if edge.target_path == path] + [
            edge for edge in found if edge.source_path == path
        ]

    return of
