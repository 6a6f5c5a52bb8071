"""The structure of one document: its chunks without their text, as bytes.

A document is one blob read as one language. Its record depends only on these two and the chunker's version,
contains no path and no source text, and is stored unchanged in clusters and in segments.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import msgpack
import numpy as np

from ctx.errors import Damaged, Decoding
from ctx.types import KINDS, Chunk, Position

TEST = 0x80
"""Bit of a stored kind that marks a test."""
CONTINUES = 0x40
"""Bit of a stored kind that marks a further piece of the definition that the chunk before begins."""
KIND = 0x3F
"""Bits of a stored kind that are an index into `ctx.types.KINDS`."""
_FIELDS = 9
_NEWLINE = 10
_KIND_NUMBERS = {kind: number for number, kind in enumerate(KINDS)}


class Record(NamedTuple):
    """A decoded record. The lists have one item for each chunk, in order of position."""

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
    """Return the record of a document as bytes.

    The chunks' offsets refer to `text`; `size` is the size of the blob in bytes. If the blob is not the text
    itself (UTF-16), `place` maps an offset in the text to one in the blob.
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
        stored_kinds(chunks),
        _pack_symbols(chunks),
        [list(chunk.names) for chunk in chunks],
    )
    packed: bytes = msgpack.packb(fields, unicode_errors="surrogatepass")
    return packed


def stored_kinds(chunks: Sequence[Chunk]) -> bytes:
    """Return the stored kind of each chunk of a document: its number, `TEST` and `CONTINUES`."""
    kinds = bytearray()
    symbol = ""
    for chunk in chunks:
        continues = bool(chunk.symbol) and chunk.symbol == symbol and not chunk.names
        symbol = chunk.symbol
        kinds.append(
            _KIND_NUMBERS[chunk.kind] | (TEST if chunk.is_test else 0) | (CONTINUES if continues else 0)
        )
    return bytes(kinds)


@Decoding("a document record")
def decode_record(data: bytes) -> Record:
    """Return a decoded record. Raises `Damaged`."""
    size, lines, starts, lengths, firsts, spans, kinds, symbols, names = msgpack.unpackb(
        data, unicode_errors="surrogatepass"
    )
    _check_places(size, lines, starts, lengths, firsts, spans)
    if not (
        isinstance(kinds, bytes)
        and isinstance(symbols, list)
        and isinstance(names, list)
        and set(map(type, names)) <= {list}
        and all(isinstance(name, str) for own in names for name in own)
    ):
        raise Damaged("a document record holds a value of a wrong type")
    positions = _positions(starts, lengths, firsts, spans)
    if not len(positions) == len(kinds) == len(symbols) == len(names):
        raise Damaged("a document record has lists of different lengths")
    return Record(
        size,
        lines,
        positions,
        [KINDS[kind & KIND] for kind in kinds],
        [bool(kind & TEST) for kind in kinds],
        _unpack_symbols(symbols, names),
        names,
    )


class Summary(NamedTuple):
    """Size and lines of a document, and the stored kind of each chunk, including its bits."""

    size: int
    lines: int
    kinds: bytes


@Decoding("a document record")
def summarize(data: bytes) -> Summary:
    """Return the summary of a record, at a tenth of the cost of decoding. Raises `Damaged`."""
    size, lines, *_, kinds, _symbols, _names = msgpack.unpackb(data, unicode_errors="surrogatepass")
    _check_size(size, lines)
    if not isinstance(kinds, bytes):
        raise Damaged("a document record holds a value of a wrong type")
    return Summary(size, lines, kinds)


class StoredChunk(NamedTuple):
    """One chunk of a record, and the definition that it is a piece of.

    `head` is the position of the piece that begins the definition, `last_line` the definition's last line.
    """

    position: Position
    symbol: str
    kind: str
    is_test: bool
    head: Position
    last_line: int


@Decoding("a document record", msgpack.UnpackException)
def decode_chunk(data: bytes, place: int) -> StoredChunk:
    """Return one chunk. Raises `Damaged`.

    The names come last and are most of a record; only those of one chunk are decoded.
    """
    fields = msgpack.Unpacker(max_buffer_size=max(1, len(data)), unicode_errors="surrogatepass")
    fields.feed(data)
    if fields.read_array_header() != _FIELDS:
        raise Damaged("a document record does not have nine fields")
    size, lines, gaps, lengths, line_gaps, spans, kinds, symbols = [fields.unpack() for _ in range(8)]
    _check_places(size, lines, gaps, lengths, line_gaps, spans)
    if not (isinstance(kinds, bytes) and isinstance(symbols, list)):
        raise Damaged("a document record holds a value of a wrong type")

    def position_of(place: int) -> Position:
        start = sum(gaps[: place + 1]) + sum(lengths[:place])
        first = sum(line_gaps[: place + 1]) + sum(spans[:place])
        return Position(start, start + lengths[place], first + 1, first + spans[place] + 1)

    head = last = place
    while head and kinds[head] & CONTINUES:
        head -= 1
    while last + 1 < len(kinds) and kinds[last + 1] & CONTINUES:
        last += 1
    symbol = _symbol_at(symbols, fields, place)
    position, kind = position_of(place), KINDS[kinds[head] & KIND]
    return StoredChunk(
        position, symbol, kind, bool(kinds[place] & TEST), position_of(head), position_of(last).end_line
    )


