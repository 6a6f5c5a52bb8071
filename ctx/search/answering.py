"""Answering a question from one tree: validate it, open the tree, rank, and add messages.

Questions are validated here before anything is opened.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from ctx.errors import UsageError
from ctx.search.coverage import lacks_in_words
from ctx.search.hits import Filters, search
from ctx.search.opening import STAGED, WORK_TREE, Opened, Repair, open_tree, repairing
from ctx.types import Answer, Found

if TYPE_CHECKING:
    from ctx.search.remote.searching import Wishes
    from ctx.search.session import SearchSession
    from ctx.search.submodules import Joined


class Question(NamedTuple):
    """A query and the restrictions on its answer; see `Index.search`."""

    text: str
    limit: int
    paths: Sequence[str]
    languages: Sequence[str]
    content: str
    wishes: Wishes | None


def check_least_score(score: float | None) -> None:
    """Raise UsageError for a score that is not from 0 to 1."""
    if score is not None and not 0 <= score <= 1:
        raise UsageError(f"the least score is {score}: give a number from 0 to 1")


def check(text: str, limit: int, of: str) -> None:
    """Raise UsageError for a question without words, and for a limit of less than one `of` it returns."""
    if not text.strip():
        raise UsageError("the query is empty: say in a few words what you look for")
    if limit < 1:
        raise UsageError(f"the limit is {limit}: ask for at least one {of}")


def refuse_beside_range(revision: str | None, overlay: str | None, recurse_submodules: bool) -> None:
    """Raise UsageError for options that cannot be combined with a range of two trees."""
    if revision is not None or overlay not in (None, WORK_TREE, STAGED):
        raise UsageError("a range already names its trees: leave out the options that name another one")
    if recurse_submodules:
        raise UsageError("a range is searched in one repository: leave out the submodules")


def answer(
    session: SearchSession,
    question: Question,
    revision: str | None,
    branch: str | None,
    overlay: str | None,
    recurse_submodules: bool,
) -> Answer:
    """Return the best chunks of one tree. See `Index.search`."""
    started = time.monotonic()

    def ask() -> tuple[Repair, Callable[[], Answer]]:
        session.forget_submodules()
        opened = open_tree(session, revision, branch, overlay)
        joined = None
        if recurse_submodules:
            joined, opened = session.join_submodules(opened)
        return opened.repair, partial(_answer, session, opened, joined, question)

    found = repairing(ask)
    return found._replace(seconds=time.monotonic() - started)


def _answer(session: SearchSession, opened: Opened, joined: Joined | None, question: Question) -> Answer:
    filters = Filters(session.repository, question.paths, question.languages, question.content)
    wishes = question.wishes
    if wishes is not None or session.has_remote_models:
        from ctx.search.remote.choosing import Part, Searched
        from ctx.search.remote.searching import RemoteSearch, Wishes, of_view

        trees = joined.trees() if joined is not None else [(session, opened.view)]
        searched = [Searched(opened.view, [Part(*one) for one in trees])]
        retrieve = of_view(session, opened.view, filters)
        remote = RemoteSearch(session, searched, retrieve, filters, wishes or Wishes())
        found = remote.answer(question.text, question.limit)
    else:
        records = partial(session.record, opened.view)
        found = Found(
            *search(opened.view, records, question.text, question.limit, filters, tuning=session.tuning)
        )
    lacking = lacks_in_words(opened.about, session.repository.settings.is_partial_clone)
    message = (
        "; ".join(filter(None, (opened.about.message, found.message))) or lacking or session.fetch_failed
    )
    of_submodules = joined.in_words(opened.about) if joined is not None else None
    return session.answered(opened.about, found._replace(message=message), of_submodules)
