"""Splitting text by lines, for files without a grammar and for units that syntax cannot split."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ctx.chunking.limits import HARD, JOIN, LIMIT
from ctx.chunking.tiling import SPACES

_PARAGRAPH_GAP = re.compile(
    rb"(?:\r\n|\r(?!\n)|\n)"
    rb"(?:[ \t\f\v]*(?:(?://[/!]?|[#*;]|--)[ \t\f\v]*)?(?:\r\n|\r(?!\n)|\n))+[ \t\f\v]*"
)
"""Blank lines, and empty comment lines. No two adjacent parts can match the same byte."""
_LINE = re.compile(rb"[^\r\n]*(?:\r\n?|\n)?")

LONG = 20_000
"""A line of this many bytes is generated; a file that has one is not parsed."""


def has_long_line(source: bytes) -> bool:
    """Return True if the source has a line of about `LONG` bytes or more."""
    here = 0
    while here + LONG < len(source):
        newline = source.rfind(b"\n", here, here + LONG)
        if newline < 0:
            return True
        here = newline + 1
    return False


def split_lines(source: bytes, start: int, end: int, join: int = JOIN) -> list[tuple[int, int]]:
    """Split `source[start:end]` into ranges of at most about `LIMIT` bytes, preferably at blank lines.

    Paragraphs are joined while the result stays within `join` bytes; a paragraph that is too large is split
    between lines, a line that is too large at a space, or at `HARD` bytes. Only blank text lies between
    ranges.
    """
    ranges: list[tuple[int, int]] = []
    here = start
    while here < end:
        gap = _PARAGRAPH_GAP.search(source, here, end)
        stop, following = (gap.start(), gap.end()) if gap else (end, end)
        if source[here:stop].strip(SPACES):
            if ranges and stop - ranges[-1][0] <= join:
                ranges[-1] = (ranges[-1][0], stop)
            elif stop - here <= LIMIT:
                ranges.append((here, stop))
            else:
                ranges.extend(_split_paragraph(source, here, stop))
        here = following
    return ranges


def _split_paragraph(source: bytes, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Pack whole lines up to `LIMIT` bytes."""
    here = start
    while here < end:
        match = _LINE.match(source, here, end)
        stop = match.end() if match else end
        if stop - start > LIMIT and start < here:
            yield start, here
            start = here
        if stop - here > LIMIT:
            yield from _split_line(source, here, stop)
            start = stop
        here = stop
    if start < end:
        yield start, end


def _split_line(source: bytes, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Split one long line at spaces, or, without any, at `HARD` bytes between two characters."""
    while end - start > LIMIT:
        cut = source.rfind(b" ", start + LIMIT // 2, start + LIMIT) + 1
        if cut <= 0:
            cut = min(start + HARD, end)
            while cut < end and cut > start + HARD - 4 and source[cut] & 0xC0 == 0x80:
                cut -= 1
        yield start, cut
        start = cut
    if start < end:
        yield start, end
