"""C#: namespaces are transparent, attributes mark tests."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ctx.chunking.rules import (
    Definition,
    Place,
    Rules,
    before,
    by_field,
    child_of_type,
    defined,
    field_text,
    text_of,
    wrapper,
)
from ctx.chunking.wordlists import words

if TYPE_CHECKING:
    from tree_sitter import Node

_TEST = re.compile(
    rb"[\[,]\s*(?:\w+\.)*(?:Fact|Theory|Test|TestCase|TestCaseSource|TestMethod|DataTestMethod|SkippableFact|"
    rb"ConditionalFact|ConditionalTheory)(?:Attribute)?\s*[\](,]"
)


def _method(node: Node, at: Place) -> Definition | None:
    name = node.child_by_field_name("name")
    if name is None:
        return None
    return defined("method", at, text_of(name, at.source), _TEST.search(before(node, name, at)) is not None)


def _operator(node: Node, at: Place) -> Definition | None:
    sign = field_text(node, at.source, "operator") or field_text(node, at.source, "type")
    return defined("method", at, f"operator {sign}" if sign else "")


def _indexer(_node: Node, _at: Place) -> Definition:
    return Definition("method", "this[]", ("this",))


def _fields(node: Node, at: Place) -> Definition | None:
    variables = child_of_type(node, "variable_declaration")
    if variables is None:
        return None
    names = tuple(
        field_text(child, at.source, "name")
        for child in variables.named_children
        if child.type == "variable_declarator"
    )
    return Definition("field", names[0], names) if names else None


CSHARP = Rules(
    definitions={
        "namespace_declaration": wrapper,
        "class_declaration": by_field("class"),
        "record_declaration": by_field("class"),
        "struct_declaration": by_field("struct"),
        "record_struct_declaration": by_field("struct"),
        "interface_declaration": by_field("interface"),
        "enum_declaration": by_field("enum"),
        "enum_member_declaration": by_field("field"),
        "delegate_declaration": by_field("type"),
        "method_declaration": _method,
        "constructor_declaration": _method,
        "destructor_declaration": _method,
        "local_function_statement": by_field("function"),
        "operator_declaration": _operator,
        "conversion_operator_declaration": _operator,
        "indexer_declaration": _indexer,
        "property_declaration": by_field("field"),
        "event_declaration": by_field("field"),
        "event_field_declaration": _fields,
        "field_declaration": _fields,
    },
    sequences=words(
        "compilation_unit declaration_list enum_member_declaration_list block accessor_list "
        "switch_body switch_section initializer_expression preproc_if preproc_else preproc_elif "
        "preproc_if_in_top_level file_scoped_namespace_declaration"
    ),
    opaque=frozenset({"string_literal", "raw_string_literal", "verbatim_string_literal"}),
    leads=frozenset({"preproc_region"}),
    tails=frozenset({"preproc_endregion"}),
    imports=frozenset(
        {"using_directive", "extern_alias_directive", "global_attribute", "file_scoped_namespace"}
    ),
)
