"""Insertion, replacement and removal of one member or item in a JSON text, every other byte unchanged.

A path is a sequence of member names and item indices. Each edit is checked by parsing the result. It raises
Unreadable if anything but that member or item differs, or if a comment is lost.
"""

from __future__ import annotations

import json
import operator
import re
from collections.abc import Iterator, Sequence
from copy import deepcopy
from functools import reduce
from typing import Any, NamedTuple

from ctx.agents.setup.jsonc import ARRAY, OBJECT, Unreadable, Value, is_blank, parse

Path = Sequence[str | int]

_INDENT = re.compile(r"[ \t]*")
_SAME_LINE = re.compile(r"(?:[ \t]|/\*[^\n]*?\*/)*(?://[^\n\r]*)?")


class Trace(NamedTuple):
    """Data for an exact removal: the number of containers created around the value.

    `opened` is True if line breaks were inserted into an empty container.
    """

    made: int = 0
    opened: bool = False


def value_at(text: str, path: Path) -> Value | None:
    """Return the value at a path, None if absent. Raises Unreadable."""
    steps = None if is_blank(text) else _steps(parse(text).root, path)
    return None if steps is None else _end(steps)


def put(text: str, keys: Sequence[str], value: Any, *, append: bool) -> tuple[str, Trace]:
    """Add the member at `keys`, which must be absent, or append to the array there. Raises Unreadable."""
    whole = [value] if append else value
    if is_blank(text):
        eol = _eol(text)
        return text + _written(None, _wrapped(keys, whole), "  ", "", eol) + eol, Trace(len(keys), True)
    root = parse(text).root
    container, left = root, list(keys)
    while left and (steps := _steps(container, left[:1])) is not None:
        container, left = _end(steps), left[1:]
    if container.kind != (OBJECT if left else ARRAY) or not (left or append):
        raise Unreadable(f"a value of another kind stands in the place of {'.'.join(keys)}")
    key, inner = (left[0], _wrapped(left[1:], whole)) if left else (None, value)
    new, opened = _inserted(text, root, container, key, inner)
    expected = deepcopy(root.plain)
    outer = _plain_at(expected, keys[: len(keys) - len(left)])
    if key is None:
        outer.append(inner)
    else:
        outer[key] = inner
    _check(text, new, expected)
    return new, Trace(len(left) - 1 + append if left else 0, opened)


def replace(text: str, path: Path, value: Any) -> str:
    """Replace the existing member or item at a path in place. Raises Unreadable."""
    root = parse(text).root
    steps = _steps(root, path)
    if steps is None:
        raise Unreadable("it is no longer there")
    found = _end(steps)
    old = text[found.start : found.end]
    unit = None if "\n" not in old and found.inside else _unit(text, root)
    body = _written(None, value, unit, _indentation(text, found.start), _eol(text))
    new = text[: found.start] + body + text[found.end :]
    expected = deepcopy(root.plain)
    _plain_at(expected, path[:-1])[path[-1]] = value
    _check(text, new, expected, lost=old)
    return new


def take(text: str, path: Path, trace: Trace | None) -> str:
    """Remove the member or item at a path, and the containers created for it that are then empty.

    Without a trace, remove every container that is then empty. Raises Unreadable.
    """
    root = parse(text).root
    steps = _steps(root, path)
    if steps is None:
        raise Unreadable("it is no longer there")
    made = len(path) if trace is None else trace.made
    # Only comments inside the removed value may be lost.
    container, place = steps[-1]
    lost = text[container.inside[place].start : _end(steps).end]
    depths = [len(steps)]
    while len(depths) <= made and depths[-1] > 1 and _has_nothing_else(text, *steps[depths[-1] - 1]):
        depths.append(depths[-1] - 1)
    for depth in reversed(depths):
        expected = deepcopy(root.plain)
        del _plain_at(expected, path[: depth - 1])[path[depth - 1]]
        for new in _cuts(text, *steps[depth - 1], opened=trace is None or trace.opened):
            try:
                _check(text, new, expected, lost)
                return new
            except Unreadable:
                continue  # a comment requires that a line break or a container stays
    raise Unreadable("it cannot be removed without changing something else")


def _has_nothing_else(text: str, container: Value, place: int) -> bool:
    """Return True if a container has only this item and no comments."""
    item = container.inside[place]
    around = text[container.start + 1 : item.start] + text[item.value.end : container.end - 1]
    return len(container.inside) == 1 and not around.strip(", \t\r\n")


