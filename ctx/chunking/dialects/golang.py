"""Go: methods are named after their receiver's type, grouped declarations are transparent."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ctx.chunking.rules import (
    WRAPPER,
    Define,
    Definition,
    Place,
    Rules,
    by_field,
    child_at,
    defined,
    field_text,
    text_of,
)
from ctx.chunking.wordlists import words

if TYPE_CHECKING:
    from tree_sitter import Node

_TEST = re.compile(r"(?:Test|Benchmark|Example|Fuzz)(?![a-z])")
_RECEIVER = re.compile(r"(\w+)\s*(?:\[.*\])?\s*\)$")
_TYPE_KINDS = {"struct_type": "struct", "interface_type": "interface"}


def _function(node: Node, at: Place) -> Definition | None:
    name = field_text(node, at.source, "name")
    if name and _TEST.match(name):
        parameters = field_text(node, at.source, "parameters")
        return defined("function", at, name, "testing." in parameters or name.startswith("Example"))
    return defined("function", at, name)


def _method(node: Node, at: Place) -> Definition | None:
    name = field_text(node, at.source, "name")
    if not name:
        return None
    receiver = _RECEIVER.search(field_text(node, at.source, "receiver"))
    return Definition("method", f"{receiver.group(1)}.{name}" if receiver else name, (name,))


def _spec(kind: str) -> Define:
    def define(node: Node, at: Place) -> Definition | None:
        if at.scope in ("function", "method", "test"):
            return None
        names = tuple(text_of(child, at.source) for child in node.children_by_field_name("name"))
        if not names:
            return None
        kind_here = kind
        if kind == "type":
            inner = node.child_by_field_name("type")
            kind_here = _TYPE_KINDS.get(inner.type, "type") if inner is not None else "type"
        return Definition(kind_here, names[0], names)

    return define


def _declaration(kind: str) -> Define:
    """Return a reader of declarations: a single spec names it, several in parentheses are separate."""
    define_spec = _spec(kind)

    def define(node: Node, at: Place) -> Definition | None:
        if at.scope in ("function", "method", "test"):
            return None
        second = child_at(node, 1)
        if second is None:
            return None
        if second.type == "(" or second.type.endswith("_list"):
            return WRAPPER
        return define_spec(second, at)

    return define


GO = Rules(
    definitions={
        "function_declaration": _function,
        "method_declaration": _method,
        "type_declaration": _declaration("type"),
        "const_declaration": _declaration("constant"),
        "var_declaration": _declaration("constant"),
        "type_spec": _spec("type"),
        "type_alias": _spec("type"),
        "const_spec": _spec("constant"),
        "var_spec": _spec("constant"),
        "method_elem": by_field("method"),
    },
    sequences=words(
        "source_file block statement_list literal_value field_declaration_list interface_type "
        "var_spec_list import_spec_list expression_case default_case type_case communication_case"
    ),
    opaque=frozenset({"raw_string_literal", "interpreted_string_literal"}),
    imports=frozenset({"package_clause", "import_declaration"}),
)
