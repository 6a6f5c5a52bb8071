"""Which characters must not reach a terminal: they move the cursor, ring, or turn the writing."""

from __future__ import annotations

import re

UNSAFE = (
    "\\x00-\\x08\\x0a-\\x1f\\x7f-\\x9f"  # controls but the tab, C1 too
    "\\u061c\\u200e\\u200f\\u2028\\u2029\\u202a-\\u202e\\u2066-\\u2069"  # direction (UAX #9), line ends
    "\\ud800-\\udfff"  # halves of pairs, which stand for bytes that are not UTF-8
)
"""For the brackets of a regular expression."""
LONGEST_LINE = 300
"""A line is cut after so many characters."""

_UNSAFE = re.compile(f"[{UNSAFE}]")


def printable(text: str) -> str:
    """The text with each unsafe character as its picture (Unicode block Control Pictures), or U+FFFD."""
    return _UNSAFE.sub(_picture, text)


def printable_lines(text: str) -> str:
    """The same for a text of several lines, which stay apart."""
    return "\n".join(map(printable, text.split("\n")))


def harmless(line: str) -> str:
    """A line that may be printed: cut where it is endless, with control characters made visible.

    What a file holds must not move the cursor, ring, or turn the direction of writing.
    """
    if len(line) > LONGEST_LINE:
        line = line[:LONGEST_LINE] + "…"
    return printable(line.removesuffix("\r"))


def _picture(found: re.Match[str]) -> str:
    code = ord(found.group())
    return chr(0x2400 + code) if code < 0x20 else "\u2421" if code == 0x7F else "\ufffd"
