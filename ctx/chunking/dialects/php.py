"""PHP: PHPUnit and Pest cases; namespaces are transparent."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ctx.chunking.rules import (
    IMPORTS,
    WRAPPER,
    Definition,
    Place,
    Rules,
    before,
    by_field,
    child_at,
    child_of_type,
    defined,
    field_text,
    kind_inside,
    text_of,
)
from ctx.chunking.wordlists import words

if TYPE_CHECKING:
    from tree_sitter import Node

_TEST = re.compile(rb"#\[[^\]]*\b(?:Test|DataProvider|TestWith)\b|@test\b")
_CALLS = re.compile(rb"(test|it|describe|arch|dataset)\s*\(\s*(['\"])((?:[^'\"\\\n]|\\.){1,300})\2\s*,")


def _method(node: Node, at: Place) -> Definition | None:
    name = node.child_by_field_name("name")
    if name is None:
        return None
    text = text_of(name, at.source)
    is_test = (text.startswith("test") and text[4:5] in ("", "_", text[4:5].upper())) or (
        _TEST.search(before(node, name, at)) is not None
    )
    return defined("method", at, text, is_test)


def _namespace(node: Node, _at: Place) -> Definition:
    return IMPORTS if node.child_by_field_name("body") is None else WRAPPER


def _constants(node: Node, at: Place) -> Definition | None:
    names = tuple(
        text_of(name, at.source)
        for child in node.named_children
        if child.type == "const_element" and (name := child_of_type(child, "name")) is not None
    )
    return Definition(kind_inside("constant", at.scope), names[0], names) if names else None


def _properties(node: Node, at: Place) -> Definition | None:
    names = tuple(
        field_text(child, at.source, "name").lstrip("$")
        for child in node.named_children
        if child.type == "property_element"
    )
    return Definition("field", names[0], names) if names else None


def _statement(node: Node, at: Place) -> Definition | None:
    """Read Pest's `it("…", function …)`, and a function in a variable at the top level of a file."""
    match = _CALLS.match(at.source, node.start_byte)
    if match is not None:
        name = match.group(3).decode("utf-8", "replace")
        return Definition("test", name, (name,), match.group(1) == b"describe", True, " > ")
    inner = child_at(node, 0)
    if at.scope != "module" or inner is None or inner.type != "assignment_expression":
        return None
    value = inner.child_by_field_name("right")
    if value is None or value.type not in ("anonymous_function", "arrow_function"):
        return None
    return defined("function", at, field_text(inner, at.source, "left").lstrip("$"))


PHP = Rules(
    definitions={
        "namespace_definition": _namespace,
        "class_declaration": by_field("class"),
        "interface_declaration": by_field("interface"),
        "trait_declaration": by_field("trait"),
        "enum_declaration": by_field("enum"),
        "enum_case": by_field("field"),
        "function_definition": by_field("function"),
        "method_declaration": _method,
        "const_declaration": _constants,
        "property_declaration": _properties,
        "expression_statement": _statement,
    },
    sequences=words(
        "program declaration_list enum_declaration_list compound_statement "
        "array_creation_expression switch_block case_statement default_statement match_block "
        "colon_block"
    ),
    opaque=frozenset({"string", "encapsed_string", "heredoc", "nowdoc", "text", "text_interpolation"}),
    leads=frozenset({"attribute_list"}),
    imports=frozenset({"namespace_use_declaration", "php_tag", "declare_statement"}),
    separator="::",
)
