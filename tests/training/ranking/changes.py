"""Lines of a file in one tree that a commit before or after that tree changed."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

from history import Example, git

_HUNK = re.compile(r"^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@", re.M)


class Hunk(NamedTuple):
    """A hunk: first line and number of lines on the old and the new side, as in `git diff`."""

    old: int
    old_count: int
    new: int
    new_count: int


def hunks(repository: Path, old: str, new: str, path: str) -> list[Hunk]:
    """The hunks of a file between two commits."""
    found = git(repository, "diff", "--no-ext-diff", "-U0", old, new, "--", path)
    return [Hunk(*(int(part) if part else 1 for part in match.groups())) for match in _HUNK.finditer(found)]


def span(first: int, count: int) -> tuple[int, int]:
    """The lines of one side of a hunk; for an empty side, the two lines around it."""
    return (first, first + count - 1) if count else (first, first + 1)


def carried(line: int, across: list[Hunk]) -> int:
    """The line on the new side of a line on the old side."""
    moved = 0
    for hunk in across:
        last_old = hunk.old + hunk.old_count - 1 if hunk.old_count else hunk.old
        if hunk.old_count and hunk.old <= line <= last_old:
            return hunk.new
        if line > last_old:
            moved = (hunk.new + hunk.new_count - 1 if hunk.new_count else hunk.new) - last_old
    return line + moved


def changed_lines(repository: Path, example: Example, path: str, tree: str) -> list[tuple[int, int]]:
    """The lines of a file at the commit `tree` that the commit of an example changed, first and last."""
    own = hunks(repository, f"{example.commit}^", example.commit, path)
    if example.source == "after":
        lines = [span(hunk.old, hunk.old_count) for hunk in own]
        across = hunks(repository, f"{example.commit}^", tree, path)
    else:
        lines = [span(hunk.new, hunk.new_count) for hunk in own]
        across = hunks(repository, example.commit, tree, path)
    return [(carried(first, across), carried(last, across)) for first, last in lines]
