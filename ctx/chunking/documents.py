"""Markdown, reStructuredText, Org and Typst: chunks by headings, named after the path of headings.

Read line by line: headings are recognised by underlines and prefixes, except in code fences.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ctx.chunking.limits import HARD, JOIN, LIMIT, TINY
from ctx.chunking.lines import split_lines
from ctx.types import Chunk

LANGUAGES = frozenset({"markdown", "rst", "org", "typst"})
"""Languages that `split_document` reads."""

_LINE = re.compile(rb"([^\r\n]*)(?:\r\n?|\n|\Z)")
_FENCE = re.compile(rb" {0,3}(`{3,}|~{3,})")
_PREFIXED = {
    "markdown": re.compile(rb" {0,3}(#{1,6})[ \t](.*)"),
    "typst": re.compile(rb"(={1,8})[ \t](.+)"),
    "org": re.compile(rb"(\*{1,8})[ \t](.+)"),
}
_UNDERLINE = {
    "markdown": re.compile(rb" {0,3}(=+|-{2,})[ \t]*$"),
    "rst": re.compile(rb"(([=\-~^\"'`#*+.:_<>])\2{2,})[ \t]*$"),
}
_FRONT_MATTER = re.compile(
    rb"---[ \t]*\r?\n(?:(?!---|\.\.\.)[^\n]*\n){0,400}(?:---|\.\.\.)[ \t]*(?:\r?\n|\Z)"
)
_CLOSING = {"markdown": b" \t#", "typst": b" \t", "org": b" \t"}
"""Characters that may follow a title on its line."""
_TITLE_LIMIT = 100
_TITLE_BYTES = 1000
"""Bytes of a title that are read: `_MARKUP` takes quadratic time."""
_MARKUP = re.compile(r"!?\[([^\]]*)\]\([^)]*\)|[`*]+|<[^>]*>|(?<!\w)_+|_+(?!\w)")


class _Section(NamedTuple):
    """The text from a heading to the next one of any level; `path` has the titles from the outermost on."""

    start: int
    end: int
    level: int
    path: tuple[str, ...]


def split_document(source: bytes, language: str, start: int, end: int) -> list[Chunk]:
    """Return the chunks of a document in one of `LANGUAGES`, in order."""
    return list(_pack(source, _sections(list(_headings(source, language, start, end)), start, end)))


def _lines(source: bytes, start: int, end: int) -> Iterator[tuple[int, int, bytes, str]]:
    """Yield start, end and text of each line, and its place in a code fence.

    The place is "open", "inside" or "close", and "" outside of fences.
    """
    fence = b""
    for match in _LINE.finditer(source, start, end):
        if match.end() == match.start():
            return
        line = match.group(1)
        mark = _FENCE.match(line)
        place = "inside" if fence else ""
        if mark is not None and not fence:
            place, fence = "open", mark.group(1)
        elif mark is not None and mark.group(1).startswith(fence) and not line.strip(b" `~"):
            place, fence = "close", b""
        yield match.start(), match.end(), line, place


def _headings(source: bytes, language: str, start: int, end: int) -> Iterator[tuple[int, int, str]]:
    """Yield (offset, level, title) of each heading."""
    prefixed, underlined = _PREFIXED.get(language), _UNDERLINE.get(language)
    markdown = language == "markdown"
    styles: list[bytes] = []
    before, before_text, overline = start, b"", False
    if markdown and (matter := _FRONT_MATTER.match(source, start, end)) is not None:
        start = before = matter.end()
    for here, _, line, fenced in _lines(source, start, end):
        if fenced and markdown:
            line = b""
        elif prefixed is not None and (heading := prefixed.match(line)) is not None:
            yield here, len(heading.group(1)), _title(heading.group(2).rstrip(_CLOSING[language]))
            line = b""
        elif underlined is not None and (rule := underlined.match(line)) is not None:
            if not before_text or (len(rule.group(1)) < len(before_text.rstrip()) and not markdown):
                overline, before, before_text = not markdown, here, b""
                continue
            style = rule.group(1)[:1] + (b"^" if overline else b"")
            if style not in styles:
                styles.append(style)
            level = (1 if style == b"=" else 2) if markdown else styles.index(style) + 1
            yield before, level, _title(before_text)
            line, overline = b"", False
        if not overline or not line.strip():
            before, overline = here, False
        before_text = line.strip() if not line.startswith((b"    ", b"\t", b">", b"- ", b"|")) else b""


def _title(raw: bytes) -> str:
    text = _MARKUP.sub(r"\1", raw[:_TITLE_BYTES].decode("utf-8", "replace"))
    return " ".join(text.split())[:_TITLE_LIMIT]


def _sections(headings: Sequence[tuple[int, int, str]], start: int, end: int) -> list[_Section]:
    """Return the sections of a document, beginning with the text before the first heading."""
    sections: list[_Section] = []
    stack: list[tuple[int, str]] = []
    bounds = [offset for offset, _, _ in headings] + [end]
    if start < bounds[0]:
        sections.append(_Section(start, bounds[0], 0, ()))
    for (offset, level, title), stop in zip(headings, bounds[1:], strict=True):
        while stack and stack[-1][0] >= level:
            stack.pop()
        stack.append((level, title))
        sections.append(_Section(offset, stop, level, tuple(name for _, name in stack)))
    return sections


def _reach(sections: Sequence[_Section], number: int) -> int:
    """Return the end of a section with all of its subsections."""
    level = sections[number].level
    last = number
    while last + 1 < len(sections) and 0 < level < sections[last + 1].level:
        last += 1
    return sections[last].end


def _pack(source: bytes, sections: Sequence[_Section]) -> Iterator[Chunk]:
    """Join small sections: a section with its subsections, then with its next sibling."""
    pending: list[_Section] = []
    reach = 0
    for number, section in enumerate(sections):
        if pending:
            first = pending[0]
            size = section.end - first.start
            if _is_bare_heading(sections, number):
                fits = section.level > first.level and size <= JOIN
            else:
                below = section.end <= reach
                stub = pending[-1].end - first.start < TINY
                siblings = first.level == section.level and first.path[:-1] == section.path[:-1]
                whole = below and reach <= first.start + LIMIT
                fits = size <= (LIMIT if whole or stub else JOIN) and (stub or below or siblings)
            if not fits:
                yield from _chunks(source, pending)
                pending = []
        if not pending:
            reach = _reach(sections, number)
        pending.append(section)
    if pending:
        yield from _chunks(source, pending)


def _is_bare_heading(sections: Sequence[_Section], number: int) -> bool:
    """Return True if a section is a bare heading with subsections, which is joined with them."""
    section = sections[number]
    following = sections[number + 1] if number + 1 < len(sections) else None
    return section.end - section.start < TINY and following is not None and following.level > section.level


def _chunks(source: bytes, sections: Sequence[_Section]) -> Iterator[Chunk]:
    """Yield joined sections as one chunk, or as several if they are too large."""
    start, end = sections[0].start, sections[-1].end
    named = [section for section in sections if section.path]
    names = tuple(section.path[-1] for section in named)
    symbol = " > ".join(named[0].path) if named else ""
    kind = "section" if named else "block"
    for a, b in [(start, end)] if end - start <= LIMIT else _paragraphs(source, start, end):
        yield Chunk(a, b, kind, symbol, names, False)
        names = ()


def _paragraphs(source: bytes, start: int, end: int) -> list[tuple[int, int]]:
    """Split a long section between paragraphs, but not within a code fence of less than `HARD` bytes."""
    blocks: list[tuple[int, int]] = []
    fence_start = plain = start
    for here, stop, _, fenced in _lines(source, start, end):
        if fenced == "open":
            fence_start = here
        elif fenced == "close" and stop - fence_start <= HARD:
            blocks += split_lines(source, plain, fence_start, TINY)
            blocks.append((fence_start, stop))
            plain = stop
    blocks += split_lines(source, plain, end, TINY)
    ranges: list[tuple[int, int]] = []
    for a, b in blocks:
        stub = ranges and ranges[-1][1] - ranges[-1][0] < TINY
        if ranges and b - ranges[-1][0] <= (LIMIT + TINY if stub else LIMIT):
            ranges[-1] = (ranges[-1][0], b)
        else:
            ranges.append((a, b))
    return ranges
