"""From the bytes of one file to its chunks.

`chunk` never fails: what cannot be parsed is cut by lines. It is a pure function of its arguments.
"""

from __future__ import annotations

from ctx.chunking.documents import LANGUAGES, split_document
from ctx.chunking.lines import split_lines
from ctx.chunking.tiling import bounds, tile
from ctx.values import Chunk

VERSION = 1
"""The version of the structure layer: raised whenever any chunk of any file would change."""


def chunk(source: bytes, language: str | None) -> list[Chunk]:
    """Cut a file into chunks that make sense alone.

    `source` is UTF-8, or bytes in which ASCII means itself; `language` is what `language_of` answered. The
    chunks are sorted, do not overlap and hold every byte that is not ASCII white space. Raises nothing.
    """
    start, end = bounds(source)
    if start == end:
        return []
    if language in LANGUAGES:
        return tile(source, split_document(source, language, start, end))
    if language is not None:
        from ctx.chunking.grammars import parse
        from ctx.chunking.syntax import split_tree

        parsed = parse(source, language)
        if parsed is not None:
            tree, grammar = parsed
            return tile(source, split_tree(source, tree.root_node, grammar, start, end))
    return tile(source, [Chunk(a, b, "block", "", (), False) for a, b in split_lines(source, start, end)])


__all__ = ["VERSION", "chunk"]
