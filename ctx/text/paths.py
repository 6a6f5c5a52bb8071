"""How a path of the repository is written for eyes: from where, and with what quoting."""

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
    """A path from the root of the repository as seen from the directory `prefix` of it (`git --relative`)."""
    return os.path.relpath(b"/" + path, b"/" + prefix) if prefix else path


def quoted(path: bytes) -> str:
    """A path as git prints it with core.quotePath=false: in C quotes where it holds odd bytes.

    Characters that a terminal would obey count as odd, which git prints as they are.
    """
    text = path.decode("utf-8", "surrogateescape")
    if not UNPRINTABLE.search(text):
        return text
    return '"' + UNPRINTABLE.sub(escaped, text) + '"'


def escaped(found: re.Match[str]) -> str:
    """One odd character as an escape of C."""
    character = found.group()
    if character in SHORT_ESCAPES:
        return "\\" + SHORT_ESCAPES[character]
    return "".join(f"\\{byte:03o}" for byte in character.encode("utf-8", "surrogateescape"))
