"""JavaScript and TypeScript: functions in constants, objects and assignments, exports, test callbacks."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ctx.chunking.rules import (
    IMPORTS,
    Definition,
    Place,
    Rules,
    by_field,
    child_at,
    defined,
    field_text,
    kind_inside,
    text_of,
)
from ctx.chunking.wordlists import words

if TYPE_CHECKING:
    from tree_sitter import Node

_FUNCTIONS = frozenset({"arrow_function", "function_expression", "generator_function", "function"})
_STATEMENTS = frozenset({"function", "method", "test"})
_GROUPS = frozenset({b"describe", b"context", b"suite", b"fdescribe", b"xdescribe"})
_TEST_WORDS = (
    b"it",
    b"test",
    b"describe",
    b"context",
    b"suite",
    b"specify",
    b"bench",
    b"fit",
    b"xit",
    b"fdes",
    b"xdes",
    b"Deno",
)
_TEST = re.compile(
    rb"(describe|context|suite|it|test|specify|bench|fit|xit|fdescribe|xdescribe|Deno\.test)(?:\.(?!each|for)\w+)*"
    rb"(?:\.(?:each|for)\s*(?:\((?:[^()]|\([^()]*\)){0,600}\)|`[^`]{0,2000}`))?"
    rb"\s*\(\s*(?:'((?:[^'\\\n]|\\.){1,400})'|\"((?:[^\"\\\n]|\\.){1,400})\"|`([^`]{1,400})`)\s*,"
)
_REQUIRE = re.compile(rb"(?:const|let|var)\s+[\w${}\s,:]{1,400}=\s*(?:require|await import)\(")


def _value_kind(value: Node | None, at: Place) -> tuple[str, bool]:
    """Return the kind of a name with this value, and whether the value contains definitions."""
    if value is None:
        return kind_inside("constant", at.scope), False
    if value.type in _FUNCTIONS:
        return kind_inside("function", at.scope), False
    if value.type == "class":
        return "class", True
    return kind_inside("constant", at.scope), value.type == "object"


def _variables(node: Node, at: Place) -> Definition | None:
    source, start = at.source, node.start_byte
    if at.scope == "module" and source.find(b"(", start, start + 200) > 0 and _REQUIRE.match(source, start):
        return IMPORTS
    declarators = [child for child in node.named_children if child.type == "variable_declarator"]
    names = tuple(
        text_of(name, at.source)
        for one in declarators
        if (name := one.child_by_field_name("name")) is not None and name.type == "identifier"
    )
    if not names:
        return None
    kind, members = _value_kind(declarators[0].child_by_field_name("value"), at)
    if at.scope in _STATEMENTS and kind not in ("function", "class"):
        return None
    return Definition(kind, names[0], names, members)


def _export(node: Node, at: Place) -> Definition | None:
    inner = node.child_by_field_name("declaration")
    if inner is not None:
        define = JAVASCRIPT.definitions.get(inner.type)
        return define(inner, at) if define is not None else None
    value = node.child_by_field_name("value")
    if value is None:
        return IMPORTS
    name = field_text(value, at.source, "name") or "default"
    kind, members = _value_kind(value, at)
    if kind == "constant" and not members:
        return None
    return Definition(kind, name, (name,), members)


def _statement(node: Node, at: Place) -> Definition | None:
    if at.source.startswith(_TEST_WORDS, node.start_byte):
        found = _test(node, at)
        if found is not None:
            return found
    inner = child_at(node, 0)
    kind = None if inner is None else inner.type
    if inner is None or kind == "call_expression":
        return None
    if kind == "assignment_expression":
        return _assignment(inner, at)
    return by_field("module")(inner, at) if kind == "internal_module" else None


def _test(node: Node, at: Place) -> Definition | None:
    match = _TEST.match(at.source, node.start_byte)
    if match is None or match.end() > node.end_byte:
        return None
    name = (match.group(2) or match.group(3) or match.group(4)).decode("utf-8", "replace")
    name = " ".join(name.split())
    return Definition("test", name, (name,), match.group(1) in _GROUPS, True, " > ")


def _assignment(node: Node, at: Place) -> Definition | None:
    """Read assignments to exports, prototypes and members.

    `module.exports = …`, `exports.name = …`, `Type.prototype.name = …`, `object.name = function …`.
    """
    target = text_of(child_at(node, 0) or node, at.source)
    value = node.child_by_field_name("right")
    while value is not None and value.type == "assignment_expression":
        value = value.child_by_field_name("right")
    kind, members = _value_kind(value, at)
    exported = target.startswith(("module.exports", "exports."))
    if "(" in target or "[" in target or (kind in ("constant", "field") and not exported):
        return None
    if target in ("module.exports", "exports"):
        own = field_text(value, at.source, "name") if value is not None else ""
        return Definition(kind, own or "exports", (own,) if own else (), members)
    if kind == "function" and ".prototype." in target:
        kind = "method"
    name = (
        target.removeprefix("module.")
        .removeprefix("exports.")
        .removeprefix("this.")
        .replace(".prototype.", ".")
    )
    return Definition(kind, name, (name.rpartition(".")[2],), members)


def _field(node: Node, at: Place) -> Definition | None:
    name = field_text(node, at.source, "name") or field_text(node, at.source, "property")
    value = node.child_by_field_name("value")
    kind = "method" if value is not None and value.type in _FUNCTIONS else "field"
    return Definition(kind, name, (name,)) if name else None


def _pair(node: Node, at: Place) -> Definition | None:
    """Read a function or an object in an object."""
    value = node.child_by_field_name("value")
    if at.scope in _STATEMENTS or value is None:
        return None
    name = field_text(node, at.source, "key").strip("'\"")
    if value.type in _FUNCTIONS:
        return Definition("method", name, (name,))
    return Definition("field", name, (name,), members=True) if value.type == "object" else None


def _method(node: Node, at: Place) -> Definition | None:
    name = field_text(node, at.source, "name")
    return Definition("method", name, (name,)) if name else None


def _module(node: Node, at: Place) -> Definition | None:
    return defined("module", at, field_text(node, at.source, "name").strip("'\""))


def _ambient(node: Node, at: Place) -> Definition | None:
    for child in node.named_children:
        define = JAVASCRIPT.definitions.get(child.type)
        if define is not None:
            return define(child, at)
    return None


JAVASCRIPT = Rules(
    definitions={
        "function_declaration": by_field("function"),
        "generator_function_declaration": by_field("function"),
        "function_signature": by_field("function"),
        "class_declaration": by_field("class"),
        "abstract_class_declaration": by_field("class"),
        "interface_declaration": by_field("interface"),
        "type_alias_declaration": by_field("type"),
        "enum_declaration": by_field("enum"),
        "module": _module,
        "internal_module": _module,
        "ambient_declaration": _ambient,
        "method_definition": _method,
        "method_signature": _method,
        "abstract_method_signature": _method,
        "public_field_definition": _field,
        "field_definition": _field,
        "lexical_declaration": _variables,
        "variable_declaration": _variables,
        "export_statement": _export,
        "expression_statement": _statement,
        "pair": _pair,
    },
    sequences=words(
        "program statement_block class_body interface_body object array enum_body object_type "
        "switch_body switch_case switch_default jsx_element jsx_fragment named_imports "
        "export_clause union_type"
    ),
    opaque=frozenset({"template_string", "string", "jsx_text", "regex"}),
    comments=frozenset({"comment", "html_comment", "hash_bang_line"}),
    leads=frozenset({"decorator"}),
    tails=frozenset({"jsx_closing_element"}),
    imports=frozenset({"import_statement", "import_alias"}),
    clauses=True,
)
TYPESCRIPT = TSX = JAVASCRIPT
