"""C#: namespaces are transparent, attributes mark tests."""

from __future__ import annotations

import re

from ctx.chunking.rules import Candidate, Definition, Rules, by_field, child_of_type, wrapper

_TEST = re.compile(
    rb"[\[,]\s*(?:\w+\.)*(?:Fact|Theory|Test|TestCase|TestCaseSource|TestMethod|DataTestMethod|SkippableFact|"
    rb"ConditionalFact|ConditionalTheory)(?:Attribute)?\s*[\](,]"
)


_method = by_field("method", test_mark=_TEST)


def _operator(at: Candidate) -> Definition | None:
    sign = at.field("operator") or at.field("type")
    return at.define("method", sign and f"operator {sign}")


def _indexer(_at: Candidate) -> Definition:
    return Definition("method", "this[]", ("this",))


def _fields(at: Candidate) -> Definition | None:
    variables = child_of_type(at.node, "variable_declaration")
    children = variables.named_children if variables is not None else ()
    return at.define_names(
        "field", (at.field("name", one) for one in children if one.type == "variable_declarator")
    )


CSHARP = Rules(
    definitions={
        wrapper: "namespace_declaration",
        "class": "class_declaration record_declaration",
        "struct": "struct_declaration record_struct_declaration",
        "interface": "interface_declaration",
        "enum": "enum_declaration",
        "type": "delegate_declaration",
        _method: "method_declaration constructor_declaration destructor_declaration",
        "function": "local_function_statement",
        _operator: "operator_declaration conversion_operator_declaration",
        _indexer: "indexer_declaration",
        "field": "property_declaration event_declaration enum_member_declaration",
        _fields: "field_declaration event_field_declaration",
    },
    sequences="compilation_unit declaration_list enum_member_declaration_list block accessor_list "
    "switch_body switch_section initializer_expression preproc_if preproc_else preproc_elif "
    "preproc_if_in_top_level file_scoped_namespace_declaration",
    opaque="string_literal raw_string_literal verbatim_string_literal",
    leads="preproc_region",
    tails="preproc_endregion",
    imports="using_directive extern_alias_directive global_attribute file_scoped_namespace",
)
