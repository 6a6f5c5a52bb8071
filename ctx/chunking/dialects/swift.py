"""Swift: one node type for classes, structs, enums, actors and extensions; XCTest and Swift Testing."""

from __future__ import annotations

import re

from ctx.chunking.rules import Candidate, Definition, Rules

_KINDS = {"struct": "struct", "enum": "enum", "extension": "impl"}
_TEST = re.compile(rb"@Test\b")


def _type(at: Candidate) -> Definition | None:
    name = re.sub(r"<.*", "", at.field("name"))
    kind = _KINDS.get(at.field("declaration_kind"), "class")
    return Definition(kind, name, () if kind == "impl" else (name,), members=True) if name else None


def _function(at: Candidate) -> Definition | None:
    name = at.node.child_by_field_name("name")
    if name is None:
        return None
    text = at.text(name)
    is_test = text.startswith("test") and at.scope == "class"
    return at.define("function", text, is_test or bool(_TEST.search(at.source, at.lead, name.start_byte)))


def _initialiser(at: Candidate) -> Definition | None:
    return at.define("method", at.node.type.partition("_")[0])


def _property(at: Candidate) -> Definition | None:
    name = at.field("name")
    return at.define("constant", name) if name.isidentifier() and not at.is_local else None


def _cases(at: Candidate) -> Definition | None:
    return at.define_names("field", map(at.text, at.node.children_by_field_name("name")))


SWIFT = Rules(
    definitions={
        _type: "class_declaration",
        "interface": "protocol_declaration",
        _function: "function_declaration protocol_function_declaration",
        _initialiser: "init_declaration deinit_declaration subscript_declaration",
        _property: "property_declaration protocol_property_declaration",
        "type": "typealias_declaration associatedtype_declaration",
        "macro": "macro_declaration",
        _cases: "enum_entry",
    },
    sequences="source_file class_body enum_class_body protocol_body statements array_literal "
    "dictionary_literal",
    opaque="line_string_literal multi_line_string_literal raw_string_literal",
    comments="comment multiline_comment",
    imports="import_declaration",
)
