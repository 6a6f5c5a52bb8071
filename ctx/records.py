"""The structure of one document: its chunks without their text, as bytes.

A document is one blob read as one language. Its record is a function of these two and of the chunker's
version alone, holds no path and no source text, and is stored as it is in clusters and in segments.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import accumulate, pairwise
from typing import NamedTuple

import msgpack
import numpy as np

from ctx.errors import Damaged
from ctx.values import KINDS, Chunk, Position

TEST = 0x80
"""The bit of a stored kind that marks a test."""
_NEWLINE = 10
_KIND_NUMBERS = {kind: number for number, kind in enumerate(KINDS)}


class Record(NamedTuple):
    """A decoded record. The lists run over the chunks, in the order of their places."""

    size: int
    lines: int
    positions: list[Position]
    kinds: list[str]
    tests: list[bool]
    symbols: list[str]
    names: list[list[str]]


def encode_record(
    text: bytes, chunks: list[Chunk], size: int, place: Callable[[int], int] | None = None
) -> bytes:
    """The bytes of the record of a document.

    `text` is what the chunks' offsets refer to, `size` the size of the blob in bytes. Where the blob is not
    the text itself (UTF-16), `place` takes an offset in the text to the one in the blob.
    """
    newlines = np.flatnonzero(np.frombuffer(text, dtype=np.uint8) == _NEWLINE)
    starts = [chunk.start for chunk in chunks]
    ends = [chunk.end for chunk in chunks]
    first = np.searchsorted(newlines, starts).tolist()
    last = np.searchsorted(newlines, [end - 1 for end in ends]).tolist()
    if place is not None:
        starts, ends = [place(start) for start in starts], [place(end) for end in ends]
    fields = (
        size,
        len(newlines) + (bool(text) and not text.endswith(b"\n")),
        _gaps(starts),
        [end - start for start, end in zip(starts, ends, strict=True)],
        _gaps(first),
        [end - start for start, end in zip(first, last, strict=True)],
        bytes(_KIND_NUMBERS[chunk.kind] | (TEST if chunk.is_test else 0) for chunk in chunks),
        [chunk.symbol for chunk in chunks],
        [list(chunk.names) for chunk in chunks],
    )
    packed: bytes = msgpack.packb(fields, unicode_errors="surrogatepass")
    return packed


def decode_record(data: bytes) -> Record:
    """Raises `Damaged` for bytes that are no record."""
    try:
        size, lines, starts, lengths, firsts, spans, kinds, symbols, names = msgpack.unpackb(
            data, unicode_errors="surrogatepass"
        )
        places = zip(accumulate(starts), lengths, accumulate(firsts), spans, strict=True)
        positions = [
            Position(start, start + length, line + 1, line + span + 1) for start, length, line, span in places
        ]
        if not (len(positions) == len(kinds) == len(symbols) == len(names)) or (
            positions and positions[-1].end > size
        ):
            raise Damaged("a document record does not fit its blob")
        return Record(
            size,
            lines,
            positions,
            [KINDS[kind & ~TEST] for kind in kinds],
            [bool(kind & TEST) for kind in kinds],
            symbols,
            names,
        )
    except (ValueError, TypeError, IndexError, msgpack.UnpackException) as error:
        raise Damaged(f"a document record cannot be read: {error}") from error


def decode_chunk(data: bytes, place: int) -> tuple[Position, str, str, bool]:
    """Position, symbol, kind and whether it is a test, of one chunk. Raises `Damaged`."""
    try:
        _, _, starts, lengths, firsts, spans, kinds, symbols, _ = msgpack.unpackb(
            data, unicode_errors="surrogatepass"
        )
        start, line = sum(starts[: place + 1]), sum(firsts[: place + 1]) + 1
        position = Position(start, start + lengths[place], line, line + spans[place])
        return position, symbols[place], KINDS[kinds[place] & ~TEST], bool(kinds[place] & TEST)
    except (ValueError, TypeError, IndexError, msgpack.UnpackException) as error:
        raise Damaged(f"a document record cannot be read: {error}") from error


def _gaps(values: list[int]) -> list[int]:
    return [later - earlier for earlier, later in pairwise([0, *values])]
