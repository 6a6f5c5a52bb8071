"""Laying chunks end to end, so that no text is lost and none is told twice."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ctx.types import Chunk

SPACES = b" \t\r\n\f\v"
"""What counts as blank: ASCII white space, nothing of Unicode's."""

_CLOSERS = re.compile(rb"(?:[ \t\r\n]*[})\]]+[;,)]*[ \t]*(?=\r?\n))+")
_TEXT = re.compile(rb"[^ \t\r\n\f\v]")


def bounds(source: bytes) -> tuple[int, int]:
    """Where the text of a file begins and ends (half open); equal for a blank file."""
    first = _TEXT.search(source)
    return (first.start(), len(source.rstrip(SPACES))) if first else (0, 0)


def _after_closers(source: bytes, start: int) -> int:
    """Past lines of nothing but closing brackets: they stay with what they close where syntax is broken."""
    match = _CLOSERS.match(source, start)
    return match.end() if match else start


def indentation(source: bytes, place: int) -> int:
    """The column of the first text in the line of a byte, a tab taken for four."""
    start = source.rfind(b"\n", 0, place) + 1
    line = source[start : place + 1]
    return len(line[: len(line) - len(line.lstrip(b" \t"))].expandtabs(4))


def tile(source: bytes, pieces: Sequence[Chunk]) -> list[Chunk]:
    """Let each piece reach to the next one's start, without the blank text between them.

    A piece begins at the start of its first line where nothing else of that line belongs to another chunk.
    """
    chunks: list[Chunk] = []
    if not pieces:
        return chunks
    edge, stop = bounds(source)
    cuts = [_after_closers(source, piece.start) for piece in pieces[1:]]
    cuts.append(stop)
    previous = 0
    for piece, cut in zip(pieces, cuts, strict=True):
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
        _, _, kind, symbol, names, is_test = piece
        chunks.append(Chunk(start, end, kind, symbol, names, is_test))
    return chunks
