"""Lua: `function M.x`, `M.x = function`, functions in tables, busted's blocks."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ctx.chunking.rules import IMPORTS, Definition, Place, Rules, child_at, field_text, text_of
from ctx.chunking.wordlists import words

if TYPE_CHECKING:
    from tree_sitter import Node

_REQUIRE = re.compile(rb"local\s+[\w\s,]{1,200}=\s*require\b")
_TEST = re.compile(
    rb"(describe|context|it|pending|test)\s*\(\s*(?:\"([^\"\n]{1,300})\"|'([^'\n]{1,300})')\s*,"
)


def _function(node: Node, at: Place) -> Definition | None:
    name = field_text(node, at.source, "name")
    if not name:
        return None
    kind = "method" if ":" in name else "function"
    return Definition(kind, name, (name.replace(":", ".").rpartition(".")[2],))


def _assignment(node: Node, at: Place) -> Definition | None:
    """Read `local x = …`, `M.x = function …`."""
    if _REQUIRE.match(at.source, node.start_byte):
        return IMPORTS
    inner: Node | None = node
    if node.type == "variable_declaration":
        inner = next((child for child in node.named_children if child.type == "assignment_statement"), None)
    if inner is None or inner.child_count < 3:
        return None
    target, values = child_at(inner, 0), child_at(inner, inner.child_count - 1)
    value = child_at(values, 0) if values is not None else None
    if target is None or value is None:
        return None
    name = text_of(target, at.source)
    if value.type == "function_definition":
        return Definition("function", name, (name.rpartition(".")[2],))
    if at.scope in ("function", "method", "test") or "[" in name:
        return None
    names = tuple(part.strip().rpartition(".")[2] for part in name.split(","))
    return Definition("constant", name, names, members=value.type == "table_constructor")


def _field(node: Node, at: Place) -> Definition | None:
    value = node.child_by_field_name("value")
    if value is None or value.type != "function_definition":
        return None
    name = field_text(node, at.source, "name")
    return Definition("method", name, (name,)) if name else None


def _call(node: Node, at: Place) -> Definition | None:
    match = _TEST.match(at.source, node.start_byte)
    if match is None:
        return None
    name = (match.group(2) or match.group(3)).decode("utf-8", "replace")
    return Definition("test", name, (name,), match.group(1) in (b"describe", b"context"), True, " > ")


LUA = Rules(
    definitions={
        "function_declaration": _function,
        "variable_declaration": _assignment,
        "assignment_statement": _assignment,
        "field": _field,
        "function_call": _call,
    },
    sequences=words("chunk block table_constructor"),
    opaque=words("string"),
)
LUAU = LUA
