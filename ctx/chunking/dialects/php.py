"""PHP: PHPUnit and Pest cases; namespaces are transparent."""

from __future__ import annotations

import re

from ctx.chunking.rules import (
    IMPORTS,
    WRAPPER,
    Candidate,
    Definition,
    Rules,
    child_at,
    child_of_type,
    test_case,
)

_TEST = re.compile(rb"#\[[^\]]*\b(?:Test|DataProvider|TestWith)\b|@test\b")
_CALLS = re.compile(rb"(test|it|describe|arch|dataset)\s*\(\s*(['\"])((?:[^'\"\\\n]|\\.){1,300})\2\s*,")


def _method(at: Candidate) -> Definition | None:
    name = at.node.child_by_field_name("name")
    if name is None:
        return None
    text = at.text(name)
    is_test = text.startswith("test") and text[4:5] == text[4:5].upper()
    return at.define("method", text, is_test or bool(_TEST.search(at.source, at.lead, name.start_byte)))


def _namespace(at: Candidate) -> Definition:
    return IMPORTS if at.node.child_by_field_name("body") is None else WRAPPER


def _constants(at: Candidate) -> Definition | None:
    elements = (one for one in at.node.named_children if one.type == "const_element")
    names = (child_of_type(one, "name") for one in elements)
    return at.define_names("constant", (at.text(name) for name in names if name is not None))


def _properties(at: Candidate) -> Definition | None:
    elements = (one for one in at.node.named_children if one.type == "property_element")
    return at.define_names("field", (at.field("name", one).lstrip("$") for one in elements))


def _statement(at: Candidate) -> Definition | None:
    """Read Pest's `it("…", function …)`, and a function in a variable at the top level of a file."""
    match = _CALLS.match(at.source, at.node.start_byte)
    if match is not None:
        return test_case(match[3].decode("utf-8", "replace"), match[1] == b"describe")
    inner = child_at(at.node, 0)
    if at.scope != "module" or inner is None or inner.type != "assignment_expression":
        return None
    value = inner.child_by_field_name("right")
    if value is None or value.type not in ("anonymous_function", "arrow_function"):
        return None
    return at.define("function", at.field("left", inner).lstrip("$"))


PHP = Rules(
    definitions={
        _namespace: "namespace_definition",
        "class": "class_declaration",
        "interface": "interface_declaration",
        "trait": "trait_declaration",
        "enum": "enum_declaration",
        "field": "enum_case",
        "function": "function_definition",
        _method: "method_declaration",
        _constants: "const_declaration",
        _properties: "property_declaration",
        _statement: "expression_statement",
    },
    sequences="program declaration_list enum_declaration_list compound_statement "
    "array_creation_expression switch_block case_statement default_statement match_block colon_block",
    opaque="string encapsed_string heredoc nowdoc text text_interpolation",
    leads="attribute_list",
    imports="namespace_use_declaration php_tag declare_statement",
    separator="::",
)
