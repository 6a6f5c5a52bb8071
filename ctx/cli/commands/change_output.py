"""Output of changes of a chunk and of comparisons, as text and as JSON."""

from __future__ import annotations

from typing import Any

from ctx.cli.commands.printing import revision_fields
from ctx.text.escaping import escape_control
from ctx.text.pluralize import pluralize, pluralize_with
from ctx.text.wording import date_of
from ctx.types import NEW, Change, Comparison, Evolution, Hit

_WIDTH = 72
"""Maximum characters of a commit subject."""
_MOST_PIECES = 6
"""Maximum number of line ranges to list in text output."""


def change_in_words(change: Change) -> str:
    """Return text such as `modified, lines 12-14, 20` or `removed, lines 3-9 of the old text`."""
    pieces = [f"{a}" if a == b else f"{a}-{b}" for a, b in change.lines[:_MOST_PIECES]]
    left = len(change.lines) - len(pieces)
    named = ", ".join(pieces) + (f" and {pluralize(left, 'more piece')}" if left else "")
    plural = "" if len(change.lines) == 1 and "-" not in named else "s"
    return f"{change.state}, line{plural} {named}" + ("" if change.side == NEW else " of the old text")


def evolution_lines(evolution: Evolution) -> list[str]:
    """Return a line for each commit that changed a hit, newest first."""
    lines = ["changed, not committed"] if evolution.uncommitted else []
    for change in evolution.commits:
        day = date_of(change.time)
        subject = change.subject if len(change.subject) <= _WIDTH else change.subject[:_WIDTH] + "…"
        lines.append(escape_control(f"changed {day} {change.commit.hex()[:12]} {change.author}: {subject}"))
    if not evolution.complete:
        lines.append("changed before that too, or may have been: `git log -L` goes on")
    return lines


def evolution_object(hit: Hit) -> dict[str, Any]:
    """Return the field `evolution` with the commits that changed a hit, if they were requested."""
    if hit.evolution is None:
        return {}
    commits = [
        {"commit": one.commit.hex(), "time": one.time, "author": one.author, "subject": one.subject}
        for one in hit.evolution.commits
    ]
    uncommitted, complete = hit.evolution.uncommitted, hit.evolution.complete
    return {"evolution": {"commits": commits, "uncommitted": uncommitted, "complete": complete}}


def changed_lines(hit: Hit) -> frozenset[int]:
    """Return the numbers of the lines of a hit's text that differ, counted from 0."""
    if hit.change is None:
        return frozenset()
    first = hit.position.start_line
    return frozenset(line - first for a, b in hit.change.lines for line in range(a, b + 1))


def sign_of(hit: Hit) -> str:
    """Return the sign before a line that differs, as in a diff."""
    return "+" if hit.change is None or hit.change.side == NEW else "-"


def change_object(hit: Hit) -> dict[str, Any]:
    """Return the field `change` of a hit in a comparison."""
    if hit.change is None:
        return {}
    state, side, lines = hit.change
    return {"change": {"state": state, "side": side, "changedLines": [list(piece) for piece in lines]}}


def comparison_object(comparison: Comparison) -> dict[str, Any]:
    """Return the comparison of an answer as an object."""
    return {
        "range": comparison.text,
        **revision_fields(comparison.revision, comparison.commit, comparison.tree),
        "files": comparison.files,
        "added": comparison.added,
        "modified": comparison.modified,
        "removed": comparison.removed,
    }


def comparison_in_words(found: Comparison) -> str:
    """Return `against main 1a2b3c4d5e6f: 3 files differ, chunks: 4 added, 2 modified, 0 removed`."""
    short = found.commit.hex()[:12] if found.commit else ""
    name = found.revision if not short or short in found.revision else f"{found.revision} {short}"
    files = pluralize_with(found.files, "file", "differs", "differ")
    return (
        f"against {name}: {files}, chunks: {found.added:,} added, {found.modified:,} modified, "
        f"{found.removed:,} removed"
    )
