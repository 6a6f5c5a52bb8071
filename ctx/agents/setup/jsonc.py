"""Parser of JSON with comments and trailing commas that keeps the offsets of every value, for editing.

Writes nothing. It accepts what agents accept: RFC 8259 JSON, a byte order mark, line and block comments, and
a comma after the last item.
"""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple, NoReturn

OBJECT, ARRAY, SCALAR = "object", "array", "scalar"
_DEEPEST = 100
"""Maximum nesting depth; the parser recurses, and configurations have only a few levels."""
_SPACE_OR_COMMENT = re.compile(r"[ \t\r\n]+|//[^\n]*|/\*.*?\*/", re.DOTALL)


class Unreadable(ValueError):
    """A file that cannot be parsed or edited; the message says why."""


class Value(NamedTuple):
    """A value and its offsets. `inside` are the members of an object or the items of an array."""

    kind: str
    start: int
    end: int
    plain: Any
    inside: list[Item]


class Item(NamedTuple):
    """A member or an item. It starts at its key, if any; `comma` is the offset of the comma after it."""

    key: str | None
    start: int
    value: Value
    comma: int | None


class Document(NamedTuple):
    """A parsed text: its value, and its comments in order."""

    root: Value
    comments: list[str]


def parse(text: str) -> Document:
    """Parse a text. Raises Unreadable."""
    reader = _Reader(text)
    root = reader.value(reader.skip(1 if text.startswith("\ufeff") else 0), 0)
    end = reader.skip(root.end)
    if end != len(text):
        raise reader.unreadable(end, "nothing but comments after the value")
    return Document(root, reader.comments)


def is_blank(text: str) -> bool:
    """Return True if a text has no value: only white space and a byte order mark."""
    return not text.strip("\ufeff \t\r\n")


def _reject(name: str) -> NoReturn:
    raise ValueError(name)


_SCALARS = json.JSONDecoder(parse_constant=_reject)  # JSON has neither NaN nor Infinity


class _Reader:
    def __init__(self, text: str) -> None:
        self.text = text
        self.comments: list[str] = []

    def skip(self, place: int) -> int:
        """Return the next offset that is neither white space nor comment."""
        while (found := _SPACE_OR_COMMENT.match(self.text, place)) is not None:
            if found[0].startswith("/"):
                self.comments.append(found[0].rstrip("\r"))
            place = found.end()
        return place

    def value(self, place: int, depth: int) -> Value:
        if depth > _DEEPEST:
            raise self.unreadable(place, f"at most {_DEEPEST} levels")
        if self.text.startswith("{", place):
            return self.container(place, OBJECT, "}", depth)
        if self.text.startswith("[", place):
            return self.container(place, ARRAY, "]", depth)
        plain, end = self.scalar(place, "a value")
        return Value(SCALAR, place, end, plain, [])

    def scalar(self, place: int, expected: str) -> tuple[Any, int]:
        try:
            return _SCALARS.raw_decode(self.text, place)
        except ValueError:
            raise self.unreadable(place, expected) from None

    def container(self, start: int, kind: str, closing: str, depth: int) -> Value:
        inside: list[Item] = []
        place = self.skip(start + 1)
        while not self.text.startswith(closing, place):
            if inside and inside[-1].comma is None:
                raise self.unreadable(place, f"a comma or {closing}")
            first, key = place, None
            if kind == OBJECT:
                if not self.text.startswith('"', place):
                    raise self.unreadable(place, "a name in quotes")
                key, place = self.scalar(place, "a string that ends")
                place = self.skip(place)
                if not self.text.startswith(":", place):
                    raise self.unreadable(place, "a colon")
                place = self.skip(place + 1)
            value = self.value(place, depth + 1)
            place = self.skip(value.end)
            comma = place if self.text.startswith(",", place) else None
            inside.append(Item(key, first, value, comma))
            if comma is not None:
                place = self.skip(comma + 1)
        plain: Any = (
            {item.key: item.value.plain for item in inside}
            if kind == OBJECT
            else [item.value.plain for item in inside]
        )
        return Value(kind, start, place + 1, plain, inside)

    def unreadable(self, place: int, expected: str) -> Unreadable:
        line = self.text.count("\n", 0, place) + 1
        return Unreadable(f"line {line}: {expected} is expected")
