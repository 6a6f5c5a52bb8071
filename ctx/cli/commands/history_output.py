"""Output of answers about history, as text and as JSON."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from ctx.cli.commands.printing import path_fields, print_json, revision_fields
from ctx.cli.commands.snippet import shown_lines
from ctx.history.results import ChangedLines, CommitHit, HistoryAnswer, Month
from ctx.text.escaping import escape_control, harmless
from ctx.text.paths import from_here, quoted
from ctx.text.pluralize import pluralize
from ctx.text.wording import date_of

TextOf = Callable[[bytes, ChangedLines], str | None]
"""Returns the lines of a place in a commit, None if they cannot be read."""
BARS = "▁▂▃▄▅▆▇█"
WIDTH = 60
"""Maximum bars of a timeline; with more months, several share a bar."""


def print_answer(answer: HistoryAnswer, query: str, text_of: TextOf | None, prefix: bytes) -> None:
    """Print each commit on a line, with its subject and changed places below it."""
    write = sys.stdout.write
    if answer.message:
        write(f"{escape_control(answer.message)}\n\n")
    for hit in answer.hits:
        merge = " (merge)" if hit.is_merge else ""
        write(f"{hit.commit.hex()[:12]} {date_of(hit.author_time)} {escape_control(hit.author)}{merge}\n")
        write(f"    {escape_control(hit.subject)}\n")
        for place in hit.places:
            write(place_in_words(hit, place, query, text_of, prefix))
        write("\n")
    if answer.timeline:
        write(sparkline(answer.timeline))
    write(closing_line(answer) + "\n")


def place_in_words(
    hit: CommitHit, place: ChangedLines, query: str, text_of: TextOf | None, prefix: bytes
) -> str:
    """Return `+ path:first-last` for added lines or `-` for removed ones, followed by the best lines."""
    sign = "-" if place.is_removed else "+"
    out = f"  {sign} {quoted(from_here(place.path, prefix))}:{place.first}-{place.last}\n"
    text = text_of(hit.commit, place) if text_of is not None else None
    if text is None:
        return out
    lines, width, before = text.split("\n"), len(str(place.last)), -1
    for number in shown_lines(text, query):
        if number != before + 1:
            out += f"    {'':{width}}  ...\n"
        out += f"    {place.first + number:{width}}  {harmless(lines[number])}".rstrip() + "\n"
        before = number
    return out


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
    return line + "\n\n"


def closing_line(answer: HistoryAnswer) -> str:
    """Return the last line: number of commits found and searched, and the revision."""
    known = answer.coverage
    count = len(answer.hits)
    tip = answer.commit.hex()[:12]
    commits = pluralize(count, "commit") if count else "no commits"
    parts = [f"{commits} of {known.commits:,} in {answer.revision} {tip}"]
    if known.passed != known.commits:
        parts.append(f"{known.passed:,} pass the filters")
    if known.indexed:
        parts.append(f"{known.indexed:,} newly indexed")
    if known.cut:
        parts.append(f"{known.cut:,} large ones known in part")
    return escape_control(f"-- {'; '.join(parts)}; {answer.seconds:.2f} s")


def print_json_answer(answer: HistoryAnswer, text_of: TextOf | None, timeline: bool) -> None:
    """Print the whole answer as one object."""
    print_json(
        {
            "type": "history_result",
            "results": [hit_object(hit, text_of) for hit in answer.hits],
            "message": message_of(answer),
            **revision_fields(answer.revision, answer.commit, answer.tree),
            "coverage": answer.coverage._asdict(),
            **(
                {
                    "timeline": [
                        {"month": month.month, "commits": month.commits, "strength": round(month.strength, 6)}
                        for month in answer.timeline
                    ]
                }
                if timeline
                else {}
            ),
        }
    )


def message_of(answer: HistoryAnswer) -> str | None:
    """Return the message for an answer, None if there is none."""
    if answer.message or answer.hits:
        return answer.message
    return f"no commit of {answer.revision} did this"


def hit_object(hit: CommitHit, text_of: TextOf | None) -> dict[str, Any]:
    """Return a commit with its changed places as an object; paths are relative to the repository's root."""
    return {
        "commit": hit.commit.hex(),
        "author": hit.author,
        "authorTime": hit.author_time,
        "committerTime": hit.committer_time,
        "subject": hit.subject,
        "isMerge": hit.is_merge,
        "similarity": round(hit.score, 6),
        "changes": [
            {
                **path_fields("relativePath", place.path),
                "side": "old" if place.is_removed else "new",
                "startLine": place.first,
                "endLine": place.last,
                **({} if text_of is None else {"content": text_of(hit.commit, place)}),
            }
            for place in hit.places
        ],
    }