def _inserted(text: str, root: Value, container: Value, key: str | None, value: Any) -> tuple[str, bool]:
    """Return the text with an item appended to a container, and True if an empty one got line breaks."""
    eol, unit = _eol(text), _unit(text, root)
    open_end, close = container.start + 1, container.end - 1
    inside = container.inside
    if not inside:
        inner = text[open_end:close]
        line = _indentation(text, container.start)
        if "\n" in inner:
            place = open_end + inner.rindex("\n") + 1
            base = text[place:close] if not text[place:close].strip(" \t") else line
            indent = base + unit
            return text[:place] + indent + _written(key, value, unit, indent, eol) + eol + text[place:], False
        if _single_line(text, root) and container is not root:
            return text[:close] + _written(key, value, None, "", eol) + text[close:], False
        indent = line + unit
        body = _written(key, value, unit, indent, eol)
        return text[:close] + eol + indent + body + eol + line + text[close:], True
    last = inside[-1]
    after = (last.comma + 1) if last.comma is not None else last.value.end
    first_on_line = not text[_line_start(text, last.start) : last.start].strip(" \t")
    if first_on_line:
        indent = text[_line_start(text, last.start) : last.start]
        note = _SAME_LINE.match(text, after)
        place = note.end() if note and note[0].strip(" \t") and note.end() <= close else after
        piece = eol + indent + _written(key, value, unit, indent, eol)
    else:
        place, piece = after, " " + _written(key, value, None, "", eol)
    if last.comma is not None:
        return text[:place] + piece + "," + text[place:], False
    return text[:after] + "," + text[after:place] + piece + text[place:], False


def _cuts(text: str, container: Value, place: int, *, opened: bool) -> Iterator[str]:
    """Yield candidates of the text without one item.

    First the inverse of `_inserted`, then a text that keeps the line break before the item.
    """
    inside = container.inside
    item = inside[place]
    end = item.value.end if item.comma is None else item.comma + 1
    line = _line_start(text, item.start)
    alone = not text[line : item.start].strip(" \t") and line > 0
    break_start = _before_break(text, line) if alone else item.start
    if len(inside) == 1:
        open_end, close = container.start + 1, container.end - 1
        if not text[end:close].strip() and alone and line > container.start:
            if opened:
                yield text[:break_start] + text[close:]
            after = end + len(_eol(text)) if text.startswith(_eol(text), end) else end
            yield text[:line] + text[after:]
        else:
            start = item.start if text[open_end : item.start].strip() or not opened else open_end
            yield text[:start] + text[end:]
    elif place == len(inside) - 1:
        before = inside[place - 1].comma
        for start in (break_start if alone else item.start - (text[item.start - 1] == " "), item.start):
            if item.comma is not None or before is None:
                yield text[:start] + text[end:]
            else:
                yield text[:before] + text[before + 1 : start] + text[end:]
    else:
        following = inside[place + 1].start
        if not text[end:following].strip():
            yield text[: item.start] + text[following:]
        else:
            yield text[:break_start] + text[end:]
            yield text[: item.start] + text[end:]


def _written(key: str | None, value: Any, unit: str | None, indent: str, eol: str) -> str:
    """Return a member or an item as text, on one line if `unit` (of indentation) is None."""
    body = json.dumps(value, indent=unit, ensure_ascii=False).replace("\n", eol + indent)
    return body if key is None else f"{json.dumps(key, ensure_ascii=False)}: {body}"


def _check(old: str, new: str, expected: Any, lost: str = "") -> None:
    """Raise Unreadable if `new` does not parse to `expected`, or if a comment of the user is lost."""
    document = parse(new)
    if document.root.plain != expected:
        raise Unreadable("it cannot be edited without changing something else")
    kept = [comment for comment in parse(old).comments if comment not in lost]
    if [comment for comment in document.comments if comment not in lost] != kept:
        raise Unreadable("it cannot be edited without losing a comment")


def _steps(root: Value, path: Path) -> list[tuple[Value, int]] | None:
    """Return each container on a path with the position in it of the next value; None if one is absent.

    Of duplicate names the last counts, as in other parsers.
    """
    steps: list[tuple[Value, int]] = []
    value = root
    for step in path:
        inside = range(len(value.inside))
        if isinstance(step, int):
            places = [step] if value.kind == ARRAY and step in inside else []
        else:
            places = [place for place in inside if value.inside[place].key == step]
        if not places:
            return None
        steps.append((value, places[-1]))
        value = _end(steps)
    return steps


def _end(steps: list[tuple[Value, int]]) -> Value:
    container, place = steps[-1]
    return container.inside[place].value


def _plain_at(plain: Any, path: Path) -> Any:
    return reduce(operator.getitem, path, plain)


def _wrapped(keys: Sequence[str], value: Any) -> Any:
    for key in reversed(keys):
        value = {key: value}
    return value


def _eol(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _unit(text: str, root: Value) -> str:
    """Return one level of indentation, taken from the first member; two spaces by default."""
    if root.inside and "\n" in text[root.start : root.inside[0].start]:
        found = text[_line_start(text, root.inside[0].start) : root.inside[0].start]
        if found and not found.strip(" \t"):
            return found
    return "  "


def _single_line(text: str, root: Value) -> bool:
    return bool(root.inside) and "\n" not in text[root.start : root.end]


def _line_start(text: str, place: int) -> int:
    return text.rfind("\n", 0, place) + 1


def _before_break(text: str, line: int) -> int:
    """Return the start of the line break before a line."""
    place = line - 1
    return place - 1 if place > 0 and text[place - 1] == "\r" else place


def _indentation(text: str, place: int) -> str:
    found = _INDENT.match(text, _line_start(text, place))
    return found[0] if found else ""
