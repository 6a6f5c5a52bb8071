"""Names in double quotes with C escapes, as in git's own files."""

from __future__ import annotations

import re

_ESCAPES = {b"a": b"\a", b"b": b"\b", b"f": b"\f", b"n": b"\n", b"r": b"\r", b"t": b"\t", b"v": b"\v"}


def unquoted_argument(argument: bytes) -> bytes | None:
    """Unquote a path that was copied with its quotes; None if it has none, or invalid ones."""
    if not argument.startswith(b'"'):
        return None
    found = unquoted(argument)
    return found[0] if found is not None and not found[1] and found[0] else None


def unquoted(line: bytes) -> tuple[bytes, bytes] | None:
    """Return a name in double quotes with C escapes, and what follows it; None if a quote is missing."""
    name = bytearray()
    at = 1
    while at < len(line):
        byte = line[at : at + 1]
        at += 1
        if byte == b'"':
            return bytes(name), line[at:]
        if byte != b"\\":
            name += byte
            continue
        escape = line[at : at + 1]
        at += 1
        if escape in (b'"', b"\\"):
            name += escape
        elif escape in _ESCAPES:
            name += _ESCAPES[escape]
        elif re.fullmatch(rb"[0-3][0-7][0-7]", line[at - 1 : at + 2]):
            name.append(int(line[at - 1 : at + 2], 8))
            at += 2
        else:
            return None
    return None
