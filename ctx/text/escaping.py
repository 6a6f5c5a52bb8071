"""Characters that must not reach a terminal or an agent: they move the cursor, reorder text or hide in it."""

from __future__ import annotations

import re

UNSAFE = (
    "\\x00-\\x08\\x0a-\\x1f\\x7f-\\x9f"  # controls but the tab, C1 too
    "\\u061c\\u200e\\u200f\\u2028\\u2029\\u202a-\\u202e\\u2066-\\u2069"  # direction (UAX #9), line ends
    # Characters without a width: names that look the same could differ, and text could be hidden from people.
    "\\u00ad\\u034f\\u115f\\u1160\\u17b4\\u17b5\\u180b-\\u180f\\u200b-\\u200d\\u2060-\\u2065\\u206a-\\u206f\\u3164\\ufeff"
    "\\uffa0\\ufff0-\\ufffb\\U0001bca0-\\U0001bca3\\U0001d173-\\U0001d17a\\U000e0000-\\U000e0fff"
    "\\ud800-\\udfff"  # halves of pairs, which stand for bytes that are not UTF-8
)
"""Character class for the brackets of a regular expression."""
LONGEST_LINE = 300
"""Characters after which a line is truncated."""

_UNSAFE = re.compile(f"[{UNSAFE}]")
_JOINED = re.compile("(?<=[^\\x00-\\x7f])([\\u200c\\u200d])(?=[^\\x00-\\x7f])")
"""Joiners where scripts and emoji need them; text loses its meaning without."""


def escape_control(text: str) -> str:
    """Replace each unsafe character by its picture (Unicode block Control Pictures), or U+FFFD."""
    return _UNSAFE.sub(_picture, text)


def escape_control_lines(text: str) -> str:
    """Replace the unsafe characters of a text of several lines, except the line breaks."""
    return "\n".join(map(escape_control, text.split("\n")))


def display_line(line: str) -> str:
    """Return a line of a file for display: truncated if it is very long, unsafe characters made visible.

    Joiners that its script or an emoji needs stay.
    """
    if len(line) > LONGEST_LINE:
        line = line[:LONGEST_LINE] + "…"
    parts = _JOINED.split(line.removesuffix("\r"))
    return "".join(
        text + joiner
        for text, joiner in zip(map(escape_control, parts[::2]), [*parts[1::2], ""], strict=True)
    )


def _picture(found: re.Match[str]) -> str:
    code = ord(found.group())
    return chr(0x2400 + code) if code < 0x20 else "\u2421" if code == 0x7F else "\ufffd"
