"""Go: methods are named after their receiver's type, grouped declarations are transparent."""

from __future__ import annotations

import re

from ctx.chunking.rules import WRAPPER, Candidate, Definition, Reader, Rules, child_at

_TEST = re.compile(r"(?:Test|Benchmark|Example|Fuzz)(?![a-z])")
_RECEIVER = re.compile(r"(\w+)\s*(?:\[.*\])?\s*\)$")
_TYPE_KINDS = {"struct_type": "struct", "interface_type": "interface"}


def _function(at: Candidate) -> Definition | None:
    name = at.field("name")
    is_test = _TEST.match(name) and (name.startswith("Example") or "testing." in at.field("parameters"))
    return at.define("function", name, bool(is_test))


def _method(at: Candidate) -> Definition | None:
    name = at.field("name")
    receiver = _RECEIVER.search(at.field("receiver"))
    return Definition("method", f"{receiver[1]}.{name}" if receiver else name, (name,)) if name else None


def _spec(kind: str) -> Reader:
    def read(at: Candidate) -> Definition | None:
        names = tuple(map(at.text, at.node.children_by_field_name("name")))
        if at.is_local or not names:
            return None
        inner = at.node.child_by_field_name("type") if kind == "type" else None
        return Definition(_TYPE_KINDS.get(inner.type, kind) if inner is not None else kind, names[0], names)

    return read


def _declaration(kind: str) -> Reader:
    """Return a reader of declarations: a single spec names it, several in parentheses are separate."""
    read_spec = _spec(kind)

    def read(at: Candidate) -> Definition | None:
        second = child_at(at.node, 1)
        if at.is_local or second is None:
            return None
        if second.type == "(" or second.type.endswith("_list"):
            return WRAPPER
        return read_spec(at._replace(node=second))

    return read


GO = Rules(
    definitions={
        _function: "function_declaration",
        _method: "method_declaration",
        "method": "method_elem",
        _declaration("type"): "type_declaration",
        _declaration("constant"): "const_declaration var_declaration",
        _spec("type"): "type_spec type_alias",
        _spec("constant"): "const_spec var_spec",
    },
    sequences="source_file block statement_list literal_value field_declaration_list interface_type "
    "var_spec_list import_spec_list expression_case default_case type_case communication_case",
    opaque="raw_string_literal interpreted_string_literal",
    imports="package_clause import_declaration",
)
