"""Choice of the lines of a hit to show: its first line, and the lines that match the query best."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from functools import lru_cache

from ctx.text.escaping import display_line

WHOLE = 12
"""Maximum lines of a text that is shown whole."""
WINDOW = 10
"""Number of lines to show of a longer text."""


_TOKEN = re.compile(r"\w+")


def shown_lines(text: str, query: str, first: int = 0) -> list[int]:
    """Return the lines of a text to show, counted from 0, ascending; a gap between two is a cut.

    `first` is the first line of code: the comments before it are cut from a longer text.
    """
    lines = text.split("\n")
    if len(lines) <= WHOLE:
        return list(range(len(lines)))
    code = lines[first:]
    if len(code) <= WHOLE:
        return list(range(first, len(lines)))
    start = densest(code, query)
    shown = range(WINDOW) if start <= 1 else [0, *range(start, start + WINDOW - 1)]
    return [first + place for place in shown]


def shown_changes(
    text: str, query: str, changed: Collection[int], first: int = 0, *, is_later: bool = False
) -> list[int]:
    """Return the lines to show of a text with changed lines: the first, and the best of the changed ones.

    A text that `is_later`, a piece below its signature, needs no first line. Blank lines beside a cut are
    left out.
    """
    lines = text.split("\n")
    if len(lines) > WHOLE and changed:
        places = [0, *sorted(line for line in changed if 0 < line < len(lines))]
        shown = [places[place] for place in shown_lines("\n".join(lines[place] for place in places), query)]
    else:
        shown = shown_lines(text, query, first)
        if is_later and len(shown) > 1 and shown[1] > shown[0] + 1:
            del shown[0]
    while len(shown) > 1 and not lines[shown[-1]].strip():
        del shown[-1]
    kept: list[int] = []
    for number in shown:
        if lines[number].strip() or number == (kept[-1] + 1 if kept else 0):
            kept.append(number)
    return kept or shown


def telling_line(text: str, query: str) -> int:
    """Return the line of a text that matches the query best, or else the first one with a word."""
    from ctx.text.query import read_query, terms_in

    wanted = {term.hash: term.weight for term in read_query(query)}
    lines = text.split("\n")
    weights = [
        (sum(sorted(wanted[term] for term in wanted.keys() & terms_in(line))), bool(_TOKEN.search(line)))
        for line in lines
    ]
    return weights.index(max(weights))


def matched_spans(line: str, query: str) -> list[tuple[int, int]]:
    """Return the start and the end of each word of a line that matches one of a query."""
    from ctx.text.terms import ascii_word_spans, term_hash

    wanted = _hashes(query)
    spans = []
    for token in _TOKEN.finditer(line):
        inside = ascii_word_spans(token[0]) if token[0].isascii() else [(0, len(token[0]))]
        spans += [
            (token.start() + start, token.start() + end)
            for start, end in inside
            if term_hash(token[0][start:end].lower()) in wanted
        ]
    return spans


@lru_cache(maxsize=4)
def _hashes(query: str) -> frozenset[int]:
    from ctx.text.query import read_query

    return frozenset(term.hash for term in read_query(query) if term.weight >= 1)


def densest(lines: list[str], query: str) -> int:
    """Return the start of the run of `WINDOW - 1` lines that matches the query best; 0 if the first lines do.

    The weight of a term is divided by the number of lines that contain it.
    """
    # This imports numpy, which `-h` does not need.
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
    # Centre the matches, so that some lines before the first one are shown.
    slack = size - (matched[-1] - matched[0] + 1)
    return min(matched[0] - slack // 2, last_start)


def numbered(
    text: str, shown: Iterable[int], first: int, clean: Callable[[str], str] = display_line
) -> Iterator[tuple[int, str]]:
    """Yield the index of each line to show, counted from 0, and the line with its number, from `first`.

    A gap yields -1 and dots. `clean` makes a line safe to display.
    """
    lines = text.split("\n")
    width, before = len(str(first + len(lines) - 1)), -1
    for number in shown:
        if number != before + 1:
            yield -1, f"{'':{width}}  ..."
        yield number, f"{first + number:{width}}  {clean(lines[number])}".rstrip()
        before = number
