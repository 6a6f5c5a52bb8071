"""JavaScript and TypeScript: functions in constants, objects and assignments, exports, test callbacks."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ctx.chunking.rules import IMPORTS, Candidate, Definition, Rules, child_at, child_of_type, test_case

if TYPE_CHECKING:
    from tree_sitter import Node

_FUNCTIONS = frozenset({"arrow_function", "function_expression", "generator_function", "function"})
_GROUPS = frozenset({b"describe", b"context", b"suite", b"fdescribe", b"xdescribe"})
_TEST_WORDS = tuple(b"it test describe context suite specify bench fit xit fdes xdes Deno".split())
_TEST = re.compile(
    rb"(describe|context|suite|it|test|specify|bench|fit|xit|fdescribe|xdescribe|Deno\.test)(?:\.(?!each|for)\w+)*"
    rb"(?:\.(?:each|for)\s*(?:\((?:[^()]|\([^()]*\)){0,600}\)|`[^`]{0,2000}`))?"
    rb"\s*\(\s*(?:'((?:[^'\\\n]|\\.){1,400})'|\"((?:[^\"\\\n]|\\.){1,400})\"|`([^`]{1,400})`)\s*,"
)
_REQUIRE = re.compile(rb"(?:const|let|var)\s+[\w${}\s,:]{1,400}=\s*(?:require|await import)\(")


def _value_kind(value: Node | None, at: Candidate) -> tuple[str, bool]:
    """Return the kind of a name with this value, and whether the value contains definitions."""
    node_type = "" if value is None else value.type
    if node_type == "class":
        return "class", True
    return at.kind("function" if node_type in _FUNCTIONS else "constant"), node_type == "object"


def _variables(at: Candidate) -> Definition | None:
    source, start = at.source, at.node.start_byte
    if at.scope == "module" and source.find(b"(", start, start + 200) > 0 and _REQUIRE.match(source, start):
        return IMPORTS
    declarators = [child for child in at.node.named_children if child.type == "variable_declarator"]
    declared = [one.child_by_field_name("name") for one in declarators]
    names = tuple(at.text(name) for name in declared if name is not None and name.type == "identifier")
    if not names:
        return None
    kind, members = _value_kind(declarators[0].child_by_field_name("value"), at)
    if at.is_local and kind not in ("function", "class"):
        return None
    return Definition(kind, names[0], names, members)


def _export(at: Candidate) -> Definition | None:
    inner = at.node.child_by_field_name("declaration")
    if inner is not None:
        return JAVASCRIPT.read(at, inner)
    value = at.node.child_by_field_name("value")
    if value is None:
        return IMPORTS
    name = at.field("name", value) or "default"
    kind, members = _value_kind(value, at)
    if kind == "constant" and not members:
        return None
    return Definition(kind, name, (name,), members)


def _statement(at: Candidate) -> Definition | None:
    if at.source.startswith(_TEST_WORDS, at.node.start_byte):
        test = _test(at)
        if test is not None:
            return test
    inner = child_at(at.node, 0)
    if inner is None:
        return None
    if inner.type == "assignment_expression":
        return _assignment(inner, at)
    return at.define("module", at.field("name", inner)) if inner.type == "internal_module" else None


def _test(at: Candidate) -> Definition | None:
    match = _TEST.match(at.source, at.node.start_byte)
    if match is None or match.end() > at.node.end_byte:
        return None
    name = (match[2] or match[3] or match[4]).decode("utf-8", "replace")
    return test_case(" ".join(name.split()), match[1] in _GROUPS)


def _assignment(node: Node, at: Candidate) -> Definition | None:
    """Read assignments to exports, prototypes and members.

    `module.exports = …`, `exports.name = …`, `Type.prototype.name = …`, `object.name = function …`.
    """
    target = at.text(child_at(node, 0) or node)
    value = node.child_by_field_name("right")
    while value is not None and value.type == "assignment_expression":
        value = value.child_by_field_name("right")
    kind, members = _value_kind(value, at)
    exported = target.startswith(("module.exports", "exports."))
    if "(" in target or "[" in target or (kind in ("constant", "field") and not exported):
        return None
    if target in ("module.exports", "exports"):
        own = at.field("name", value) if value is not None else ""
        return Definition(kind, own or "exports", (own,) if own else (), members)
    if kind == "function" and ".prototype." in target:
        kind = "method"
    for prefix in ("module.", "exports.", "this."):
        target = target.removeprefix(prefix)
    name = target.replace(".prototype.", ".")
    return Definition(kind, name, (name.rpartition(".")[2],), members)


def _field(at: Candidate) -> Definition | None:
    value = at.node.child_by_field_name("value")
    kind = "method" if value is not None and value.type in _FUNCTIONS else "field"
    return at.define(kind, at.field("name") or at.field("property"))


def _pair(at: Candidate) -> Definition | None:
    """Read a function or an object in an object."""
    value = at.node.child_by_field_name("value")
    if at.is_local or value is None:
        return None
    name = at.field("key").strip("'\"")
    if value.type in _FUNCTIONS:
        return Definition("method", name, (name,))
    return Definition("field", name, (name,), members=True) if value.type == "object" else None


def _module(at: Candidate) -> Definition | None:
    return at.define("module", at.field("name").strip("'\""))


def _ambient(at: Candidate) -> Definition | None:
    return JAVASCRIPT.read(at, child_of_type(at.node, *JAVASCRIPT.readers))


JAVASCRIPT = TYPESCRIPT = TSX = Rules(
    definitions={
        "function": "function_declaration generator_function_declaration function_signature",
        "class": "class_declaration abstract_class_declaration",
        "interface": "interface_declaration",
        "type": "type_alias_declaration",
        "enum": "enum_declaration",
        "method": "method_definition method_signature abstract_method_signature",
        _module: "module internal_module",
        _ambient: "ambient_declaration",
        _field: "public_field_definition field_definition",
        _variables: "lexical_declaration variable_declaration",
        _export: "export_statement",
        _statement: "expression_statement",
        _pair: "pair",
    },
    sequences="program statement_block class_body interface_body object array enum_body object_type "
    "switch_body switch_case switch_default jsx_element jsx_fragment named_imports "
    "export_clause union_type",
    opaque="template_string string jsx_text regex",
    comments="comment html_comment hash_bang_line",
    leads="decorator",
    tails="jsx_closing_element",
    imports="import_statement import_alias",
    clauses=True,
)
