"""Formatting a path of the repository for display: relative to a directory, and quoted."""

from __future__ import annotations

import os
import re

from ctx.text.escaping import UNSAFE

UNPRINTABLE = re.compile(rf'[\t"\\{UNSAFE}]')
SHORT_ESCAPES = {
    "\a": "a",
    "\b": "b",
    "\t": "t",
    "\n": "n",
    "\v": "v",
    "\f": "f",
    "\r": "r",
    '"': '"',
    "\\": "\\",
}


def from_here(path: bytes, prefix: bytes) -> bytes:
    """Return a path from the root relative to the directory `prefix` (`git --relative`)."""
    return os.path.relpath(b"/" + path, b"/" + prefix) if prefix else path


def quoted(path: bytes) -> str:
    """Return a path as git prints it with core.quotePath=false: in C quotes if it holds special bytes.

    Characters that control a terminal are quoted too, which git prints unchanged.
    """
    text = path.decode("utf-8", "surrogateescape")
    if not UNPRINTABLE.search(text):
        return text
    return '"' + UNPRINTABLE.sub(escaped, text) + '"'


def escaped(found: re.Match[str]) -> str:
    """Return one special character as a C escape."""
    character = found.group()
    if character in SHORT_ESCAPES:
        return "\\" + SHORT_ESCAPES[character]
    return "".join(f"\\{byte:03o}" for byte in character.encode("utf-8", "surrogateescape"))
