"""The content of a blob: whether it is indexed, and how its text is decoded.

Offsets in the rest of git-ctx always refer to the unchanged blob. Nothing here depends on the origin of a
blob.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable, Iterator

BINARY = "binary"
IMAGE = "image"
"""SVG: text, but mostly coordinates, which are useless for search."""
TOO_LARGE = "too large"
LFS_POINTER = "lfs pointer"
ANNEX_POINTER = "annex pointer"
MINIFIED = "minified"
GENERATED = "generated"
EMPTY = "empty"
MISSING = "missing"
"""The blob is promised by a remote, or lost; it is not in this repository."""

MAX_SIZE = 1 << 20
"""Size in bytes of the largest file that is indexed."""

_PROBE = 8000
"""Bytes in which git looks for a NUL byte to detect a binary file (`buffer_is_binary`)."""
_POINTERS = (
    (b"version https://git-lfs.github.com/spec/", 1024, LFS_POINTER),
    (b"version https://hawser.github.com/spec/", 1024, LFS_POINTER),  # first name of git-lfs
    (b"/annex/objects/", 32768, ANNEX_POINTER),
)
_WIDE = (  # UTF-32 first: its little-endian mark begins with that of UTF-16
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)

_LONG_LINE = 1000
_VERY_LONG_LINE = 10_000
_LONG_MEAN = 200
_LICENCE_LINES = 40

_HEADER = 1024
"""Bytes at the start of a file in which generated files are marked."""
_BLOCKS = (
    (b"/*", b"*/"),
    (b"<!--", b"-->"),
    (b'"""', b'"""'),
    (b"'''", b"'''"),
    (b"(*", b"*)"),
    (b"{-", b"-}"),
)
_COMMENT = re.compile(
    rb"\s*(?://+!?|#+!?|/\*+!?|\*+|--+|;+|<!--|%+|\(\*|\{-|'''|\"\"\"|'|REM\b|dnl\b)\s*(.*)", re.IGNORECASE
)
_MARK = re.compile(
    rb"@generated\b"
    rb"|<auto-?generated\b"
    rb"|.*\b(?:auto-?|automatically )generated (?:by|from|with|using)\b"
    rb"|.*\bThis (?:file|code|class|module) (?:is|was|has been) (?:auto-?|auto |automatically )generated\b",
    re.IGNORECASE,
)
_WEAK_MARK = re.compile(rb".*\bgenerated\b", re.IGNORECASE)
"""A tool made the first draft (`gradle init`) or, with a ban on editing, makes every version."""
_NO_HANDS = re.compile(rb".*\bdo not (?:edit|modify|change)\b", re.IGNORECASE)
_PROSE = frozenset(("markdown", "rst", "asciidoc", "org"))
"""Languages of prose: a README updated by a tool is still searched."""
_CODE_BEFORE_HEADER = 2
"""Lines such as `<?php` and `package a;` that may precede the comment of a generator."""


def content_skip(blob: bytes, language: str | None = None) -> str | None:
    """Return why a blob is not indexed although its path is not excluded, or None.

    Depends only on content and language, so that equal files are treated equally.
    """
    if len(blob) > MAX_SIZE:
        return TOO_LARGE
    for start, longest, reason in _POINTERS:
        if len(blob) <= longest and blob.startswith(start):
            return reason
    if wide := _wide_encoding(blob):
        encoding, width = wide
        try:
            blob = blob[width:].decode(encoding).encode()
        except UnicodeError:
            return BINARY
    elif b"\0" in blob[:_PROBE]:
        return BINARY
    if (text := blob.removeprefix(codecs.BOM_UTF8)).isspace() or not text:
        return EMPTY
    if _is_minified(blob):
        return MINIFIED
    if language not in _PROSE and _is_marked_generated(blob[:_HEADER]):
        return GENERATED
    return None


def decode(blob: bytes) -> tuple[bytes, Callable[[int], int] | None]:
    """Return the bytes to parse, and a map from their offsets to those in the blob (None: the same).

    UTF-8 and all single-byte encodings are returned unchanged; UTF-16 and UTF-32 are converted to UTF-8.
    """
    wide = _wide_encoding(blob)
    if wide is None:
        return blob, None
    encoding, width = wide
    whole = len(blob) - len(blob) % width  # an incomplete character at the end is dropped
    octets = blob[width:whole].decode(encoding, "replace").encode()

    def offset_in_blob(offset: int) -> int:
        return width + len(octets[:offset].decode(errors="ignore").encode(encoding))

    return octets, offset_in_blob


def to_text(blob: bytes, start: int, end: int) -> str:
    """Return the text between two byte offsets of a blob, in any encoding."""
    piece = blob[start:end]
    if wide := _wide_encoding(blob):
        return piece.decode(wide[0], "replace").removeprefix("\ufeff")
    try:
        return piece.decode().removeprefix("\ufeff")
    except UnicodeDecodeError:
        return piece.decode("latin-1")


def _wide_encoding(blob: bytes) -> tuple[str, int] | None:
    """Return the UTF-16 or UTF-32 encoding of a blob, by its mark, and the length of mark and code unit."""
    return next(((encoding, len(mark)) for mark, encoding in _WIDE if blob.startswith(mark)), None)


def _is_minified(blob: bytes) -> bool:
    """Return True if most of the text is in lines too long to be written by hand.

    Paragraphs of prose are long lines too, but have frequent blanks; a line of ten thousand bytes is data,
    blanks or not.
    """
    lines = blob.split(b"\n")
    dense = len(blob) > max(_LONG_LINE, _LONG_MEAN * len(lines))
    if not dense and max(map(len, lines)) <= _LONG_LINE:
        return False
    least = _LONG_MEAN if dense else _LONG_LINE
    long = short_lines = 0
    for line in lines:
        blanks = line.count(b" ") + line.count(b"\t") if len(line) > least else 0
        if len(line) > _VERY_LONG_LINE or (len(line) > least and 10 * blanks < len(line)):
            long += len(line)
        elif line.strip():
            short_lines += 1
    # A source file with one long literal has many other lines; a bundle has at most a licence.
    return long * 10 > len(blob) * (9 if short_lines > _LICENCE_LINES else 5)


def _is_marked_generated(header: bytes) -> bool:
    """Return True if a comment at the top marks the file as generated."""
    if b"generated" not in header.lower():
        return False
    made = untouched = False
    for text in _comments(header.removeprefix(codecs.BOM_UTF8)):
        if _MARK.match(text):
            return True
        made = made or _WEAK_MARK.match(text) is not None
        untouched = untouched or _NO_HANDS.match(text) is not None
    return made and untouched


def _comments(header: bytes) -> Iterator[bytes]:
    """Yield the lines of the comments at the top of a file, without comment signs."""
    closing = b""  # the closing sign of the current block comment
    code = 0
    for line in header.split(b"\n"):
        text = line.strip()
        if closing:
            yield text.lstrip(b"*| \t")
            if closing in text:
                closing = b""
            continue
        comment = _COMMENT.match(text)
        if comment is not None:
            yield comment[1]
            closing = next((end for start, end in _BLOCKS if text.startswith(start)), b"")
            if closing and closing in text[2:]:
                closing = b""
        elif text:
            code += 1
            if code > _CODE_BEFORE_HEADER:
                return
