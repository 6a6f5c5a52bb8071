"""Split the bytes of one file into chunks.

`chunk` never fails: a file that cannot be parsed is split by lines. It is a pure function of its arguments.
"""

from __future__ import annotations

from ctx.chunking import documents, embedded
from ctx.chunking.lines import has_long_line, split_lines
from ctx.chunking.tiling import bounds, tile
from ctx.types import Chunk

VERSION = 4
"""Version of the structure layer: incremented whenever any chunk of any file would change."""


def chunk(source: bytes, language: str | None) -> list[Chunk]:
    """Split a file into self-contained chunks.

    `source` is UTF-8, or an ASCII-compatible encoding; `language` is the result of `language_of`. The chunks
    are sorted, do not overlap and contain every byte that is not ASCII white space. Raises nothing.
    """
    if language == "typescript" and source.startswith(b"<?xml"):
        language = "xml"  # Qt translations have the same extension
    if language in embedded.LANGUAGES:
        return tile(source, embedded.split_embedded(source, language, _split))
    return tile(source, _split(source, language))


def _split(source: bytes, language: str | None) -> list[Chunk]:
    """Return the chunks by their starts; `tile` sets their ends."""
    start, end = bounds(source)
    if start == end:
        return []
    if language in documents.LANGUAGES:
        return documents.split_document(source, language, start, end)
    if language is not None and not has_long_line(source):
        from ctx.chunking.grammars import parse
        from ctx.chunking.syntax import split_tree

        parsed = parse(source, language)
        if parsed is not None:
            tree, grammar = parsed
            return split_tree(source, tree.root_node, grammar, start, end)
    return [Chunk(a, b, "block", "", (), False) for a, b in split_lines(source, start, end)]


__all__ = ["VERSION", "chunk"]
