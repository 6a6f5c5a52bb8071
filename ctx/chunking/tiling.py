"""Extending chunks so that they adjoin and all text is in exactly one chunk."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from ctx.types import Chunk

SPACES = b" \t\r\n\f\v"
"""White space: ASCII only."""

# What repeats is bounded, and no two neighbouring parts can match the same byte: a failure costs little.
_CLOSERS = re.compile(rb"(?:[ \t\r\n]{0,999}[})\]]{1,99}(?:[;,][;,)]{0,99})?[ \t]{0,99}(?=\r?\n))+")
_TEXT = re.compile(rb"[^ \t\r\n\f\v]")


def bounds(source: bytes) -> tuple[int, int]:
    """Return start and end (half open) of the text of a file; equal for a blank file."""
    first = _TEXT.search(source)
    return (first.start(), len(source.rstrip(SPACES))) if first else (0, 0)


def _ends(source: bytes, pieces: Sequence[Chunk], stop: int) -> Iterator[int]:
    """Yield the end of each piece.

    A piece ends where the next one starts, or after the lines of closing brackets there, which stay with
    their construct if syntax is broken. Each line is read once, however many pieces start among the brackets.
    """
    reached = 0
    for piece in pieces[1:]:
        if piece.start >= reached:
            match = _CLOSERS.match(source, piece.start)
            reached = match.end() if match else piece.start
        yield reached
    yield stop


def indentation(source: bytes, place: int) -> int:
    """Return the column of the first text in the line of a byte, counting a tab as four."""
    start = source.rfind(b"\n", 0, place) + 1
    line = source[start : place + 1]
    return len(line[: len(line) - len(line.lstrip(b" \t"))].expandtabs(4))


def tile(source: bytes, pieces: Sequence[Chunk]) -> list[Chunk]:
    """Extend each piece to the start of the next one, without the blank text between them.

    A piece begins at the start of its first line unless that line has text of another chunk.
    """
    chunks: list[Chunk] = []
    if not pieces:
        return chunks
    edge, stop = bounds(source)
    previous = 0
    for piece, cut in zip(pieces, _ends(source, pieces, stop), strict=True):
        if cut <= edge:
            continue
        text = source[edge:cut]
        stripped = text.lstrip(SPACES)
        if not stripped:
            continue
        start = cut - len(stripped)
        edge = cut
        end = start + len(stripped.rstrip(SPACES))
        indented = start - len(source[previous:start]) + len(source[previous:start].rstrip(b" \t"))
        if indented == 0 or source[indented - 1] in b"\r\n":
            start = indented
        previous = end
        chunks.append(piece._replace(start=start, end=end))
    return chunks
