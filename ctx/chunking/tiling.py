"""Laying chunks end to end, so that no text is lost and none is told twice."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ctx.values import Chunk

SPACES = b" \t\r\n\f\v"
"""What counts as blank: ASCII white space, nothing of Unicode's."""

_TEXT = re.compile(rb"[^ \t\r\n\f\v]")


def bounds(source: bytes) -> tuple[int, int]:
    """Where the text of a file begins and ends (half open); equal for a blank file."""
    first = _TEXT.search(source)
    return (first.start(), len(source.rstrip(SPACES))) if first else (0, 0)


def tile(source: bytes, pieces: Sequence[Chunk]) -> list[Chunk]:
    """Let each piece reach to the next one's start, without the blank text between them.

    A piece begins at the start of its first line where nothing else of that line belongs to another chunk.
    """
    chunks: list[Chunk] = []
    edge, stop = bounds(source)
    previous = 0
    for number, piece in enumerate(pieces):
        start = edge
        end = pieces[number + 1].start if number + 1 < len(pieces) else stop
        if end <= start:
            continue
        text = _TEXT.search(source, start, end)
        if text is None:
            continue
        start = text.start()
        edge = end
        end = start + len(source[start:end].rstrip(SPACES))
        line = start
        while line > previous and source[line - 1] in b" \t":
            line -= 1
        if line == 0 or source[line - 1] in b"\r\n":
            start = line
        previous = end
        chunks.append(piece._replace(start=start, end=end))
    return chunks
