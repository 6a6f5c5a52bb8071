"""Parsing with the grammars of tree-sitter-language-pack, loaded on first use."""

from __future__ import annotations

import codecs
import re
from functools import cache
from typing import TYPE_CHECKING, cast

from ctx.chunking.dialects import rules_of
from ctx.chunking.rules import Grammar

if TYPE_CHECKING:
    from collections.abc import Callable

    from tree_sitter import Parser, Point, Tree
    from tree_sitter_language_pack import SupportedLanguage

    Parse = Callable[[bytes, str], tuple[Tree, Grammar] | None]
    """Parse UTF-8 bytes as a language, as `parse` does."""

STEPS_PER_BYTE = 0.04
FREE_STEPS = 4_000
"""Progress reports of the parser before the file is given up.

Ordinary code needs 0.01 per byte; error recovery on garbage can need thousands of times that. A count, not a
clock: the result has to be the same on every machine.
"""

_PIECE = 4096
_READS_PER_BYTE = 16
_FREE_READS = 4 << 20
"""Bytes that the parser may read, in pieces of `_PIECE`, before the file is given up.

Ordinary code is read less than twice. A grammar's own scanner that searches for the end of a comment up to
the end of the file, from thousands of positions, does not report progress.
"""

_HOPELESS = {
    # These grammars take minutes for a few kilobytes of text in any other language.
    "agda": re.compile(rb""),
    "cobol": re.compile(rb""),
    # Extreme nesting, which overflows the state of the grammar's scanner and ends the process.
    "yaml": re.compile(rb"^ {100}|(?:[-?:][ \t]+){50}", re.MULTILINE),
    # These take at least quadratic time without reporting much progress.
    "kotlin": re.compile(rb"(?:@\w{1,99}\s{1,99}){100}"),
    "meson": re.compile(rb"(?:\w{1,99}\.){100}"),
}
"""Files that are not parsed, by language."""

_VOID = rb"area|base|br|col|embed|hr|img|input|li|link|meta|option|p|source|td|th|tr|track|wbr"
_MARKUP = re.compile(rb"<(?!(?:%s)[\s>])[a-z]|(</|/>)" % _VOID, re.IGNORECASE)
_NESTED = {
    # Without a bound on open elements, these take time quadratic in the size of the file.
    **dict.fromkeys(("html", "xml", "vue", "svelte", "astro"), (_MARKUP, 1_000)),
    # The scanners of these overflow the stack, or their own state, and end the process. A comment of OCaml
    # may hold a string with the end of a comment in it, so only beginnings are counted.
    "ocaml": (re.compile(rb"\(\*()?"), 5_000),
    "ocaml_interface": (re.compile(rb"\(\*()?"), 5_000),
    "kotlin": (re.compile(rb"\{|(\})"), 500),
}
"""Pattern of what opens or, in its group, closes, and how many may be open in a file that is parsed."""


def _is_hopeless(source: bytes, language: str) -> bool:
    """Return True if the grammar cannot parse a file in reasonable time, or would end the process."""
    if language in _HOPELESS and _HOPELESS[language].search(source):
        return True
    if language in _NESTED:
        opening_or_closing, most = _NESTED[language]
        depth = 0
        for match in opening_or_closing.finditer(source):
            depth = max(depth - 1, 0) if match.group(1) else depth + 1
            if depth > most:
                return True
    return False


@cache
def load(language: str) -> tuple[Parser, Grammar] | None:
    """Return the parser and the rule tables of a language; None if the wheel has no such grammar."""
    from tree_sitter_language_pack import get_parser

    try:
        parser = get_parser(cast("SupportedLanguage", language))
    except LookupError:
        return None
    compiled = parser.language
    return None if compiled is None else (parser, Grammar(compiled, rules_of(language, compiled)))


def parse(source: bytes, language: str) -> tuple[Tree, Grammar] | None:
    """Parse UTF-8 bytes; None if there is no grammar or the parser gave up.

    Bytes that are not UTF-8 are read as letters, which most of them stand for in another encoding; offsets
    stay. A lexer reads ahead again at every byte that it cannot decode, which takes minutes for a large file.
    """
    loaded = None if _is_hopeless(source, language) else load(language)
    if loaded is None:
        return None
    parser, grammar = loaded
    view = memoryview(source.decode(errors=_LETTERS).encode())
    steps = FREE_STEPS + int(len(source) * STEPS_PER_BYTE)
    reads = _FREE_READS + len(source) * _READS_PER_BYTE
    following = 0

    def read(offset: int, _point: Point) -> memoryview:
        nonlocal reads, following
        if offset == following:
            reads -= _PIECE
        if reads < 0:
            return view[:0]  # the scanner sees the end of the file, and the parser stops
        following = offset + _PIECE
        return view[offset:following]

    def give_up(_offset: int, _has_error: bool) -> bool:
        nonlocal steps
        steps -= 1
        return steps < 0 or reads < 0

    try:
        tree = parser.parse(read, progress_callback=give_up)
    except ValueError:
        parser.reset()
        return None
    return None if reads < 0 else (tree, grammar)


def _letters(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeDecodeError), "only bytes are decoded here"
    return "x" * (error.end - error.start), error.end


_LETTERS = "ctx.letters"
codecs.register_error(_LETTERS, _letters)
