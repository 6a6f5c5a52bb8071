"""Rust: impl blocks have their type's name, attributes and doc comments are siblings of the item."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ctx.chunking.rules import IMPORTS, Definition, Place, Rules, by_field, defined, field_text
from ctx.chunking.wordlists import words

if TYPE_CHECKING:
    from tree_sitter import Node

_TEST = re.compile(
    rb"#\[\s*(?:\w+::)*(?:test|rstest|test_case|bench|quickcheck|proptest|wasm_bindgen_test)\b"
)
_CFG_TEST = re.compile(rb"#\[\s*cfg\s*\(\s*test\s*\)\s*\]")
_TYPE_NAME = re.compile(r"(?:&\s*)?(?:'\w+\s+)?(?:mut\s+)?(?:dyn\s+)?(?:\w+\s*::\s*)*(\w+)")


def _function(node: Node, at: Place) -> Definition | None:
    is_test = _TEST.search(at.source, at.lead, node.start_byte) is not None
    return defined("function", at, field_text(node, at.source, "name"), is_test)


def _impl(node: Node, at: Place) -> Definition | None:
    text = field_text(node, at.source, "type")
    match = _TYPE_NAME.match(text)
    name = match.group(1) if match else text
    return Definition("impl", name, (), members=True) if name else None


def _module(node: Node, at: Place) -> Definition | None:
    name = field_text(node, at.source, "name")
    if node.child_by_field_name("body") is None:
        return IMPORTS
    is_test = name == "tests" or _CFG_TEST.search(at.source, at.lead, node.start_byte) is not None
    return Definition("module", name, (name,), members=True, is_test=is_test)


RUST = Rules(
    definitions={
        "function_item": _function,
        "function_signature_item": by_field("function"),
        "struct_item": by_field("struct"),
        "union_item": by_field("struct"),
        "enum_item": by_field("enum"),
        "enum_variant": by_field("field"),
        "trait_item": by_field("trait"),
        "impl_item": _impl,
        "mod_item": _module,
        "const_item": by_field("constant"),
        "static_item": by_field("constant"),
        "type_item": by_field("type"),
        "associated_type": by_field("type"),
        "macro_definition": by_field("macro"),
    },
    sequences=words(
        "source_file declaration_list block enum_variant_list field_declaration_list match_block "
        "token_tree array_expression use_list macro_definition field_initializer_list"
    ),
    opaque=frozenset({"string_literal", "raw_string_literal"}),
    leads=frozenset({"attribute_item"}),
    imports=frozenset({"use_declaration", "extern_crate_declaration"}),
    separator="::",
)
