"""Files in which other languages lie between tags: HTML pages, Vue and Svelte components.

Scripts and styles are cut by their own grammars, the markup around them by its own.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from ctx.types import Chunk

LANGUAGES = frozenset({"html", "vue", "svelte", "astro"})
"""The languages whose scripts and styles are looked into."""

_BLOCK = re.compile(rb"<(script|style)\b([^>]*)>(.*?)</\1\s*>", re.DOTALL | re.IGNORECASE)
_TYPE = re.compile(rb"(?:lang|type)\s*=\s*[\"']?(?:text/|application/)?([\w+-]+)", re.IGNORECASE)
_TYPES = {
    b"ts": "typescript",
    b"typescript": "typescript",
    b"tsx": "tsx",
    b"js": "javascript",
    b"javascript": "javascript",
    b"module": "javascript",
    b"jsx": "javascript",
    b"babel": "javascript",
    b"json": "json",
    b"ld+json": "json",
    b"importmap": "json",
    b"css": "css",
    b"scss": "scss",
    b"less": "scss",
}
_DEFAULTS = {b"script": "javascript", b"style": "css"}
_LEAST = 400
"""A script or style below this many bytes stays with the markup around it."""

Split = Callable[[bytes, str], list[Chunk]]
"""Chunks of some source in some language, offsets from the beginning of that source."""


def split_embedded(source: bytes, language: str, split: Split) -> list[Chunk]:
    """Cut a file of one of `LANGUAGES`; tags go with the script or the style that they enclose."""
    pieces: list[Chunk] = []
    here = 0
    for block in _BLOCK.finditer(source):
        if block.end(3) - block.start(3) < _LEAST:
            continue
        declared = _TYPE.search(block.group(2))
        name = declared.group(1).lower() if declared else b""
        inner = _TYPES.get(name) if declared else _DEFAULTS[block.group(1).lower()]
        if inner is None:
            continue
        pieces += _shifted(split(source[here : block.start()], language), here, here)
        pieces += _shifted(split(block.group(3), inner), block.start(3), block.start())
        here = block.end()
    return pieces + _shifted(split(source[here:], language), here, here)


def _shifted(chunks: list[Chunk], offset: int, first: int) -> list[Chunk]:
    """Chunks of a part as chunks of the whole; the first one begins at `first`."""
    moved = [one._replace(start=one.start + offset, end=one.end + offset) for one in chunks]
    if moved:
        moved[0] = moved[0]._replace(start=first)
    return moved
