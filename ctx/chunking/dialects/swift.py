"""Swift: one node type for classes, structs, enums, actors and extensions; XCTest and Swift Testing."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ctx.chunking.rules import (
    Definition,
    Place,
    Rules,
    before,
    by_field,
    defined,
    field_text,
    kind_inside,
    text_of,
)
from ctx.chunking.wordlists import words

if TYPE_CHECKING:
    from tree_sitter import Node

_KINDS = {"struct": "struct", "enum": "enum", "extension": "impl"}
_TEST = re.compile(rb"@Test\b")


def _type(node: Node, at: Place) -> Definition | None:
    name = re.sub(r"<.*", "", field_text(node, at.source, "name"))
    kind = _KINDS.get(field_text(node, at.source, "declaration_kind"), "class")
    return Definition(kind, name, () if kind == "impl" else (name,), members=True) if name else None


def _function(node: Node, at: Place) -> Definition | None:
    name = node.child_by_field_name("name")
    if name is None:
        return None
    text = text_of(name, at.source)
    is_test = (text.startswith("test") and at.scope == "class") or _TEST.search(
        before(node, name, at)
    ) is not None
    return defined("function", at, text, is_test)


def _initialiser(node: Node, _at: Place) -> Definition:
    name = node.type.partition("_")[0]
    return Definition("method", name, (name,))


def _property(node: Node, at: Place) -> Definition | None:
    if at.scope in ("function", "method", "test"):
        return None
    name = field_text(node, at.source, "name")
    return Definition(kind_inside("constant", at.scope), name, (name,)) if name.isidentifier() else None


def _cases(node: Node, at: Place) -> Definition | None:
    names = tuple(text_of(name, at.source) for name in node.children_by_field_name("name"))
    return Definition("field", names[0], names) if names else None


SWIFT = Rules(
    definitions={
        "class_declaration": _type,
        "protocol_declaration": by_field("interface"),
        "function_declaration": _function,
        "protocol_function_declaration": _function,
        "init_declaration": _initialiser,
        "deinit_declaration": _initialiser,
        "subscript_declaration": _initialiser,
        "property_declaration": _property,
        "protocol_property_declaration": _property,
        "typealias_declaration": by_field("type"),
        "associatedtype_declaration": by_field("type"),
        "macro_declaration": by_field("macro"),
        "enum_entry": _cases,
    },
    sequences=words(
        "source_file class_body enum_class_body protocol_body statements array_literal dictionary_literal"
    ),
    opaque=words("line_string_literal multi_line_string_literal raw_string_literal"),
    comments=words("comment multiline_comment"),
    imports=words("import_declaration"),
)