def _differences(starts: list[int], ends: list[int]) -> list[int]:
    return [end - start for start, end in zip(starts, ends, strict=True)]


def _gaps(starts: list[int], ends: list[int]) -> list[int]:
    """Return the distance from the end of each chunk to the start of the next one."""
    return [start - end for start, end in zip(starts, [0, *ends], strict=False)]


def _positions(gaps: list[int], lengths: list[int], line_gaps: list[int], spans: list[int]) -> list[Position]:
    positions = []
    end = line = 0
    for gap, length, line_gap, span in zip(gaps, lengths, line_gaps, spans, strict=True):
        start, first = end + gap, line + line_gap
        end, line = start + length, first + span
        positions.append(Position(start, end, first + 1, line + 1))
    return positions


def _check_places(size: Any, lines: Any, gaps: Any, lengths: Any, line_gaps: Any, spans: Any) -> None:
    """Raise `Damaged` unless the chunks are in order and within the bytes and lines of the blob."""
    _check_size(size, lines)
    columns = (gaps, lengths, line_gaps, spans)
    if any(not isinstance(column, list) or not set(map(type, column)) <= {int} for column in columns):
        raise Damaged("a document record has positions that are not integers")
    if not len(gaps) == len(lengths) == len(line_gaps) == len(spans):
        raise Damaged("a document record has lists of different lengths")
    # Chunks may share a line, but no byte.
    if gaps and (
        min(gaps) < 0
        or min(lengths) < 1
        or min(line_gaps) < 0
        or min(spans) < 0
        or sum(gaps) + sum(lengths) > size
        or sum(line_gaps) + sum(spans) >= lines
    ):
        raise Damaged("a document record has chunks outside its blob")


def _check_size(size: Any, lines: Any) -> None:
    """Raise `Damaged` unless a blob can have these numbers of bytes and lines."""
    if not (type(size) is int and type(lines) is int and 0 <= lines <= size):
        raise Damaged("a document record has an impossible size or number of lines")


_SAME_SYMBOL = 0
_SAME_PREFIX = 1
_MOST_LETTERS = 64 << 20
"""Maximum length of all symbols of a document together: one long prefix can precede many names."""


def _pack_symbols(chunks: list[Chunk]) -> list[int | str | bytes]:
    """Return the symbols without parts that the names or the previous chunk have already.

    0: the previous symbol. 1: the previous prefix and the chunk's first name. Bytes: a new prefix (UTF-8),
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
    """Return the symbol of one chunk, read backwards from it; `names` is positioned at the list of names."""
    while place >= 0 and packed[place] == _SAME_SYMBOL:
        place -= 1
    if place < 0:
        return ""
    value = packed[place]
    if isinstance(value, str):
        return value
    if value != _SAME_PREFIX and not isinstance(value, bytes):
        raise Damaged("a document record has an invalid symbol")
    before = place
    while before >= 0 and isinstance(packed[before], int):
        before -= 1
    prefix = packed[before] if before >= 0 else b""
    if place >= names.read_array_header():
        raise Damaged("a document record has fewer names than symbols")
    for _ in range(place):
        names.skip()
    own = names.unpack()
    if not (isinstance(own, list) and isinstance(own[0], str)):
        raise Damaged("a document record has an invalid name")
    name: str = own[0]
    return (prefix.decode("utf-8", "surrogatepass") if isinstance(prefix, bytes) else "") + name


def _unpack_symbols(packed: list[int | str | bytes], names: list[list[str]]) -> list[str]:
    symbols = []
    symbol, prefix = "", ""
    letters = 0
    for value, own in zip(packed, names, strict=True):
        if isinstance(value, str):
            symbol, prefix = value, ""
        elif value != _SAME_SYMBOL:
            if value != _SAME_PREFIX and not isinstance(value, bytes):
                raise Damaged("a document record has an invalid symbol")
            if isinstance(value, bytes):
                prefix = value.decode("utf-8", "surrogatepass")
            letters += len(prefix) + len(own[0])
            if letters > _MOST_LETTERS:
                raise Damaged("a document record has symbols that are longer than any blob")
            symbol = prefix + own[0]
        symbols.append(symbol)
    return symbols
