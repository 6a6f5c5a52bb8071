"""The structure of one document: its chunks without their text, as bytes.

A document is one blob read as one language. Its record is a function of these two and of the chunker's
version alone, holds no path and no source text, and is stored as it is in clusters and in segments.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import msgpack
import numpy as np

from ctx.errors import Damaged
from ctx.types import KINDS, Chunk, Position

TEST = 0x80
"""The bit of a stored kind that marks a test."""
_FIELDS = 9
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
        _gaps(starts, ends),
        _differences(starts, ends),
        _gaps(first, last),
        _differences(first, last),
        bytes(_KIND_NUMBERS[chunk.kind] | (TEST if chunk.is_test else 0) for chunk in chunks),
        _pack_symbols(chunks),
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
        positions = _positions(starts, lengths, firsts, spans)
        if not (len(positions) == len(kinds) == len(symbols) == len(names)) or (
            positions and positions[-1].end > size
        ):
            raise Damaged("a document record does not fit its blob")
        if not isinstance(lines, int) or not all(isinstance(name, str) for own in names for name in own):
            raise Damaged("a document record holds a value of a wrong type")
        return Record(
            size,
            lines,
            positions,
            [KINDS[kind & ~TEST] for kind in kinds],
            [bool(kind & TEST) for kind in kinds],
            _unpack_symbols(symbols, names),
            names,
        )
    except (ValueError, TypeError, IndexError, msgpack.UnpackException) as error:
        raise Damaged(f"a document record cannot be read: {error}") from error


class Measure(NamedTuple):
    """What the totals of a directory need of a record."""

    size: int
    lines: int
    chunks: int


def measure(data: bytes) -> Measure:
    """Size, lines and number of chunks, at a tenth of what decoding all of it costs. Raises `Damaged`."""
    try:
        size, lines, *_, kinds, _symbols, _names = msgpack.unpackb(data, unicode_errors="surrogatepass")
        if not (isinstance(size, int) and isinstance(lines, int) and isinstance(kinds, bytes)):
            raise Damaged("a document record holds a value of a wrong type")
        return Measure(size, lines, len(kinds))
    except (ValueError, TypeError, msgpack.UnpackException) as error:
        raise Damaged(f"a document record cannot be read: {error}") from error


def stored_kinds(data: bytes) -> bytes:
    """The kind of each chunk as it is stored, with the bit of tests. Raises `Damaged`."""
    try:
        _, _, _, _, _, _, kinds, _, _ = msgpack.unpackb(data, unicode_errors="surrogatepass")
        if not isinstance(kinds, bytes):
            raise Damaged("a document record holds a value of a wrong type")
        return kinds
    except (ValueError, TypeError, msgpack.UnpackException) as error:
        raise Damaged(f"a document record cannot be read: {error}") from error


def decode_chunk(data: bytes, place: int) -> tuple[Position, str, str, bool]:
    """Position, symbol, kind and whether it is a test, of one chunk. Raises `Damaged`.

    The names come last and are most of a record. Only those of one chunk are made into strings.
    """
    try:
        fields = msgpack.Unpacker(max_buffer_size=max(1, len(data)), unicode_errors="surrogatepass")
        fields.feed(data)
        if fields.read_array_header() != _FIELDS:
            raise Damaged("a document record has other fields")
        fields.skip()  # size and
        fields.skip()  # lines of the document
        gaps, lengths, line_gaps, spans, kinds, symbols = [fields.unpack() for _ in range(6)]
        start = sum(gaps[: place + 1]) + sum(lengths[:place])
        first = sum(line_gaps[: place + 1]) + sum(spans[:place])
        position = Position(start, start + lengths[place], first + 1, first + spans[place] + 1)
        if not all(isinstance(value, int) for value in position):
            raise Damaged("a document record has places that are no whole numbers")
        symbol = _symbol_at(symbols, fields, place)
        return position, symbol, KINDS[kinds[place] & ~TEST], bool(kinds[place] & TEST)
    except (ValueError, TypeError, IndexError, msgpack.UnpackException) as error:
        raise Damaged(f"a document record cannot be read: {error}") from error


def _differences(starts: list[int], ends: list[int]) -> list[int]:
    return [end - start for start, end in zip(starts, ends, strict=True)]


def _gaps(starts: list[int], ends: list[int]) -> list[int]:
    """From the end of each chunk to the start of the next one."""
    return [start - end for start, end in zip(starts, [0, *ends], strict=False)]


def _positions(gaps: list[int], lengths: list[int], line_gaps: list[int], spans: list[int]) -> list[Position]:
    positions = []
    end = line = 0
    for gap, length, line_gap, span in zip(gaps, lengths, line_gaps, spans, strict=True):
        start, first = end + gap, line + line_gap
        end, line = start + length, first + span
        positions.append(Position(start, end, first + 1, line + 1))
    if not (isinstance(end, int) and isinstance(line, int)):  # a fraction anywhere makes the sum one
        raise Damaged("a document record has places that are no whole numbers")
    return positions


_SAME_SYMBOL = 0
_SAME_PREFIX = 1


def _pack_symbols(chunks: list[Chunk]) -> list[int | str | bytes]:
    """Symbols without what the names or the chunk before say already.

    0: the symbol of the chunk before. 1: its prefix and the chunk's first name. Bytes: a new prefix (UTF-8),
    before the first name. A string: the whole symbol, which has no prefix.
    """
    packed: list[int | str | bytes] = []
    symbol, prefix = "", ""
    for chunk in chunks:
        name = chunk.names[0] if chunk.names else ""
        if chunk.symbol == symbol:
            packed.append(_SAME_SYMBOL)
            continue
        symbol = chunk.symbol
        if not name or not symbol.endswith(name):
            packed.append(symbol)
            prefix = ""
        elif symbol == prefix + name:
            packed.append(_SAME_PREFIX)
        else:
            prefix = symbol[: -len(name)]
            packed.append(prefix.encode("utf-8", "surrogatepass"))
    return packed


def _symbol_at(packed: list[int | str | bytes], names: msgpack.Unpacker, place: int) -> str:
    """The symbol of one chunk, read backwards from it; the list of names is what comes next in `names`."""
    while place >= 0 and packed[place] == _SAME_SYMBOL:
        place -= 1
    if place < 0:
        return ""
    value = packed[place]
    if isinstance(value, str):
        return value
    before = place
    while before >= 0 and isinstance(packed[before], int):
        before -= 1
    prefix = packed[before] if before >= 0 else b""
    if place >= names.read_array_header():
        raise Damaged("a document record has fewer names than symbols")
    for _ in range(place):
        names.skip()
    name: str = names.unpack()[0]
    return (prefix.decode("utf-8", "surrogatepass") if isinstance(prefix, bytes) else "") + name


def _unpack_symbols(packed: list[int | str | bytes], names: list[list[str]]) -> list[str]:
    symbols = []
    symbol, prefix = "", ""
    for value, own in zip(packed, names, strict=True):
        if isinstance(value, str):
            symbol, prefix = value, ""
        elif value != _SAME_SYMBOL:
            if isinstance(value, bytes):
                prefix = value.decode("utf-8", "surrogatepass")
            symbol = prefix + own[0]
        symbols.append(symbol)
    return symbols
