"""Pieces of text that set-up puts into a file: insert, recognise, update and remove.

Works on texts only; files are read and written elsewhere.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from typing import Any, NamedTuple

from ctx.agents.setup import blocks, json_edits
from ctx.agents.setup.jsonc import ARRAY, Unreadable, is_blank, parse

MEMBER, ITEM, BASE, BLOCK, TABLE, FILE = "member", "item", "base", "block", "table", "file"
"""Forms of pieces: a member of a JSON object, an item of a JSON array, a member that a file needs to be valid
(removed only if nothing else is left), a block in Markdown, a table in TOML, a whole file."""
JSON_FORMS = (MEMBER, ITEM, BASE)

SERVER = "git-ctx"
HOOK = "agent-hook"
"""Name of the server in every configuration, and the command that every hook calls."""

MARK = "git ctx setup-agent"
"""Text contained in every file that is written as a whole."""

PUT, UPDATE, KEEP, LEAVE = "put", "update", "keep", "leave"


class Piece(NamedTuple):
    """One piece. `keys` is the path to the member or array; `value` is plain JSON, or the text of a block."""

    form: str
    component: str
    keys: tuple[str, ...]
    value: Any

    @property
    def name(self) -> str:
        """Name, unique among the pieces of one file."""
        return f"{self.form} {'.'.join(self.keys)}"


Trace = dict[str, Any]
"""Data recorded with a piece for its exact removal."""


class Occupied(Unreadable):
    """The place of the piece holds something of the user's."""


def check(form: str, text: str) -> None:
    """Raise Unreadable if a text cannot be parsed as its form requires, before anything is put in."""
    if form in JSON_FORMS and not is_blank(text):
        parse(text)
    if form == TABLE:
        blocks.read_toml(text)


def put(text: str, piece: Piece, recorded: Piece | None) -> tuple[str, str, Trace]:
    """Return the text with a piece, the action (PUT, UPDATE, KEEP), and the trace (empty for KEEP).

    `recorded` is the piece as set-up put it in before, which may be replaced. Raises Occupied, Unreadable.
    """
    if piece.form in JSON_FORMS:
        return _put_json(text, piece, recorded)
    return _put_file(text, piece, recorded) if piece.form == FILE else _put_block(text, piece)


def take(text: str, piece: Piece, trace: Trace | None) -> str:
    """Return the text without a piece; without a trace, the piece is recognised. Raises Unreadable."""
    if trace and "found" in trace:
        return put(text, piece._replace(value=trace["found"]), piece)[0]
    if piece.form in JSON_FORMS:
        return _take_json(text, piece, trace)
    if piece.form in (BLOCK, TABLE):
        return _take_block(text, piece, trace)
    if trace is not None and text != piece.value:
        raise Occupied("it was changed since")
    return ""


def recognised(text: str, piece: Piece) -> bool:
    """Return True if a text has this piece in any version. Raises Unreadable."""
    if piece.form in JSON_FORMS:
        return any(_is_ours(piece, plain) for _, plain in _candidates(text, piece))
    if piece.form == FILE:
        return MARK in text or HOOK in text
    return blocks.find(text, _sentinels(piece)) is not None


def _candidates(text: str, piece: Piece) -> list[tuple[json_edits.Path, Any]]:
    """Return path and value of what may be a JSON piece: the member, or each item of the array."""
    found = json_edits.value_at(text, piece.keys)
    if found is None:
        return []
    if piece.form != ITEM:
        return [(piece.keys, found.plain)]
    items = found.inside if found.kind == ARRAY else []
    return [((*piece.keys, place), item.value.plain) for place, item in enumerate(items)]


def _is_ours(piece: Piece, value: Any) -> bool:
    if piece.form == MEMBER:
        return _is_server(value) or bool(value == piece.value)
    return piece.form == ITEM and is_hook(value)


def is_hook(item: Any) -> bool:
    """Return True if the command of an item in a list of hooks, or of one of its inner hooks, calls HOOK."""
    if not isinstance(item, dict):
        return False
    inner = item.get("hooks")
    if isinstance(inner, list):
        return any(map(is_hook, inner))
    return any(f" {HOOK} " in f"{item.get(name, '')} " for name in ("command", "bash"))


def _is_server(value: Any) -> bool:
    """Return True if a member starts the server of git-ctx."""
    if not isinstance(value, dict):
        return False
    command, arguments = value.get("command"), value.get("args", [])
    words = [*command, *arguments] if isinstance(command, list) else [command, *arguments]
    return len(words) > 1 and str(words[0]).rsplit("/", 1)[-1] == SERVER and "mcp" in words


def _is_of_another_machine(there: Any, piece: Piece) -> bool:
    """Return True if a server or hook of git-ctx starts a program that is missing on this machine.

    Raises Occupied if the user has changed it otherwise.
    """
    gone = _gone_program(there)
    if gone is None:
        return False
    if _portable(there) != _portable(piece.value):
        raise Occupied(f"{'.'.join(piece.keys)} starts {gone}, which is not here")
    return True


