"""Escaping characters that must not reach a terminal: they move the cursor, ring, or change the direction."""

from __future__ import annotations

import re

UNSAFE = (
    "\\x00-\\x08\\x0a-\\x1f\\x7f-\\x9f"  # C0 and C1 controls except the tab
    "\\u061c\\u200e\\u200f\\u2028\\u2029\\u202a-\\u202e\\u2066-\\u2069"  # bidi (UAX #9), line ends
    "\\ud800-\\udfff"  # surrogates: bytes that are not UTF-8
)
"""Character class for the brackets of a regular expression."""
LONGEST_LINE = 300
"""Characters after which a line is truncated."""

_UNSAFE = re.compile(f"[{UNSAFE}]")


def printable(text: str) -> str:
    """Replace each unsafe character by its picture (Unicode block Control Pictures), or U+FFFD."""
    return _UNSAFE.sub(_picture, text)


def printable_lines(text: str) -> str:
    """Replace the unsafe characters of a text of several lines, except the line breaks."""
    return "\n".join(map(printable, text.split("\n")))


def harmless(line: str) -> str:
    """Return a line that is safe to print: truncated, with control characters made visible.

    The content of a file must not move the cursor, ring, or change the direction of writing.
    """
    if len(line) > LONGEST_LINE:
        line = line[:LONGEST_LINE] + "…"
    return printable(line.removesuffix("\r"))


def _picture(found: re.Match[str]) -> str:
    code = ord(found.group())
    return chr(0x2400 + code) if code < 0x20 else "\u2421" if code == 0x7F else "\ufffd"
