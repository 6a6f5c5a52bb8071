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
    sections = _sections(list(_headings(source, language, start, end)), start, end)
    pieces: list[Chunk] = []
    _pack(source, sections, pieces)
    return pieces


def _headings(source: bytes, language: str, start: int, end: int) -> Iterator[tuple[int, int, str]]:
    """Yield (offset, level, title) of each heading."""
    prefixed, underlined = _PREFIXED.get(language), _UNDERLINE.get(language)
    styles: list[bytes] = []
    fence = b""
    before, before_text, overline = start, b"", False
    here = start
    matter = _FRONT_MATTER.match(source, start, end) if language == "markdown" else None
    if matter is not None:
        here = before = matter.end()
    while here < end:
        match = _LINE.match(source, here, end)
        if match is None or match.end() == here:
            break
        line = match.group(1)
        fenced = _FENCE.match(line) if language == "markdown" else None
        if fence:
            if fenced is not None and fenced.group(1).startswith(fence) and not line.strip(b" `~"):
                fence = b""
            line = b""
        elif fenced is not None:
            fence, line = fenced.group(1), b""
        elif prefixed is not None and (heading := prefixed.match(line)) is not None:
            yield here, len(heading.group(1)), _title(heading.group(2).rstrip(_CLOSING[language]))
            line = b""
        elif underlined is not None and (rule := underlined.match(line)) is not None:
            if before_text and (language == "markdown" or len(rule.group(1)) >= len(before_text.rstrip())):
                style = rule.group(1)[:1] + (b"^" if overline else b"")
                if language == "markdown":
                    level = 1 if style == b"=" else 2
                else:
                    if style not in styles:
                        styles.append(style)
                    level = styles.index(style) + 1
                yield before, level, _title(before_text)
                line, overline = b"", False
            else:
                overline, before = language == "rst", here
                here = match.end()
                before_text = b""
                continue
        if not overline or not line.strip():
            before, overline = here, False
        before_text = line.strip() if not line.startswith((b"    ", b"\t", b">", b"- ", b"|")) else b""
        here = match.end()


def _title(raw: bytes) -> str:
    text = _MARKUP.sub(r"\1", raw[:_TITLE_BYTES].decode("utf-8", "replace"))
    return " ".join(text.split())[:_TITLE_LIMIT]


def _sections(headings: Sequence[tuple[int, int, str]], start: int, end: int) -> list[_Section]:
    """Return the sections of a document, beginning with the text before the first heading."""
    sections: list[_Section] = []
    stack: list[tuple[int, str]] = []
    if not headings or headings[0][0] > start:
        sections.append(_Section(start, headings[0][0] if headings else end, 0, ()))
    for number, (offset, level, title) in enumerate(headings):
        while stack and stack[-1][0] >= level:
            stack.pop()
        stack.append((level, title))
        stop = headings[number + 1][0] if number + 1 < len(headings) else end
        sections.append(_Section(offset, stop, level, tuple(name for _, name in stack)))
    return sections


def _reach(sections: Sequence[_Section], number: int) -> int:
    """Return the end of a section with all of its subsections."""
    level = sections[number].level
    last = number
    while last + 1 < len(sections) and 0 < level < sections[last + 1].level:
        last += 1
    return sections[last].end


def _pack(source: bytes, sections: Sequence[_Section], pieces: list[Chunk]) -> None:
    """Join small sections: a section with its subsections, then with its next sibling."""
    waiting: list[_Section] = []
    reach = 0
    for number, section in enumerate(sections):
        if waiting and _is_bare_heading(sections, number):
            if section.level <= waiting[0].level or section.end - waiting[0].start > JOIN:
                _emit(source, waiting, pieces)
                waiting = []
        elif waiting:
            size = section.end - waiting[0].start
            below = section.end <= reach <= waiting[0].start + LIMIT
            stub = waiting[-1].end - waiting[0].start < TINY
            related = stub or section.end <= reach or _kin(waiting[0], section)
            if size > (LIMIT if below or stub else JOIN) or not related:
                _emit(source, waiting, pieces)
                waiting = []
        if not waiting:
            reach = _reach(sections, number)
        waiting.append(section)
    if waiting:
        _emit(source, waiting, pieces)


def _is_bare_heading(sections: Sequence[_Section], number: int) -> bool:
    """Return True if a section is a bare heading with subsections, which is joined with them."""
    section = sections[number]
    following = sections[number + 1] if number + 1 < len(sections) else None
    return section.end - section.start < TINY and following is not None and following.level > section.level


def _kin(one: _Section, other: _Section) -> bool:
    return one.level == other.level and one.path[:-1] == other.path[:-1]


def _emit(source: bytes, sections: Sequence[_Section], pieces: list[Chunk]) -> None:
    start, end = sections[0].start, sections[-1].end
    named = [section for section in sections if section.path]
    names = tuple(section.path[-1] for section in named)
    symbol = " > ".join(named[0].path) if named else ""
    kind = "section" if named else "block"
    if end - start <= LIMIT:
        pieces.append(Chunk(start, end, kind, symbol, names, False))
        return
    for a, b in _paragraphs(source, start, end):
        pieces.append(Chunk(a, b, kind, symbol, names, False))
        names = ()


def _paragraphs(source: bytes, start: int, end: int) -> list[tuple[int, int]]:
    """Split a long section between paragraphs, but not within a code fence of less than `HARD` bytes."""
    blocks: list[tuple[int, int]] = []
    fence, opened, here, plain = b"", start, start, start
    while here < end:
        match = _LINE.match(source, here, end)
        if match is None or match.end() == here:
            break
        fenced = _FENCE.match(match.group(1))
        if fenced is not None:
            if not fence:
                fence, opened = fenced.group(1), here
            elif fenced.group(1).startswith(fence) and not match.group(1).strip(b" `~"):
                fence = b""
                if match.end() - opened <= HARD:
                    blocks += split_lines(source, plain, opened, TINY)
                    blocks.append((opened, match.end()))
                    plain = match.end()
        here = match.end()
    blocks += split_lines(source, plain, end, TINY)
    ranges: list[tuple[int, int]] = []
    for a, b in blocks:
        stub = ranges and ranges[-1][1] - ranges[-1][0] < TINY
        if ranges and b - ranges[-1][0] <= (LIMIT + TINY if stub else LIMIT):
            ranges[-1] = (ranges[-1][0], b)
        else:
            ranges.append((a, b))
    return ranges
