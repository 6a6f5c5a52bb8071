"""The tool `history_search`: commits that match a question, with the lines that they changed."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

from ctx.agents.mcp.replies import Form, Reply, listed, numbered, revision_values
from ctx.agents.mcp.tools import HISTORY_LIMIT, MAX_TOKENS
from ctx.errors import UsageError
from ctx.history.answer import FIRST, LAST, CommitFilters, text_of
from ctx.history.results import ChangedLines, CommitHit
from ctx.index import Index
from ctx.text.escaping import escape_control, harmless
from ctx.text.pluralize import pluralize
from ctx.text.wording import date_of

_ASKS = {"best": None, "first": FIRST, "last": LAST}
_LINES = (12, 6, 3, 0)
"""Numbers of lines to show of a changed place, tried in this order until the hit fits."""


def history_search(index: Index, given: dict[str, Any], paths: list[str]) -> Reply:
    """Return the matching commits, as many as fit. Raises CtxError."""
    if "branch" in given and "revision" in given:
        raise UsageError("branch and revision exclude each other: give one of them")
    asks = _ASKS[given.get("which", "best")]
    answer = index.history(
        given["text"],
        CommitFilters(
            given.get("since"), given.get("until"), [given["author"]] if "author" in given else (), paths
        ),
        limit=given.get("limit", HISTORY_LIMIT if asks is None else 1),
        asks=asks,
        revision=given.get("revision"),
        branch=given.get("branch"),
    )
    known = answer.coverage
    values: dict[str, Any] = {
        **revision_values(answer.revision, answer.commit, answer.tree),
        "commit": answer.commit.hex()[:12],
        "commits": known.commits,
        "passedFilters": known.passed,
        "complete": not (known.edge or known.unread),
    }
    hits = (_forms(index, hit) for hit in answer.hits)
    nothing = "no commit answers this: ask in other words" + (
        "" if known.passed == known.commits else ", or with fewer filters"
    )
    return listed(values, "hits", hits, given.get("maxTokens", MAX_TOKENS), answer.message, nothing)


def _forms(index: Index, hit: CommitHit) -> Iterator[Form]:
    value = {
        "commit": hit.commit.hex()[:12],
        "date": date_of(hit.author_time),
        "author": escape_control(hit.author),
        "subject": escape_control(hit.subject),
        "score": round(hit.score, 3),
    }
    changes = [
        {
            "path": escape_control(os.fsdecode(place.path)),
            "side": "removed" if place.is_removed else "added",
            "startLine": place.first,
            "endLine": place.last,
        }
        for place in hit.places
    ]
    merge = " (merge)" if hit.is_merge else ""
    head = f"{value['commit']} {value['date']} {value['author']}{merge}: {value['subject']}"
    contents = [text_of(index.repository, hit.commit, place) for place in hit.places]
    for most in _LINES:
        lines = [head]
        for place, text in zip(hit.places, contents, strict=True):
            lines += _changed(place, text, most)
        yield Form(value | {"changes": changes}, "\n".join(lines))
    yield Form(value | {"changes": []}, head)


def _changed(place: ChangedLines, text: str | None, most: int) -> Iterator[str]:
    sign = "-" if place.is_removed else "+"
    yield f"{sign} {escape_control(os.fsdecode(place.path))}:{place.first}-{place.last}"
    if text is None or not most:
        return
    lines = [harmless(line) for line in text.split("\n")]
    yield from numbered(lines[:most], place.first)
    if len(lines) > most:
        yield f"[{pluralize(len(lines) - most, 'more line')}]"
