"""Parser of JSON with comments and trailing commas that keeps the offsets of every value, for editing.

Writes nothing. It accepts what agents accept: RFC 8259 JSON, a byte order mark, line and block comments, and
a comma after the last item.
"""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple

OBJECT, ARRAY, SCALAR = "object", "array", "scalar"
_DEEPEST = 100
"""Maximum nesting depth; the parser recurses, and configurations have only a few levels."""
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_STRING = re.compile(r'"(?:[^"\\\x00-\x1f]|\\.)*"')
_WORDS = {"true": True, "false": False, "null": None}
_BETWEEN = re.compile(r"[ \t\r\n]+|//[^\n]*|/\*.*?\*/", re.DOTALL)


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
    place = reader.skip(1 if text.startswith("\ufeff") else 0)
    root = reader.value(place, 0)
    place = reader.skip(root.end)
    if place != len(text):
        raise reader.unreadable(place, "nothing but comments after the value")
    return Document(root, reader.comments)


class _Reader:
    def __init__(self, text: str) -> None:
        self.text = text
        self.comments: list[str] = []

    def skip(self, place: int) -> int:
        """Return the next offset that is neither white space nor comment."""
        while (found := _BETWEEN.match(self.text, place)) is not None:
            if found[0].startswith("/"):
                self.comments.append(found[0].rstrip("\r"))
            place = found.end()
        return place

    def value(self, place: int, depth: int) -> Value:
        if depth > _DEEPEST:
            raise self.unreadable(place, f"at most {_DEEPEST} levels")
        first = self.text[place : place + 1]
        if first == "{":
            return self.container(place, OBJECT, "}", depth)
        if first == "[":
            return self.container(place, ARRAY, "]", depth)
        if first == '"':
            word, end = self.string(place)
            return Value(SCALAR, place, end, word, [])
        if (number := _NUMBER.match(self.text, place)) is not None:
            return Value(SCALAR, place, number.end(), json.loads(number[0]), [])
        for name, plain in _WORDS.items():
            if self.text.startswith(name, place):
                return Value(SCALAR, place, place + len(name), plain, [])
        raise self.unreadable(place, "a value")

    def string(self, place: int) -> tuple[str, int]:
        found = _STRING.match(self.text, place)
        if found is None:
            raise self.unreadable(place, "a string that ends")
        try:
            return json.loads(found[0]), found.end()
        except ValueError:
            raise self.unreadable(place, "a string with valid escapes") from None

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
                key, place = self.string(place)
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

    def unreadable(self, place: int, wanted: str) -> Unreadable:
        line = self.text.count("\n", 0, place) + 1
        return Unreadable(f"line {line}: {wanted} is expected")


def member(value: Value, key: str) -> Value | None:
    """Return the value of a member, None if absent; of duplicate keys the last, as in other parsers."""
    found = [item.value for item in value.inside if item.key == key]
    return found[-1] if found and value.kind == OBJECT else None
