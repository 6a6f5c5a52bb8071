"""Files with other languages between tags: HTML pages, Vue and Svelte components.

Scripts and styles are split by their own grammars, the markup around them by its own.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from ctx.types import Chunk

LANGUAGES = frozenset({"html", "vue", "svelte", "astro"})
"""Languages whose scripts and styles are split separately."""

_OPENING = re.compile(rb"<(script|style)\b", re.IGNORECASE)
_CLOSING = {
    b"script": re.compile(rb"</script\s*>", re.IGNORECASE),
    b"style": re.compile(rb"</style\s*>", re.IGNORECASE),
}
_TYPE = re.compile(rb"(?:lang|type)\s*=\s*[\"']?(?:text/|application/)?([\w+-]+)", re.IGNORECASE)
_TYPES = {
    name: language
    for language, names in {
        "typescript": b"ts typescript",
        "tsx": b"tsx",
        "javascript": b"js javascript module jsx babel",
        "json": b"json ld+json importmap",
        "css": b"css",
        "scss": b"scss less",
    }.items()
    for name in names.split()
}
_DEFAULTS = {b"script": "javascript", b"style": "css"}
_LEAST = 400
"""A script or style below this many bytes stays with the markup around it."""


Split = Callable[[bytes, str], list[Chunk]]
"""Return the chunks of some source in some language, with offsets from the beginning of that source."""


def split_embedded(source: bytes, language: str, split: Split) -> list[Chunk]:
    """Split a file in one of `LANGUAGES`; tags go with the script or the style that they enclose."""
    pieces: list[Chunk] = []
    here = 0
    for opening, inner, closing in _blocks(source):
        if closing.start() - inner < _LEAST:
            continue
        declared = _TYPE.search(source, opening.end(), inner - 1)
        inner_language = _TYPES.get(declared[1].lower()) if declared else _DEFAULTS[opening[1].lower()]
        if inner_language is None:
            continue
        pieces += _shifted(split(source[here : opening.start()], language), here, here)
        pieces += _shifted(split(source[inner : closing.start()], inner_language), inner, opening.start())
        here = closing.end()
    return pieces + _shifted(split(source[here:], language), here, here)


def _blocks(source: bytes) -> Iterator[tuple[re.Match[bytes], int, re.Match[bytes]]]:
    """Yield the scripts and styles that are closed, in order: opening tag, start of the text, closing tag.

    A search for a missing closing tag goes to the end of the file once, not from each opening tag.
    """
    unclosed: set[bytes] = set()
    here = inner = 0
    while (opening := _OPENING.search(source, here)) is not None:
        tag = opening[1].lower()
        if inner <= opening.end():  # else the bracket that was found last closes this tag too
            inner = source.find(b">", opening.end()) + 1
        if inner == 0:
            return
        closing = None if tag in unclosed else _CLOSING[tag].search(source, inner)
        if closing is None:
            unclosed.add(tag)
            here = opening.end()
            continue
        yield opening, inner, closing
        here = closing.end()


def _shifted(chunks: list[Chunk], offset: int, first: int) -> list[Chunk]:
    """Return chunks of a part as chunks of the whole; the first one begins at `first`."""
    moved = [one._replace(start=one.start + offset, end=one.end + offset) for one in chunks]
    if moved:
        moved[0] = moved[0]._replace(start=first)
    return moved
