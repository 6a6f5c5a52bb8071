"""Pieces of text that set-up puts into a file: insert, recognise, update and remove.

Works on texts only; files are read and written elsewhere.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from ctx.agents.setup import blocks, json_edits
from ctx.agents.setup.jsonc import Unreadable, parse

MEMBER, ITEM, BASE, BLOCK, TABLE, FILE = "member", "item", "base", "block", "table", "file"
"""Forms of pieces: a member of a JSON object, an item of a JSON array, a member that a file needs to be valid
(removed only if nothing else is left), a block in Markdown, a table in TOML, a whole file."""

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


class Unwanted(Unreadable):
    """The place of the piece holds something of the user's."""


def check(form: str, text: str) -> None:
    """Raise Unreadable if a text cannot be parsed as its form requires, before anything is put in."""
    if form in (MEMBER, ITEM, BASE) and text.strip("\ufeff \t\r\n"):
        parse(text)
    if form == TABLE:
        blocks.read_toml(text)


def put(text: str, piece: Piece, recorded: Piece | None) -> tuple[str, str, Trace]:
    """Return the text with a piece, the action (PUT, UPDATE, KEEP), and the trace (empty for KEEP).

    `recorded` is the piece as set-up put it in before, which may be replaced. Raises Unwanted, Unreadable.
    """
    return _PUTS[piece.form](text, piece, recorded)


def take(text: str, piece: Piece, trace: Trace | None) -> str:
    """Return the text without a piece; without a trace, the piece is recognised. Raises Unreadable."""
    if trace and "found" in trace:
        return put(text, piece._replace(value=trace["found"]), piece)[0]
    return _TAKES[piece.form](text, piece, trace)


def recognised(text: str, piece: Piece) -> bool:
    """Return True if a text has this piece in any version. Raises Unreadable."""
    if piece.form == MEMBER:
        found = json_edits.value_at(text, piece.keys) if text.strip() else None
        return found is not None and (_is_server(found.plain) or found.plain == piece.value)
    if piece.form == ITEM:
        found = json_edits.value_at(text, piece.keys) if text.strip() else None
        return found is not None and isinstance(found.plain, list) and any(map(is_hook, found.plain))
    if piece.form == FILE:
        return MARK in text or HOOK in text
    if piece.form == BASE:
        return False
    return blocks.find(text, _sentinels(piece)) is not None


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
    """Return True if a server or hook of git-ctx starts a missing program (set up on another machine).

    Raises Unwanted if the user has changed it otherwise.
    """
    gone = _gone_program(there)
    if gone is None:
        return False
    if _portable(there) != _portable(piece.value):
        raise Unwanted(f"{'.'.join(piece.keys)} starts {gone}, which is not here")
    return True


def _gone_program(value: Any) -> str | None:
    """Return the absolute path by which a server or hook starts git-ctx if no program exists there."""
    paths = (word for text in _texts(value) for word in _words(text) if os.path.isabs(word))
    programs = (path for path in paths if os.path.basename(path) == SERVER)
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


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, (dict, list)):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _texts(inner)


def _words(command: str) -> list[str]:
    """Return the words of a shell command, or the text itself if it does not call HOOK."""
    if f" {HOOK} " not in command:
        return [command]
    try:
        return shlex.split(command)
    except ValueError:
        return []


def _put_member(text: str, piece: Piece, recorded: Piece | None) -> tuple[str, str, Trace]:
    found = json_edits.value_at(text, piece.keys) if text.strip("\ufeff \t\r\n") else None
    if found is None:
        text, trace = json_edits.put(text, piece.keys, piece.value, append=False)
        return text, PUT, trace._asdict()
    if found.plain == piece.value:
        return text, KEEP, {}
    if recorded is not None and found.plain == recorded.value:
        return json_edits.replace(text, piece.keys, piece.value), UPDATE, {}
    if not _is_server(found.plain) and recorded is None:
        raise Unwanted(f"it already has its own {'.'.join(piece.keys)}")
    if _is_of_another_machine(found.plain, piece):
        return json_edits.replace(text, piece.keys, piece.value), UPDATE, {"found": found.plain}
    return text, KEEP, {}  # written or changed by the user


def _put_base(text: str, piece: Piece, _: Piece | None) -> tuple[str, str, Trace]:
    if text.strip("\ufeff \t\r\n") and json_edits.value_at(text, piece.keys) is not None:
        return text, KEEP, {}
    text, trace = json_edits.put(text, piece.keys, piece.value, append=False)
    return text, PUT, trace._asdict()


