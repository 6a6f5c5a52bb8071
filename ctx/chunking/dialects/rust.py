"""Rust: impl blocks have their type's name, attributes and doc comments are siblings of the item."""

from __future__ import annotations

import re

from ctx.chunking.rules import IMPORTS, Candidate, Definition, Rules

_TEST = re.compile(
    rb"#\[\s*(?:\w+::)*(?:test|rstest|test_case|bench|quickcheck|proptest|wasm_bindgen_test)\b"
)
_CFG_TEST = re.compile(rb"#\[\s*cfg\s*\(\s*test\s*\)\s*\]")
_TYPE_NAME = re.compile(r"(?:&\s*)?(?:'\w+\s+)?(?:mut\s+)?(?:dyn\s+)?(?:\w+\s*::\s*)*(\w+)")


def _function(at: Candidate) -> Definition | None:
    is_test = _TEST.search(at.source, at.lead, at.node.start_byte) is not None
    return at.define("function", at.field("name"), is_test)


def _impl(at: Candidate) -> Definition | None:
    text = at.field("type")
    match = _TYPE_NAME.match(text)
    name = match.group(1) if match else text
    return Definition("impl", name, (), members=True) if name else None


def _module(at: Candidate) -> Definition | None:
    if at.node.child_by_field_name("body") is None:
        return IMPORTS
    name = at.field("name")
    is_test = name == "tests" or _CFG_TEST.search(at.source, at.lead, at.node.start_byte) is not None
    return Definition("module", name, (name,), members=True, is_test=is_test)


RUST = Rules(
    definitions={
        _function: "function_item",
        "function": "function_signature_item",
        "struct": "struct_item union_item",
        "enum": "enum_item",
        "field": "enum_variant",
        "trait": "trait_item",
        _impl: "impl_item",
        _module: "mod_item",
        "constant": "const_item static_item",
        "type": "type_item associated_type",
        "macro": "macro_definition",
    },
    sequences="source_file declaration_list block enum_variant_list field_declaration_list match_block "
    "token_tree array_expression use_list macro_definition field_initializer_list",
    opaque="string_literal raw_string_literal",
    leads="attribute_item",
    imports="use_declaration extern_crate_declaration",
    separator="::",
)
