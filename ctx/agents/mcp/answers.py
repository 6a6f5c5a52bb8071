"""The tools that answer questions: search, similar code, history, and the reasons for a file."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from ctx.agents.mcp.reading import inside
from ctx.agents.mcp.replies import Form, Reply, listed, numbered, revision_values
from ctx.agents.mcp.tools import HISTORY_LIMIT, LIMIT, MAX_TOKENS
from ctx.errors import UsageError
from ctx.index import Index
from ctx.text.escaping import display_line, escape_control
from ctx.text.paths import citation
from ctx.text.pluralize import pluralize
from ctx.text.wording import format_date
from ctx.types import Answer, Hit

if TYPE_CHECKING:
    from ctx.history.results import ChangedLines, CommitHit
    from ctx.search.dependencies.types import Edge

_FEWEST_LINES = 6
"""Minimum number of lines in a shortened hit."""
_LINES = (12, 6, 3, 0)
"""Numbers of lines to show of a changed place, tried in this order until the hit fits."""
_MOST_FILES = 20
"""Maximum number of files in each of `uses` and `usedBy`."""


def code_search(index: Index, given: dict[str, Any]) -> Reply:
    """Return the code that answers a question. Raises CtxError."""
    within = given.get("changedIn")
    if within is not None and "revision" in given:
        raise UsageError("changedIn names its revisions itself: leave revision out")
    answer = index.search(
        given["text"],
        limit=given.get("limit", LIMIT),
        paths=_pathspecs(given),
        revision=given.get("revision"),
        within=within,
    )
    return _code_reply(answer, given, "no code answers this: rephrase the question")


def find_related(index: Index, given: dict[str, Any]) -> Reply:
    """Return code similar to that at a place. Raises CtxError."""
    answer = index.related(given["place"], limit=given.get("limit", LIMIT), paths=_pathspecs(given))
    return _code_reply(answer, given, "no similar code found")


def history_search(index: Index, given: dict[str, Any]) -> Reply:
    """Return the matching commits, as many as fit. Raises CtxError."""
    from ctx.history.answer import FIRST, LAST, CommitFilters

    if "branch" in given and "revision" in given:
        raise UsageError("branch and revision exclude each other: give one of them")
    asks = {"best": None, "first": FIRST, "last": LAST}[given.get("which", "best")]
    authors = [given["author"]] if "author" in given else ()
    answer = index.history(
        given["text"],
        CommitFilters(given.get("since"), given.get("until"), authors, _pathspecs(given)),
        limit=given.get("limit", HISTORY_LIMIT if asks is None else 1),
        asks=asks,
        revision=given.get("revision"),
        branch=given.get("branch"),
    )
    known = answer.coverage
    values: dict[str, Any] = {
        **revision_values(answer.revision, answer.commit, answer.tree),
        "commit": answer.commit[:12],
        "commits": known.commits,
        "passedFilters": known.passed,
        "complete": not (known.edge or known.unread or known.waiting),
    }
    hits = (_commit_forms(index, hit) for hit in answer.hits)
    nothing = "no commit answers this: ask in other words" + (
        "" if known.passed == known.commits else ", or with fewer filters"
    )
    return listed(values, "hits", hits, given.get("maxTokens", MAX_TOKENS), answer.message, nothing)


def explain(index: Index, given: dict[str, Any]) -> Reply:
    """Return indexing status, rank and reasons of a file for a task. Raises CtxError."""
    from ctx.pack.types import FILES, PackOptions
    from ctx.search.evidence.wording import explanation_in_words

    inside(given["path"])
    options = PackOptions(max_files=given.get("maxFiles", FILES))
    found = index.explain(given["path"], given["task"], options)
    values = {
        "path": _path(found.path),
        **revision_values(found.about.revision, found.about.commit, found.about.tree),
        "rankedWith": [escape_control(one) for one in found.about.ranked_with],
        "indexing": {"status": found.indexing, "reason": found.reason and escape_control(found.reason)},
        "selection": {"status": found.selection, "reason": found.selection_reason},
        "rank": found.rank,
        "rankedFiles": found.ranked,
        "score": None if found.hit is None else round(found.hit.score, 3),
        "reasons": [] if found.hit is None else [escape_control(one) for one in found.hit.reasons],
        "contributions": {}
        if found.hit is None
        else {name: round(part, 3) for name, part in found.hit.contributions.items() if round(part, 3)},
        "uses": _files(found.uses, outgoing=True),
        "usedBy": _files(found.used_by, outgoing=False),
    }
    return Reply(explanation_in_words(found, b""), values)


def _files(edges: Sequence[Edge], *, outgoing: bool) -> list[str]:
    paths = dict.fromkeys(edge.target_path if outgoing else edge.source_path for edge in edges)
    return [_path(path) for path in list(paths)[:_MOST_FILES]]


def _path(path: str | bytes) -> str:
    return escape_control(os.fsdecode(path))


def _code_reply(answer: Answer, given: dict[str, Any], nothing: str) -> Reply:
    """Return an answer within the token limit, counting both text and plain values."""
    values: dict[str, Any] = {
        **revision_values(answer.revision, answer.commit, answer.tree),
        "complete": answer.coverage.complete,
        "rankedWith": [escape_control(one) for one in answer.ranked_with],
        "confidence": answer.confidence and round(answer.confidence, 2),
    }
    shown = len(answer.hits) if "limit" in given else answer.worth_reading
    hits = (_code_forms(hit) for hit in answer.hits[:shown])
    return listed(values, "hits", hits, given.get("maxTokens", MAX_TOKENS), answer.message, nothing)


def _code_forms(hit: Hit) -> Iterator[Form]:
    value = _value(hit)
    lines = numbered((hit.text or "").split("\n"), hit.position.start_line)
    signature = hit.signature
    if signature is not None and signature[0] < hit.position.start_line:
        lines = [*numbered([signature[1]], signature[0]), *lines]
    shown = len(lines)
    yield Form(value, _shown(hit, value, lines, shown))
    while shown >= 2 * _FEWEST_LINES:
        shown //= 2
        yield Form(value, _shown(hit, value, lines, shown))


def _value(hit: Hit) -> dict[str, Any]:
    position = hit.position
    return {
        "path": escape_control(hit.path),
        "startLine": position.start_line,
        "endLine": position.end_line,
        "symbol": escape_control(hit.symbol),
        "score": round(hit.score, 3),
        "citation": citation(hit.blob, position.start_line, position.end_line, 12),
    }


def _shown(hit: Hit, value: dict[str, Any], lines: Sequence[str], shown: int) -> str:
    change = f" ({hit.change.state})" if hit.change is not None else ""
    copy = f" ({hit.duplicate})" if hit.duplicate else ""
    head = f"{value['path']}:{value['startLine']}-{value['endLine']} {value['symbol']}{change}{copy}"
    rest = "" if shown == len(lines) else f"\n[{pluralize(len(lines) - shown, 'more line')}]"
    return "\n".join((f"{head}  [{value['citation']}]", *lines[:shown])) + rest


def _pathspecs(given: dict[str, Any]) -> list[str]:
    wanted = given.get("pathFilter")
    if wanted is None:
        return []
    if os.path.isabs(wanted) or ".." in wanted.split("/"):
        raise UsageError(f"{wanted!r} leads out of the project: give a path from its root")
    return [wanted if wanted.startswith(":") else f":(top){wanted}"]


def _commit_forms(index: Index, hit: CommitHit) -> Iterator[Form]:
    from ctx.history.answer import text_of

    value = {
        "commit": hit.commit[:12],
        "date": format_date(hit.author_time),
        "author": escape_control(hit.author),
        "subject": escape_control(hit.subject),
        "score": round(hit.score, 3),
    }
    changes = [
        {
            "path": escape_control(place.path),
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
    yield f"{sign} {escape_control(place.path)}:{place.first}-{place.last}"
    if text is None or not most:
        return
    lines = [display_line(line) for line in text.split("\n")]
    yield from numbered(lines[:most], place.first)
    if len(lines) > most:
        yield f"[{pluralize(len(lines) - most, 'more line')}]"
