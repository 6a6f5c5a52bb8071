"""Source files of a pack, read on demand and cached within a memory limit, and the lines of them to show.

Of a place signature and documentation are shown first, then the matching lines. A matching test includes its
setup, not the tests beside it. Lines of a file are numbered from 1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from hashlib import blake2b
from typing import TYPE_CHECKING

from ctx.pack.outline import Item, Outline, outline
from ctx.pack.types import SOURCE_MEMORY, Lines
from ctx.text.contents import to_text

if TYPE_CHECKING:
    from tree_sitter import Tree

    from ctx.chunking.grammars import Parse
    from ctx.chunking.rules import Grammar

LONGEST_LINE = 2_000
"""Maximum characters of a line; longer ones are not written by hand."""
_HEAD = 12
"""Maximum lines shown of the signature and documentation of an enclosing definition."""
_SETUP = 25
"""Maximum lines of the setup of a test; longer ones are not shown."""
_JOIN = 2
"""Ranges at most this many lines apart are joined: a gap costs as many tokens."""
_CLOSE = 0.5
"""A test in a joined chunk is shown if its weight is at least this share of the best one's."""

Weigh = Callable[[int, int], float]
"""Returns the weight of the task's terms in a range of lines."""
GAP = "…"
"""Sign for omitted lines."""
MOST_BYTES = 64 << 20
"""Maximum bytes of all cached files."""


class Source:
    """A file: its digest (BLAKE2b, 32 bytes, hexadecimal), its lines without line ends, its outline."""

    def __init__(self, content: bytes, language: str | None, parse: Parse | None = None) -> None:
        self._content = content
        self._language = language
        self._parse = parse
        self.digest = blake2b(content, digest_size=32).hexdigest()
        text = to_text(content, 0, len(content)).replace("\r\n", "\n").removesuffix("\r")
        lines = text.split("\n")
        if not lines[-1]:
            lines.pop()
        self.lines = tuple(lines)

    @cached_property
    def outline(self) -> Outline:
        """Definitions by syntax; parsing is most of the cost of a file."""
        return outline(self._content, self._language, self._parse)


class Sources:
    """Cache of files; `read` returns the bytes of a blob or raises KeyError."""

    def __init__(self, read: Callable[[bytes], bytes], most: int = MOST_BYTES) -> None:
        self.read = read
        self._left = most
        self._found: dict[tuple[bytes, str | None], Source | str] = {}
        self._parsed: dict[tuple[bytes, str], tuple[Tree, Grammar] | None] = {}

    def parse(self, text: bytes, language: str) -> tuple[Tree, Grammar] | None:
        """Parse UTF-8 bytes, each text once: outline and edges need the same tree."""
        from ctx.chunking import grammars

        if (text, language) not in self._parsed:
            self._parsed[text, language] = grammars.parse(text, language)
        return self._parsed[text, language]

    def get(self, blob: bytes, language: str | None) -> Source | str:
        """Return a file, or the reason why it cannot be shown. Raises KeyError if the blob is missing."""
        known = self._found.get((blob, language))
        if known is None:
            known = self._found[blob, language] = self._make(blob, language)
        return known

    def _make(self, blob: bytes, language: str | None) -> Source | str:
        content = self.read(blob)
        if len(content) > self._left:
            return SOURCE_MEMORY
        self._left -= len(content)
        return Source(content, language, self.parse)


def text_of(source: Source, ranges: Sequence[Lines]) -> str | None:
    """Return the text of some ranges separated by `GAP`; None if a line is too long to show."""
    pieces = []
    for first, last in ranges:
        lines = source.lines[first - 1 : last]
        if any(len(line) > LONGEST_LINE for line in lines):
            return None
        pieces.append("\n".join(lines))
    return f"\n{GAP}\n".join(pieces)


def cut(outline: Outline, lines: Lines, is_test: bool, weigh: Weigh) -> tuple[Lines, ...]:
    """Return the ranges to show of a chunk with these lines."""
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
    """Return signature and documentation of a definition in a chunk; without an outline its first lines."""
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
    """Return the matching tests, and their setup beside or around them."""
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
    """Return the ranges sorted, with adjacent and nearly adjacent ones merged."""
    found: list[Lines] = []
    for one in sorted(ranges):
        if found and one.first <= found[-1].last + 1 + _JOIN:
            found[-1] = Lines(found[-1].first, max(found[-1].last, one.last))
        else:
            found.append(one)
    return tuple(found)


def without(ranges: Iterable[Lines], shown: Iterable[Lines]) -> tuple[Lines, ...]:
    """Return the parts of `ranges` that are not in `shown`."""
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
