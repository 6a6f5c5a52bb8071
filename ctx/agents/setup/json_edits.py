"""Insertion and removal of one member or item in a JSON text, with every other byte unchanged.

Each edit is checked by parsing the result. It raises Unreadable if anything but that member or item differs,
or if a comment is lost.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from typing import Any, NamedTuple

from ctx.agents.setup.jsonc import ARRAY, OBJECT, SCALAR, Item, Unreadable, Value, member, parse

_INDENT = re.compile(r"[ \t]*")
_SAME_LINE = re.compile(r"(?:[ \t]|/\*[^\n]*?\*/)*(?://[^\n\r]*)?")


class Trace(NamedTuple):
    """Data for an exact removal: the number of containers created around the value.

    `opened` is True if line breaks were inserted into an empty container.
    """

    made: int = 0
    opened: bool = False


def value_at(text: str, keys: Sequence[str]) -> Value | None:
    """Return the value at `keys`, None if absent. Raises Unreadable."""
    return _follow(parse(text).root, keys)


def put(text: str, keys: Sequence[str], value: Any, *, append: bool) -> tuple[str, Trace]:
    """Add the member at `keys`, which must be absent, or append to the array there. Raises Unreadable."""
    if not text.strip("\ufeff \t\r\n"):
        wrapped = _wrapped(keys, [value] if append else value)
        eol = _eol(text)
        written = json.dumps(wrapped, indent=2, ensure_ascii=False).replace("\n", eol)
        return text + written + eol, Trace(len(keys), True)
    root = parse(text).root
    if root.kind != OBJECT:
        raise Unreadable("the value is not an object")
    way = list(keys)
    container, left = root, way
    while left and (below := member(container, left[0])) is not None:
        container, left = below, left[1:]
    if (left and container.kind != OBJECT) or (not left and not append):
        raise Unreadable(f"{'.'.join(keys)} has a value of another kind")
    if not left and container.kind != ARRAY:
        raise Unreadable(f"{'.'.join(keys)} is not a list")
    if left:
        key, inner = left[0], _wrapped(left[1:], [value] if append else value)
    else:
        key, inner = None, value
    new, opened = _inserted(text, root, container, key, inner)
    expected = deepcopy(root.plain)
    _set(expected, keys, value, append)
    _check(text, new, expected)
    return new, Trace(max(len(left) - 1 + append, 0) if left else 0, opened)


def replace(text: str, keys: Sequence[str], value: Any) -> str:
    """Replace the value of the existing member at `keys` in place. Raises Unreadable."""
    root = parse(text).root
    found = _follow(root, keys)
    if found is None:
        raise Unreadable(f"{'.'.join(keys)} is not there")
    new = text[: found.start] + _body(text, root, found, value) + text[found.end :]
    expected = deepcopy(root.plain)
    _set(expected, keys, value, False)
    _check(text, new, expected, lost=text[found.start : found.end])
    return new


def replace_item(text: str, keys: Sequence[str], is_it: Callable[[Any], bool], value: Any) -> str:
    """Replace the first item of the array at `keys` that `is_it` accepts. Raises Unreadable."""
    root = parse(text).root
    array = _follow(root, keys)
    place = _place(array, is_it)
    if array is None or place is None:
        raise Unreadable(f"{'.'.join(keys)} has no such item")
    found = array.inside[place].value
    new = text[: found.start] + _body(text, root, found, value) + text[found.end :]
    expected = deepcopy(root.plain)
    _at(expected, keys)[place] = value
    _check(text, new, expected, lost=text[found.start : found.end])
    return new


def take(text: str, keys: Sequence[str], trace: Trace | None) -> str:
    """Remove the member at `keys`, and the containers created for it that are then empty.

    Without a trace, remove every container that is then empty. Raises Unreadable.
    """
    return _taken(text, list(keys), trace)


def take_item(text: str, keys: Sequence[str], is_it: Callable[[Any], bool], trace: Trace | None) -> str:
    """Remove the first item of the array at `keys` that `is_it` accepts. Raises Unreadable."""
    place = _place(value_at(text, keys), is_it)
    if place is None:
        raise Unreadable(f"{'.'.join(keys)} has no such item")
    return _taken(text, [*keys, place], trace)


def take_at(text: str, way: Sequence[str | int]) -> str:
    """Remove the member or item at a path of keys and indices, and nothing around it. Raises Unreadable."""
    return _taken(text, list(way), Trace())


def _taken(text: str, way: list[str | int], trace: Trace | None) -> str:
    root = parse(text).root
    chain: list[tuple[Value, int]] = []
    value = root
    for step in way:
        place = _step(value, step)
        if place is None:
            raise Unreadable("it is no longer there")
        chain.append((value, place))
        value = value.inside[place].value
    made = len(way) if trace is None else trace.made
    # Only comments inside the removed value may be lost.
    lost = text[chain[-1][0].inside[chain[-1][1]].start : value.end]
    depths = [len(chain)]
    while len(depths) <= made and depths[-1] > 1 and _has_nothing_else(text, *chain[depths[-1] - 1]):
        depths.append(depths[-1] - 1)
    for depth in reversed(depths):
        container, place = chain[depth - 1]
        expected = deepcopy(root.plain)
        outer = expected
        for step in way[: depth - 1]:
            outer = outer[step]
        del outer[way[depth - 1]]
        for new in _cuts(text, container, place, opened=trace is None or trace.opened):
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


def _body(text: str, root: Value, found: Value, value: Any) -> str:
    """Return a value as text to replace `found`, formatted alike."""
    unit = None if "\n" not in text[found.start : found.end] and found.inside else _unit(text, root)
    return _written(None, value, unit, _indentation(text, found.start), _eol(text))


def _check(old: str, new: str, expected: Any, lost: str = "") -> None:
    """Raise Unreadable if `new` does not parse to `expected`, or if a comment of the user is lost."""
    document = parse(new)
    if document.root.plain != expected:
        raise Unreadable("it cannot be edited without changing something else")
    kept = [comment for comment in parse(old).comments if comment not in lost]
    if [comment for comment in document.comments if comment not in lost] != kept:
        raise Unreadable("it cannot be edited without losing a comment")


def _follow(root: Value, keys: Sequence[str]) -> Value | None:
    value: Value | None = root
    for key in keys:
        value = None if value is None or value.kind == SCALAR else member(value, key)
    return value


def _place(array: Value | None, is_it: Callable[[Any], bool]) -> int | None:
    if array is None or array.kind != ARRAY:
        return None
    return next((place for place, item in enumerate(array.inside) if is_it(item.value.plain)), None)


def _step(value: Value, step: str | int) -> int | None:
    """Return the position in a container of the member or item that `step` names, None if absent."""
    if isinstance(step, int):
        return step if value.kind == ARRAY and step < len(value.inside) else None
    found: list[Item] = value.inside if value.kind == OBJECT else []
    return next((place for place in reversed(range(len(found))) if found[place].key == step), None)


def _wrapped(keys: Sequence[str], value: Any) -> Any:
    for key in reversed(keys):
        value = {key: value}
    return value


def _set(plain: Any, keys: Sequence[str], value: Any, append: bool) -> None:
    for key in keys[:-1]:
        plain = plain.setdefault(key, {})
    if append:
        plain.setdefault(keys[-1], []).append(value)
    else:
        plain[keys[-1]] = value


def _at(plain: Any, keys: Sequence[str]) -> Any:
    for key in keys:
        plain = plain[key]
    return plain


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