def _put_item(text: str, piece: Piece, recorded: Piece | None) -> tuple[str, str, Trace]:
    found = json_edits.value_at(text, piece.keys) if text.strip("\ufeff \t\r\n") else None
    there = found.plain if found is not None and isinstance(found.plain, list) else []
    if piece.value in there:
        return text, KEEP, {}
    if recorded is not None and recorded.value in there:
        return json_edits.replace_item(text, piece.keys, _equals(recorded.value), piece.value), UPDATE, {}
    ours = next(filter(is_hook, there), None)
    if ours is not None:
        if not _is_of_another_machine(ours, piece):
            return text, KEEP, {}
        text = json_edits.replace_item(text, piece.keys, _equals(ours), piece.value)
        return text, UPDATE, {"found": ours}
    text, trace = json_edits.put(text, piece.keys, piece.value, append=True)
    return text, PUT, trace._asdict()


def _put_block(text: str, piece: Piece, _: Piece | None) -> tuple[str, str, Trace]:
    sentinels = _sentinels(piece)
    found = blocks.find(text, sentinels)
    if found is not None:
        if found.body == piece.value:
            return text, KEEP, {}
        new = blocks.replace(text, sentinels, piece.value)
        action, trace = UPDATE, {"found": found.body}
    else:
        if piece.form == TABLE and _table(blocks.read_toml(text), piece.keys) is not None:
            there = _table(blocks.read_toml(text), piece.keys)
            if _is_server(there):
                if gone := _gone_program(there):
                    raise Unwanted(f"{'.'.join(piece.keys)} starts {gone}, which is not here")
                return text, KEEP, {}
            raise Unwanted(f"it already has its own {'.'.join(piece.keys)}")
        new, before = blocks.put(text, sentinels, piece.value)
        action, trace = PUT, {"before": before}
    if piece.form == TABLE and _table(blocks.read_toml(new), piece.keys) is None:
        raise Unreadable(f"{'.'.join(piece.keys)} cannot be put in")
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
    raise Unwanted("it was changed since" if recorded else "there is another file of that name")


def _take_member(text: str, piece: Piece, trace: Trace | None) -> str:
    return json_edits.take(text, piece.keys, _json_trace(trace))


def _take_base(text: str, piece: Piece, trace: Trace | None) -> str:
    if parse(text).root.plain != {piece.keys[0]: piece.value}:
        return text
    return json_edits.take(text, piece.keys, _json_trace(trace))


def _take_item(text: str, piece: Piece, trace: Trace | None) -> str:
    found = json_edits.value_at(text, piece.keys)
    there: Sequence[Any] = found.plain if found is not None and isinstance(found.plain, list) else []
    if piece.value in there:
        return json_edits.take_item(text, piece.keys, _equals(piece.value), _json_trace(trace))
    found_in = [(place, item) for place, item in enumerate(there) if is_hook(item)]
    place, group = found_in[0] if found_in else (0, {})
    inner: list[Any] = group.get("hooks", [])
    if len(inner) < 2:
        return json_edits.take_item(text, piece.keys, is_hook, _json_trace(trace))
    # The user put another hook beside ours.
    hook = next(number for number, item in enumerate(inner) if is_hook(item))
    return json_edits.take_at(text, [*piece.keys, place, "hooks", hook])


def _take_block(text: str, piece: Piece, trace: Trace | None) -> str:
    new = blocks.take(text, _sentinels(piece), trace["before"] if trace else None)
    if piece.form == TABLE:
        expected = blocks.read_toml(text)
        _drop(expected, piece.keys)
        if blocks.read_toml(new) != expected:
            raise Unreadable("more than the table of git-ctx would be lost")
    return new


def _take_file(text: str, piece: Piece, trace: Trace | None) -> str:
    if trace is not None and text != piece.value:
        raise Unwanted("it was changed since")
    return ""


def _sentinels(piece: Piece) -> blocks.Sentinels:
    return blocks.TOML if piece.form == TABLE else blocks.MARKDOWN


def _json_trace(trace: Trace | None) -> json_edits.Trace | None:
    return None if trace is None else json_edits.Trace(**trace)


def _equals(value: Any) -> Callable[[Any], bool]:
    return lambda other: bool(other == value)


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


_PUTS = {
    MEMBER: _put_member,
    ITEM: _put_item,
    BASE: _put_base,
    BLOCK: _put_block,
    TABLE: _put_block,
    FILE: _put_file,
}
_TAKES = {
    MEMBER: _take_member,
    ITEM: _take_item,
    BASE: _take_base,
    BLOCK: _take_block,
    TABLE: _take_block,
    FILE: _take_file,
}
