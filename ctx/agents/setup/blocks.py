"""Blocks of lines between two sentinel lines: append to a text, find, replace and remove.

Used for instructions (Markdown) and for TOML, where a table may be appended to any file.
"""

from __future__ import annotations

import sys
from typing import NamedTuple

from ctx.agents.setup.jsonc import Unreadable

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


class Sentinels(NamedTuple):
    """Lines before and after a block."""

    start: str
    end: str


MARKDOWN = Sentinels("<!-- git-ctx-instructions-start -->", "<!-- git-ctx-instructions-end -->")
TOML = Sentinels("# git-ctx-start", "# git-ctx-end")


class Found(NamedTuple):
    """Position of a block, from its first sentinel to the end of the line of its last one, and its body."""

    start: int
    end: int
    body: str


def find(text: str, sentinels: Sentinels) -> Found | None:
    """Return the block in a text, None if it has none. Raises Unreadable if its sentinels were edited."""
    lines, place = [], 0
    for line in text.splitlines(keepends=True):
        sign = line.strip("\ufeff \t\r\n")
        if sign in sentinels:
            lines.append((place + line.index(sign), place + len(line), sign))
        place += len(line)
    if not lines:
        return None
    if [sign for _, _, sign in lines] != list(sentinels):
        raise Unreadable(f"the lines {sentinels.start} and {sentinels.end} of git-ctx were edited")
    (start, inner, _), (last, end, _) = lines
    return Found(start, end, text[inner:last].replace("\r\n", "\n").rstrip("\n"))


def _existing(text: str, sentinels: Sentinels) -> Found:
    found = find(text, sentinels)
    if found is None:
        raise Unreadable("the block of git-ctx is no longer there")
    return found


def put(text: str, sentinels: Sentinels, body: str) -> tuple[str, str]:
    """Append a block; return the new text and the line breaks put before the block to separate it."""
    eol = "\r\n" if "\r\n" in text else "\n"
    before = ""
    if text.strip("\ufeff"):
        before = ("" if text.endswith("\n") else eol) + ("" if text.endswith((eol * 2, "\n\n")) else eol)
    return text + before + _lines(sentinels, body, eol), before


def replace(text: str, sentinels: Sentinels, body: str) -> str:
    """Return a text with the body of its block replaced. Raises Unreadable."""
    found = _existing(text, sentinels)
    eol = "\r\n" if "\r\n" in text else "\n"
    lines = _lines(sentinels, body, eol)
    if not text[found.start : found.end].endswith("\n"):
        lines = lines.removesuffix(eol)
    return text[: found.start] + lines + text[found.end :]


def take(text: str, sentinels: Sentinels, before: str | None) -> str:
    """Return a text without its block and without the line breaks put before it. Raises Unreadable."""
    found = _existing(text, sentinels)
    head, tail = text[: found.start], text[found.end :]
    if before is None:
        before = "\r\n" if head.endswith("\r\n\r\n") else "\n" if head.endswith("\n\n") else ""
    return head.removesuffix(before) + tail


def read_toml(text: str) -> dict[str, object]:
    """Parse a TOML text. Raises Unreadable."""
    try:
        return tomllib.loads(text.removeprefix("\ufeff"))
    except tomllib.TOMLDecodeError as error:
        raise Unreadable(str(error)) from None


def _lines(sentinels: Sentinels, body: str, eol: str) -> str:
    return f"{sentinels.start}\n{body}\n{sentinels.end}\n".replace("\n", eol)
