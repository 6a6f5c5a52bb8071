"""The few lines of a hit that are shown: its first line, and the lines that the query speaks of."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection

WHOLE = 12
"""A text of at most so many lines is shown whole."""
WINDOW = 10
"""So many lines of a longer one are shown."""


def shown_lines(text: str, query: str) -> list[int]:
    """Which lines of a text to show, from 0 and rising; a gap between two of them is a cut."""
    lines = text.split("\n")
    if len(lines) <= WHOLE:
        return list(range(len(lines)))
    start = densest(lines, query)
    return list(range(WINDOW)) if start <= 1 else [0, *range(start, start + WINDOW - 1)]


def shown_changes(text: str, query: str, changed: Collection[int]) -> list[int]:
    """The same for a text of which some lines differ: its first line, and of those the ones that say most."""
    lines = text.split("\n")
    if len(lines) <= WHOLE or not changed:
        return shown_lines(text, query)
    places = [0, *sorted(line for line in changed if 0 < line < len(lines))]
    return [places[place] for place in shown_lines("\n".join(lines[place] for place in places), query)]


def densest(lines: list[str], query: str) -> int:
    """Where the run of `WINDOW - 1` lines begins that holds most of the query; 0 where the first lines do.

    A term of few lines weighs more than one of many.
    """
    # Words bring numpy along, which `-h` has no use for.
    from ctx.text.query import read_query, terms_in

    wanted = {term.hash: term.weight for term in read_query(query)}
    found = [wanted.keys() & terms_in(line) for line in lines]
    spread = Counter(term for line in found for term in line)
    weights = [sum(wanted[term] / spread[term] for term in line) for line in found]
    size = WINDOW - 1
    last_start = len(lines) - size
    sums = [round(sum(weights[start : start + size]), 6) for start in range(1, last_start + 1)]
    best = max(sums)
    if best <= round(sum(weights[1:WINDOW]), 6):
        return 0
    start = sums.index(best) + 1
    matched = [line for line in range(start, start + size) if weights[line]]
    # A run that begins with a match would show nothing of what leads to it.
    slack = size - (matched[-1] - matched[0] + 1)
    return min(matched[0] - slack // 2, last_start)
