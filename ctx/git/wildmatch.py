"""git's wildcard patterns as compiled expressions over bytes.

One translation serves pathspecs and attribute files. The rules are those of wildmatch, described in
gitglossary(7) under "pathspec" and in gitignore(5): `*`, `?`, `[…]` with ranges and POSIX classes, backslash,
and, where `/` is special, `**` as a whole path component. A malformed pattern matches nothing.

Matching takes polynomial time for any pattern: a wildcard that is followed by one at least as wide takes its
first fit without backtracking.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache

Matcher = Callable[[bytes], bool]

_LONGEST = 4096
"""Bytes; a longer pattern counts as malformed.

No system checks out such a path, and compiling it takes seconds.
"""
_NOTHING = rb"(?!)"
_CLASSES = {
    b"alnum": rb"0-9A-Za-z",
    b"alpha": rb"A-Za-z",
    b"blank": rb" \t",
    b"cntrl": rb"\x00-\x1f\x7f",
    b"digit": rb"0-9",
    b"graph": rb"!-~",
    b"lower": rb"a-z",
    b"print": rb" -~",
    b"punct": rb"!-/:-@\[-`{-~",
    b"space": rb" \t\n\r",
    b"upper": rb"A-Z",
    b"xdigit": rb"0-9A-Fa-f",
}
_BYTES = bytes(range(256))
_LOWER = _BYTES.lower()


class MalformedError(Exception):
    """The pattern can match nothing: an open bracket, an unknown class, a lone backslash at the end."""


def literal_length(pattern: bytes) -> int:
    """Return the number of literal bytes at the start of a pattern."""
    found = re.search(rb"[*?\[\\]", pattern)
    return found.start() if found else len(pattern)


@lru_cache(maxsize=4096)
def compile_pattern(pattern: bytes, *, slash_is_special: bool, ignore_case: bool = False) -> Matcher:
    """Return a function that is True if a whole path matches.

    `slash_is_special`: `*` and `?` stop at `/`, and `**` between slashes spans directories (`WM_PATHNAME`).
    """
    try:
        if len(pattern) > _LONGEST:
            raise MalformedError
        expression = _expression(pattern, slash_is_special, ignore_case)
    except MalformedError:
        expression = _NOTHING
    found = re.compile(expression, re.DOTALL).fullmatch
    return lambda path: found(path) is not None


def _expression(pattern: bytes, slash: bool, ignore_case: bool) -> bytes:
    """Return the regular expression. It is split at each wide wildcard (one that crosses `/`) into units.

    A unit with its wide wildcard in front is tried at its first fit only, because the next wide wildcard
    matches whatever lies between; within a unit the same holds for all narrow wildcards but the last one.
    """
    units: list[tuple[bytes, list[bytes]]] = [(b"", [b""])]  # the prefix, pieces between narrow `*`
    at = 0
    while at < len(pattern):
        byte = pattern[at : at + 1]
        if byte == b"*":
            end = len(pattern) - len(pattern[at:].lstrip(b"*"))
            lead, at = _star(pattern, at, end, slash)
            if lead is None:
                units[-1][1].append(b"")
            else:
                units.append((lead, [b""]))
            continue
        piece, at = _single(pattern, at, slash, ignore_case)
        units[-1][1][-1] += piece
    parts: list[bytes] = []
    groups = 0
    for number, (lead, pieces) in enumerate(units):
        fits = [pieces[0]]
        for place, piece in enumerate(pieces[1:], 2):
            fit = rb"[^/]*?" + piece
            if place < len(pieces):  # another narrow star follows: the first fit is the best one
                groups += 1
                fit = _once(fit, groups)
            fits.append(fit)
        body = lead + b"".join(fits)
        if 0 < number < len(units) - 1:
            groups += 1
            body = _once(body, groups)
        parts.append(body)
    return b"".join(parts)


def _once(expression: bytes, group: int) -> bytes:
    """Return the expression without backtracking: emulates an atomic group for Python before 3.11."""
    return rb"(?=(?P<g%d>%s))(?P=g%d)" % (group, expression, group)


def _star(pattern: bytes, start: int, end: int, slash: bool) -> tuple[bytes | None, int]:
    """Return the expression for a run of stars, None for a narrow one, and the end of the run."""
    if not slash:
        return rb".*?", end
    opens = start == 0 or pattern[start - 1 : start] == b"/"
    if end - start < 2 or not opens:
        return None, end
    rest = pattern[end : end + 2]
    if not rest:
        return rb".*?", end
    if rest[:1] == b"/":
        return rb"(?:.*?/)??", end + 1
    if rest == rb"\/":
        return rb".*?", end
    return None, end


def _single(pattern: bytes, at: int, slash: bool, ignore_case: bool) -> tuple[bytes, int]:
    """Return the expression for one byte of a path, and the end of its pattern."""
    byte = pattern[at : at + 1]
    if byte == b"?":
        return (rb"[^/]" if slash else rb"."), at + 1
    if byte == b"[":
        return _bracket(pattern, at + 1, slash, ignore_case)
    code, end = _code(pattern, at)
    letter = bytes([code])
    if ignore_case and letter.isupper() and byte == b"\\":
        return _NOTHING, end  # git lowers the path but not an escaped letter
    return (rb"(?i:%s)" % letter if ignore_case and letter.isalpha() else re.escape(letter)), end


def _code(pattern: bytes, at: int) -> tuple[int, int]:
    """Return a literal byte, which may follow a backslash, and the end of its pattern."""
    at += pattern[at : at + 1] == b"\\"
    if at >= len(pattern):
        raise MalformedError
    return pattern[at], at + 1


def _bracket(pattern: bytes, at: int, slash: bool, ignore_case: bool) -> tuple[bytes, int]:
    """Return a bracket expression as the set of bytes that it matches, and its end."""
    negated = pattern[at : at + 1] in (b"!", b"^")
    at += negated
    start = at
    allowed: set[int] = set()
    previous = -1  # the byte that a range may start with
    while at == start or pattern[at : at + 1] != b"]":
        if pattern[at : at + 1] == b"-" and previous >= 0 and pattern[at + 1 : at + 2] not in (b"", b"]"):
            last, at = _code(pattern, at + 1)
            span = range(previous, last + 1)
            allowed.update(span)
            if ignore_case:
                allowed.update(_LOWER[code] for code in span)
            previous = -1
        elif pattern[at : at + 2] == b"[:":
            end = pattern.find(b"]", at + 2)
            if end < 0:
                raise MalformedError
            if end == at + 2 or pattern[end - 1 : end] != b":":
                allowed.add(ord("["))  # not a class: an ordinary bracket
                previous, at = ord("["), at + 1
                continue
            name = pattern[at + 2 : end - 1]
            if name not in _CLASSES:
                raise MalformedError
            allowed.update(b"".join(re.findall(b"[%s]" % _CLASSES[name], _BYTES)))
            if ignore_case and name == b"upper":
                allowed.update(range(ord("a"), ord("z") + 1))
            previous, at = -1, end + 1
        else:
            previous, at = _code(pattern, at)
            allowed.add(previous)
    if ignore_case:  # git lowers the byte of the path before it looks into the bracket
        allowed = {code for code in range(256) if _LOWER[code] in allowed}
    matching = {
        code for code in range(256) if (code in allowed) != negated and not (slash and code == ord("/"))
    }
    return (
        b"[%s]" % b"".join(rb"\x%02x" % code for code in sorted(matching)) if matching else _NOTHING
    ), at + 1
