"""Source files of a pack, read on demand and cached as lines, within a memory limit."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from hashlib import blake2b
from typing import TYPE_CHECKING

from ctx.pack.excerpts import LONGEST_LINE
from ctx.pack.outline import Outline, outline
from ctx.pack.types import SOURCE_MEMORY, Lines
from ctx.text.contents import to_text

if TYPE_CHECKING:
    from tree_sitter import Tree

    from ctx.chunking.grammars import Parse
    from ctx.chunking.rules import Grammar

MOST_BYTES = 64 << 20
"""Maximum bytes of all cached files."""


class Source:
    """A file: its digest (BLAKE2b, 32 bytes, hexadecimal), its lines without line ends, its outline."""

    def __init__(self, content: bytes, language: str | None, parse: Parse | None = None) -> None:
        self._content = content
        self._language = language
        self._parse = parse
        self.digest = blake2b(content, digest_size=32).hexdigest()
        text = to_text(content, 0, len(content)).replace("\r\n", "\n").removesuffix("\r")
        lines = text.split("\n")
        if not lines[-1]:
            lines.pop()
        self.lines = tuple(lines)

    @cached_property
    def outline(self) -> Outline:
        """Definitions by syntax; parsing is most of the cost of a file."""
        return outline(self._content, self._language, self._parse)


class Sources:
    """Cache of files; `read` returns the bytes of a blob or raises KeyError."""

    def __init__(self, read: Callable[[bytes], bytes], most: int = MOST_BYTES) -> None:
        self.read = read
        self._left = most
        self._found: dict[tuple[bytes, str | None], Source | str] = {}
        self._parsed: dict[tuple[bytes, str], tuple[Tree, Grammar] | None] = {}

    def parse(self, text: bytes, language: str) -> tuple[Tree, Grammar] | None:
        """Parse UTF-8 bytes, each text once: outline and edges need the same tree."""
        from ctx.chunking import grammars

        if (text, language) not in self._parsed:
            self._parsed[text, language] = grammars.parse(text, language)
        return self._parsed[text, language]

    def get(self, blob: bytes, language: str | None) -> Source | str:
        """Return a file, or the reason why it cannot be shown. Raises KeyError if the blob is missing."""
        known = self._found.get((blob, language))
        if known is None:
            known = self._found[blob, language] = self._make(blob, language)
        return known

    def _make(self, blob: bytes, language: str | None) -> Source | str:
        content = self.read(blob)
        if len(content) > self._left:
            return SOURCE_MEMORY
        self._left -= len(content)
        return Source(content, language, self.parse)


def text_of(source: Source, ranges: Sequence[Lines]) -> str | None:
    """Return the text of some ranges separated by `GAP`; None if a line is too long to show."""
    pieces = []
    for first, last in ranges:
        lines = source.lines[first - 1 : last]
        if any(len(line) > LONGEST_LINE for line in lines):
            return None
        pieces.append("\n".join(lines))
    return f"\n{GAP}\n".join(pieces)


GAP = "…"
"""Sign for omitted lines."""
