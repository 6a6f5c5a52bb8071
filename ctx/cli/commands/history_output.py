"""Output of answers about history, as text and as JSON."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from ctx.cli.commands.printing import (
    fields_of,
    path_fields,
    print_json,
    print_lines,
    revision_fields,
    shown_path,
)
from ctx.cli.commands.snippet import numbered, shown_lines
from ctx.history.results import ChangedLines, CommitHit, HistoryAnswer, Month
from ctx.text.pluralize import pluralize
from ctx.text.wording import format_date

TextOf = Callable[[str, ChangedLines], str | None]
"""Returns changed lines of a commit, None if they cannot be read."""
SCHEMA = 1
"""Version of the JSON answer; raised by incompatible changes."""
BARS = "▁▂▃▄▅▆▇█"
WIDTH = 60
"""Maximum bars of a timeline; with more months, several share a bar."""


def print_answer(answer: HistoryAnswer, query: str, text_of: TextOf | None, prefix: bytes) -> None:
    """Print each commit on a line, with its subject and changed places below it."""
    lines = [answer.message, ""] if answer.message else []
    for hit in answer.hits:
        merge = " (merge)" if hit.is_merge else ""
        lines += [
            f"{hit.commit[:12]} {format_date(hit.author_time)} {hit.author}{merge}",
            f"    {hit.subject}",
        ]
        for place in hit.places:
            lines += place_lines(place, query, text_of and text_of(hit.commit, place), prefix)
        lines.append("")
    if answer.timeline:
        lines += [sparkline(answer.timeline), ""]
    print_lines([*lines, closing_line(answer)])


def place_lines(place: ChangedLines, query: str, text: str | None, prefix: bytes) -> Iterator[str]:
    """Yield `+ path:first-last` for added lines or `-` for removed ones, followed by the best lines."""
    path = shown_path(place.path, prefix)
    yield f"  {'-' if place.is_removed else '+'} {path}:{place.first}-{place.last}"
    if text is not None:
        yield from (f"    {line}" for _, line in numbered(text, shown_lines(text, query), place.first))


def sparkline(months: list[Month]) -> str:
    """Return one line of bars of the strength per month, and the month with the highest."""
    each = -(-len(months) // WIDTH)
    sums = [sum(month.strength for month in months[at : at + each]) for at in range(0, len(months), each)]
    top = max(sums)
    bars = "".join(" " if not one else BARS[min(7, int(one / top * 8))] for one in sums)
    peak = max(months, key=lambda month: month.strength)
    unit = "a month" if each == 1 else f"{each} months"
    line = f"{months[0].month} {bars} {months[-1].month}  {unit} a bar"
    if peak.commits:
        line += f"; most in {peak.month}: {pluralize(peak.commits, 'commit')}"
    return line


def closing_line(answer: HistoryAnswer) -> str:
    """Return the last line: number of commits found and searched, and the revision."""
    coverage, count = answer.coverage, len(answer.hits)
    commits = pluralize(count, "commit") if count else "no commits"
    parts = [f"{commits} of {coverage.commits:,} in {answer.revision} {answer.commit[:12]}"]
    if coverage.passed != coverage.commits:
        parts.append(f"{coverage.passed:,} pass the filters")
    if coverage.indexed:
        parts.append(f"{coverage.indexed:,} newly indexed")
    if coverage.truncated:
        parts.append(f"{coverage.truncated:,} large ones truncated")
    return f"-- {'; '.join(parts)}; {answer.seconds:.2f} s"


def print_json_answer(answer: HistoryAnswer, text_of: TextOf | None, timeline: bool) -> None:
    """Print the whole answer as one object."""
    message = answer.message
    if not message and not answer.hits:
        message = f"no commit of {answer.revision} answers this"
    months = [fields_of(month) | {"strength": round(month.strength, 6)} for month in answer.timeline]
    print_json(
        {
            "type": "history",
            "schema": SCHEMA,
            **revision_fields(answer.revision, answer.commit, answer.tree),
            "coverage": fields_of(answer.coverage, truncated="cut"),
            "message": message,
            **({"timeline": months} if timeline else {}),
            "hits": [hit_object(hit, text_of) for hit in answer.hits],
        }
    )


def hit_object(hit: CommitHit, text_of: TextOf | None) -> dict[str, Any]:
    """Return a commit with its changed places as an object; paths are relative to the repository's root."""
    changes = [
        {
            **path_fields("path", place.path),
            "side": "old" if place.is_removed else "new",
            "startLine": place.first,
            "endLine": place.last,
            **({} if text_of is None else {"text": text_of(hit.commit, place)}),
        }
        for place in hit.places
    ]
    return fields_of(hit, places="") | {"score": round(hit.score, 6), "changes": changes}
