"""Names in double quotes with C escapes, as in git's own files."""

from __future__ import annotations

import re

_QUOTED = re.compile(rb'"((?:[^"\\]|\\(?:["\\abfnrtv]|[0-3][0-7]{2}))*)"')
_ESCAPE = re.compile(rb"\\(?:([0-7]{3})|(.))")
_ESCAPES = {b"a": b"\a", b"b": b"\b", b"f": b"\f", b"n": b"\n", b"r": b"\r", b"t": b"\t", b"v": b"\v"}


def unquoted_argument(argument: bytes) -> bytes | None:
    """Unquote a path that was copied with its quotes; None if it has none, or invalid ones."""
    found = unquoted(argument)
    return found[0] if found and found[0] and not found[1] else None


def unquoted(line: bytes) -> tuple[bytes, bytes] | None:
    """Return a name in double quotes with C escapes, and what follows it; None if there is none."""
    found = _QUOTED.match(line)
    return found and (_ESCAPE.sub(_character, found[1]), line[found.end() :])


def _character(escape: re.Match[bytes]) -> bytes:
    digits, letter = escape.groups()
    return bytes([int(digits, 8)]) if digits else _ESCAPES.get(letter, letter)
