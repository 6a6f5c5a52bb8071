"""Answering a request from one tree: validate it, open the tree, rank, and add messages.

Requests are validated here before anything is opened.
"""

from __future__ import annotations

import time
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from ctx.errors import UsageError
from ctx.search.coverage import lacks_in_words
from ctx.search.hits import exact_occurrences, filter_of, search_view
from ctx.search.identifiers import read_identifier
from ctx.search.opening import OpenedTree, open_tree, repairing
from ctx.types import STAGED, STATES, WORK_TREE, Answer, ModelOptions, Request

if TYPE_CHECKING:
    from ctx.search.session import SearchSession


def search(session: SearchSession, request: Request) -> Answer:
    """Return the best chunks of one tree, or of the differences between two. See `Index.search`."""
    check(request, "hit")
    least = None if request.models is None else request.models.min_score
    if least is not None and not 0 <= least <= 1:
        raise UsageError(f"the least score is {least}: give a number from 0 to 1")
    if request.word:
        if read_identifier(request.text, True) is None:
            raise UsageError(f"{request.text.strip()!r} is no identifier: give one name, without spaces")
        if request.models is not None:
            raise UsageError("no model is asked about an identifier: leave out the options for models")
    if unknown := sorted(set(request.states) - set(STATES)):
        raise UsageError(f"unknown state {unknown[0]!r}: one of {', '.join(STATES)}")
    if request.within is None:
        answer = _search_tree(session, request)
    else:
        from ctx.search.changes import search_changes

        _refuse_beside_range(request)
        answer = search_changes(session, request)
    if request.evolution:
        from ctx.search.evolution import with_evolution

        answer = with_evolution(session, answer)
    return answer


def check(request: Request, of: str) -> None:
    """Raise UsageError for a question without words, and for a limit of less than one `of` it returns."""
    if not request.text.strip():
        raise UsageError("the query is empty: say in a few words what you look for")
    if request.limit < 1:
        raise UsageError(f"the limit is {request.limit}: ask for at least one {of}")


def refuse_search_options(request: Request) -> None:
    """Raise UsageError for the options that only a search of chunks has."""
    for name in ("within", "states", "recurse_submodules", "evolution", "word", "models"):
        if getattr(request, name):
            raise UsageError(f"{name} is an option of search only: leave it out")


def _refuse_beside_range(request: Request) -> None:
    if request.revision or request.branch or request.overlay not in (None, WORK_TREE, STAGED):
        raise UsageError("a range already names its trees: leave out the options that name another one")
    if request.recurse_submodules:
        raise UsageError("a range is searched in one repository: leave out the submodules")


def _search_tree(session: SearchSession, request: Request) -> Answer:
    started = time.monotonic()

    def opened() -> OpenedTree:
        tree = open_tree(session, request.revision, request.branch, request.overlay)
        if not request.recurse_submodules:
            return tree
        from ctx.search.submodules import join

        return join(session, tree)

    answer = repairing(opened, partial(_answer, session, request))
    return replace(answer, seconds=time.monotonic() - started)


def _answer(session: SearchSession, request: Request, opened: OpenedTree) -> Answer:
    filters, joined = filter_of(session.repository, request), opened.joined
    records = partial(session.record, opened.view)
    if request.models is not None or (
        session.has_model_services
        and exact_occurrences(opened.view, records, request.text, request.word) is None
    ):
        from ctx.search.services.choosing import Part, Searched
        from ctx.search.services.searching import ServiceSearch, of_view

        trees = joined.trees() if joined is not None else [(session, opened.view)]
        searched = [Searched(opened.view, [Part(*one) for one in trees])]
        retrieve = of_view(session, opened.view, filters)
        options = request.models or ModelOptions()
        found = ServiceSearch(session, searched, retrieve, filters, options).answer(
            request.text, request.limit
        )
    else:
        found = search_view(
            opened.view,
            records,
            request.text,
            request.limit,
            filters,
            tuning=session.tuning,
            is_word=request.word,
            text_of=session.text,
        )
    lacking = lacks_in_words(opened.about, session.repository.settings.is_partial_clone)
    message = (
        "; ".join(filter(None, (opened.about.message, found.message))) or lacking or session.fetch_failed
    )
    of_submodules = joined.in_words(opened.about) if joined is not None else None
    return session.answered(opened.about, found._replace(message=message), of_submodules)
