"""Formatting places for display: paths relative to a directory and quoted, and citations."""

from __future__ import annotations

import os
import re

from ctx.text.escaping import UNSAFE

_UNPRINTABLE = re.compile(rf'[\t"\\{UNSAFE}]')
_SHORT_ESCAPES = dict(zip('\a\b\t\n\v\f\r"\\', 'abtnvfr"\\', strict=True))

SHORT = 12
"""Digits of an id shown to users; shorter ids are accepted too."""


def citation(blob: str, first: int, last: int, digits: int | None = None) -> str:
    """Return the citation of some lines, with `digits` digits of the id, all by default."""
    return f"{blob[:digits]}:{first}-{last}"


def relative_path(path: str, prefix: bytes) -> str:
    """Return a path from the root relative to the directory `prefix` (`git --relative`)."""
    return os.path.relpath("/" + path, "/" + os.fsdecode(prefix)) if prefix else path


def quoted(path: str) -> str:
    """Return a path as git prints it with core.quotePath=false: in C quotes if it holds special bytes.

    Characters that control a terminal are quoted too, which git prints unchanged.
    """
    escaped = c_escape(path)
    return path if escaped == path else f'"{escaped}"'


def c_escape(text: str) -> str:
    """Return a text with its special characters as C escapes."""
    return _UNPRINTABLE.sub(_escape_character, text)


def _escape_character(match: re.Match[str]) -> str:
    character = match.group()
    if character in _SHORT_ESCAPES:
        return "\\" + _SHORT_ESCAPES[character]
    return "".join(f"\\{byte:03o}" for byte in character.encode("utf-8", "surrogateescape"))