def _gone_program(value: Any) -> str | None:
    """Return the absolute path by which a server or hook starts git-ctx if no program exists there."""
    if isinstance(value, (dict, list)):
        inner = value.values() if isinstance(value, dict) else value
        return next(filter(None, map(_gone_program, inner)), None)
    if not isinstance(value, str):
        return None
    try:
        words = shlex.split(value) if f" {HOOK} " in value else [value]
    except ValueError:
        return None
    programs = (word for word in words if os.path.isabs(word) and os.path.basename(word) == SERVER)
    return next((path for path in programs if not os.access(path, os.X_OK)), None)


def _portable(value: Any) -> Any:
    """Return a server or hook without the parts that depend on the machine and on set-up options."""
    if isinstance(value, dict):
        return {key: _portable(inner) for key, inner in value.items()}
    if isinstance(value, list):
        if value[:1] == ["-C"] and os.path.isabs("".join(map(str, value[1:2]))):
            value = value[2:]
        return [_portable(inner) for inner in value if inner != "--minimal"]
    if isinstance(value, str) and f" {HOOK} " in value:
        return value[value.index(HOOK) :].removesuffix(" mcp")
    if isinstance(value, str) and os.path.basename(value) == SERVER:
        return SERVER
    return value


def _put_json(text: str, piece: Piece, recorded: Piece | None) -> tuple[str, str, Trace]:
    there = _candidates(text, piece)
    if any(value == piece.value for _, value in there) or (there and piece.form == BASE):
        return text, KEEP, {}
    for path, value in there:
        if recorded is not None and value == recorded.value:
            return json_edits.replace(text, path, piece.value), UPDATE, {}
    for path, value in there:
        if _is_ours(piece, value):
            if _is_of_another_machine(value, piece):
                return json_edits.replace(text, path, piece.value), UPDATE, {"found": value}
            return text, KEEP, {}  # written or changed by the user
    if there and piece.form == MEMBER:
        if recorded is None:
            raise Occupied(f"it already has its own {'.'.join(piece.keys)}")
        return text, KEEP, {}
    text, trace = json_edits.put(text, piece.keys, piece.value, append=piece.form == ITEM)
    return text, PUT, trace._asdict()


def _put_block(text: str, piece: Piece) -> tuple[str, str, Trace]:
    sentinels, name = _sentinels(piece), ".".join(piece.keys)
    found = blocks.find(text, sentinels)
    if found is not None:
        if found.body == piece.value:
            return text, KEEP, {}
        new = blocks.replace(text, sentinels, piece.value)
        action, trace = UPDATE, {"found": found.body}
    else:
        there = _table(blocks.read_toml(text), piece.keys) if piece.form == TABLE else None
        if there is not None:
            if not _is_server(there):
                raise Occupied(f"it already has its own {name}")
            if gone := _gone_program(there):
                raise Occupied(f"{name} starts {gone}, which is not here")
            return text, KEEP, {}
        new, before = blocks.put(text, sentinels, piece.value)
        action, trace = PUT, {"before": before}
    if piece.form == TABLE and _table(blocks.read_toml(new), piece.keys) is None:
        raise Unreadable(f"{name} cannot be put in")
    return new, action, trace


def _put_file(text: str, piece: Piece, recorded: Piece | None) -> tuple[str, str, Trace]:
    if text == piece.value:
        return text, KEEP, {}
    if not text:
        return piece.value, PUT, {}
    if recorded is not None and text == recorded.value:
        return piece.value, UPDATE, {}
    if recorded is None and recognised(text, piece):
        return piece.value, UPDATE, {"found": text}
    raise Occupied("it was changed since" if recorded else "there is another file of that name")


def _take_json(text: str, piece: Piece, trace: Trace | None) -> str:
    if piece.form == BASE and parse(text).root.plain != {piece.keys[0]: piece.value}:
        return text
    path: json_edits.Path = piece.keys
    if piece.form == ITEM:
        there = _candidates(text, piece)
        exact = [(path, value) for path, value in there if value == piece.value]
        ours = exact or [(path, value) for path, value in there if is_hook(value)]
        if not ours:
            raise Unreadable(f"{'.'.join(piece.keys)} has no such item")
        path, value = ours[0]
        inner = value.get("hooks", [])
        if not exact and len(inner) > 1:
            # The user put another hook beside ours.
            place = next(place for place, hook in enumerate(inner) if is_hook(hook))
            path, trace = (*path, "hooks", place), {}
    return json_edits.take(text, path, None if trace is None else json_edits.Trace(**trace))


def _take_block(text: str, piece: Piece, trace: Trace | None) -> str:
    new = blocks.take(text, _sentinels(piece), trace["before"] if trace else None)
    if piece.form == TABLE:
        expected = blocks.read_toml(text)
        _drop(expected, piece.keys)
        if blocks.read_toml(new) != expected:
            raise Unreadable("more than the table of git-ctx would be lost")
    return new


def _sentinels(piece: Piece) -> blocks.Sentinels:
    return blocks.TOML if piece.form == TABLE else blocks.MARKDOWN


def _table(document: Any, keys: Sequence[str]) -> Any:
    for key in keys:
        document = document.get(key) if isinstance(document, dict) else None
    return document


def _drop(document: dict[str, Any], keys: Sequence[str]) -> None:
    """Remove a table from a parsed TOML document, with the parent tables that are then empty."""
    outer = _table(document, keys[:-1])
    outer.pop(keys[-1], None)
    if not outer and len(keys) > 1:
        _drop(document, keys[:-1])
