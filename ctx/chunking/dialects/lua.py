"""Lua: `function M.x`, `M.x = function`, functions in tables, busted's blocks."""

from __future__ import annotations

import re

from ctx.chunking.rules import IMPORTS, Candidate, Definition, Rules, child_at, child_of_type, test_case

_REQUIRE = re.compile(rb"local\s+[\w\s,]{1,200}=\s*require\b")
_TEST = re.compile(
    rb"(describe|context|it|pending|test)\s*\(\s*(?:\"([^\"\n]{1,300})\"|'([^'\n]{1,300})')\s*,"
)


def _function(at: Candidate) -> Definition | None:
    name = at.field("name")
    if not name:
        return None
    kind = "method" if ":" in name else "function"
    return Definition(kind, name, (name.replace(":", ".").rpartition(".")[2],))


def _assignment(at: Candidate) -> Definition | None:
    """Read `local x = …`, `M.x = function …`."""
    if _REQUIRE.match(at.source, at.node.start_byte):
        return IMPORTS
    is_local = at.node.type == "variable_declaration"
    inner = child_of_type(at.node, "assignment_statement") if is_local else at.node
    if inner is None or inner.child_count < 3:
        return None
    target, values = child_at(inner, 0), child_at(inner, inner.child_count - 1)
    value = child_at(values, 0) if values is not None else None
    if target is None or value is None:
        return None
    name = at.text(target)
    if value.type == "function_definition":
        return Definition("function", name, (name.rpartition(".")[2],))
    if at.is_local or "[" in name:
        return None
    names = tuple(part.strip().rpartition(".")[2] for part in name.split(","))
    return Definition("constant", name, names, members=value.type == "table_constructor")


def _field(at: Candidate) -> Definition | None:
    value = at.node.child_by_field_name("value")
    if value is None or value.type != "function_definition":
        return None
    return at.define("method", at.field("name"))


def _call(at: Candidate) -> Definition | None:
    match = _TEST.match(at.source, at.node.start_byte)
    if match is None:
        return None
    return test_case((match[2] or match[3]).decode("utf-8", "replace"), match[1] in (b"describe", b"context"))


LUA = LUAU = Rules(
    definitions={
        _function: "function_declaration",
        _assignment: "variable_declaration assignment_statement",
        _field: "field",
        _call: "function_call",
    },
    sequences="chunk block table_constructor",
    opaque="string",
)
