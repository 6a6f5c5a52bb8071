"""What is shown of a place: its signature and documentation first, then what matched.

A matched test brings what prepares it, not the tests beside it. Lines of a file are numbered from 1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from ctx.pack.outline import Item, Outline
from ctx.pack.values import Lines

LONGEST_LINE = 2_000
"""Characters of a line; what has a longer one was not written to be read."""
_HEAD = 12
"""Lines of a signature with its documentation that are shown of what is around a place."""
_SETUP = 25
"""Lines of what prepares a test; longer ones are left to be read where they are."""
_JOIN = 2
"""Ranges that are no further apart are shown as one: a gap costs as much as these lines."""
_CLOSE = 0.5
"""A test in a joined chunk is shown if it answers at least this share of what the best one does."""

Weigh = Callable[[int, int], float]
"""How much of the task some lines of the file speak of."""


def cut(outline: Outline, lines: Lines, is_test: bool, weigh: Weigh) -> tuple[Lines, ...]:
    """The ranges to show of a chunk with these lines."""
    inner = outline.around(*lines)
    if not inner:
        return (lines,)
    wanted = [lines]
    if is_test:
        tests = [number for number in inner if outline.items[number].is_test]
        if tests:
            wanted = _tests(outline, tests, weigh)
            inner = tests
    for number in inner:
        item = outline.items[number]
        if item.lines.first < lines.first <= item.lines.last:
            wanted.append(_head(item))
        wanted += [_first_line(outline.items[around]) for around in outline.above(number)]
    return join(wanted)


def signature(outline: Outline, lines: Lines, name: str) -> tuple[Lines, ...]:
    """The signature and documentation of a definition in a chunk; without an outline its first lines."""
    for number in outline.around(*lines):
        item = outline.items[number]
        if item.name.rpartition(".")[2] == name:
            above = [_first_line(outline.items[around]) for around in outline.above(number)]
            return join([*above, _head(item)])
    for number, item in enumerate(outline.items):
        if item.name.rpartition(".")[2] == name and lines.first <= item.lines.first <= lines.last:
            above = [_first_line(outline.items[around]) for around in outline.above(number)]
            return join([*above, _head(item)])
    return (Lines(lines.first, min(lines.last, lines.first + _HEAD - 1)),)


def _tests(outline: Outline, tests: Sequence[int], weigh: Weigh) -> list[Lines]:
    """The tests that answer, and what prepares them beside or around them."""
    chosen = list(tests)
    if len(tests) > 1:
        weights = {number: weigh(*outline.items[number].lines) for number in tests}
        best = max(weights.values())
        chosen = [number for number in tests if weights[number] >= _CLOSE * best]
    wanted = [outline.items[number].lines for number in chosen]
    scopes = {outline.items[number].parent for number in chosen}
    for number in chosen:
        scopes.update(outline.above(number))
    for item in outline.items:
        short = item.lines.last - item.lines.first < _SETUP
        if item.is_setup and not item.is_test and short and item.parent in scopes and not item.members:
            wanted.append(item.lines)
    return wanted


def _head(item: Item) -> Lines:
    return Lines(item.head.first, min(item.head.last, item.head.first + _HEAD - 1))


def _first_line(item: Item) -> Lines:
    return Lines(item.named, item.named)


def join(ranges: Iterable[Lines]) -> tuple[Lines, ...]:
    """The ranges in order, those that touch or nearly do as one."""
    found: list[Lines] = []
    for one in sorted(ranges):
        if found and one.first <= found[-1].last + 1 + _JOIN:
            found[-1] = Lines(found[-1].first, max(found[-1].last, one.last))
        else:
            found.append(one)
    return tuple(found)


def without(ranges: Iterable[Lines], shown: Iterable[Lines]) -> tuple[Lines, ...]:
    """What of some ranges is not shown yet."""
    left = list(ranges)
    for known in shown:
        rest: list[Lines] = []
        for one in left:
            if one.last < known.first or one.first > known.last:
                rest.append(one)
                continue
            if one.first < known.first:
                rest.append(Lines(one.first, known.first - 1))
            if one.last > known.last:
                rest.append(Lines(known.last + 1, one.last))
        left = rest
    return tuple(left)
