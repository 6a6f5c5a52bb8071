"""Java and Kotlin: JUnit and kotest cases, companions, extension functions, backticked names."""

from __future__ import annotations

import re

from ctx.chunking.rules import (
    WRAPPER,
    Candidate,
    Definition,
    Rules,
    by_field,
    by_type,
    child_at,
    child_of_type,
    release_comments,
    test_case,
)

_TEST = re.compile(
    rb"@(?:[\w.]+:)?(?:\w+\.)*(?:Test|ParameterizedTest|RepeatedTest|TestFactory|TestTemplate|Theory)\b"
)


_java_method = by_field("method", test_mark=_TEST)


def _java_fields(at: Candidate) -> Definition | None:
    declarators = at.node.children_by_field_name("declarator")
    return at.define_names("field", (at.field("name", one) for one in declarators))


JAVA = Rules(
    definitions={
        "class": "class_declaration record_declaration",
        "interface": "interface_declaration annotation_type_declaration",
        "enum": "enum_declaration",
        _java_method: "method_declaration constructor_declaration compact_constructor_declaration "
        "annotation_type_element_declaration",
        _java_fields: "field_declaration constant_declaration",
        "field": "enum_constant",
        "module": "module_declaration",
    },
    sequences="program class_body interface_body enum_body enum_body_declarations annotation_type_body "
    "block constructor_body switch_block switch_block_statement_group array_initializer "
    "module_body element_value_array_initializer",
    opaque="string_literal text_block",
    imports="package_declaration import_declaration",
)

_KOTEST = frozenset(
    "test should describe context it given when then feature scenario expect xtest xdescribe xit xcontext "
    "Given When Then And Feature Scenario".split()
)
_KOTEST_NAME = re.compile(rb'\s*\(\s*"((?:[^"\\\n]|\\.){1,300})"')


def _kotlin_class(at: Candidate) -> Definition | None:
    kind = "class"
    for child in at.node.children:
        word = child.type
        if word == "type_identifier":
            return at.define(kind, at.text(child).strip("`"))
        if word in ("interface", "enum"):
            kind = word
    return None


def _kotlin_function(at: Candidate) -> Definition | None:
    name = child_of_type(at.node, "simple_identifier")
    if name is None:
        return None
    plain = at.text(name).strip("`")
    if _TEST.search(at.source, at.lead, name.start_byte):
        return Definition("test", plain, (plain,), is_test=True)
    return Definition(at.kind("function"), _receiver(at) + plain, (plain,))


def _receiver(at: Candidate) -> str:
    """Return the receiver of an extension with its dot, without type arguments."""
    receiver = at.field("receiver")
    return re.sub(r"<.*>|[?()\s]|@\w+", "", receiver) + "." if receiver else ""


def _kotlin_property(at: Candidate) -> Definition | None:
    variable = child_of_type(at.node, "variable_declaration", "multi_variable_declaration")
    if at.is_local or variable is None:
        return None
    declared = [variable] if variable.type == "variable_declaration" else variable.named_children
    identifiers = (child_of_type(one, "simple_identifier") for one in declared)
    names = tuple(at.text(one).strip("`") for one in identifiers if one is not None)
    return Definition(at.kind("constant"), _receiver(at) + names[0], names) if names else None


def _kotlin_companion(at: Candidate) -> Definition:
    """Return a wrapper: members of a companion are qualified by the class, the companion adds no name."""
    name = child_of_type(at.node, "type_identifier")
    return WRAPPER if name is None else Definition("object", "", (at.text(name).strip("`"),), members=True)


def _kotlin_constructor(_at: Candidate) -> Definition:
    return Definition("method", "constructor", ("constructor",))


def _kotest(at: Candidate) -> Definition | None:
    """Read `"name" { … }`, `test("name") { … }` and similar tests."""
    callee = child_at(at.node, 0)
    for _ in range(3):
        if callee is None or callee.type != "call_expression":
            break
        callee = child_at(callee, 0)
    if callee is None or not at.source.endswith(b"}", 0, at.node.end_byte):
        return None
    name = ""
    if callee.type == "string_literal":
        name = at.text(callee).strip('"')
    elif callee.type == "simple_identifier" and at.text(callee) in _KOTEST:
        match = _KOTEST_NAME.match(at.source, callee.end_byte)
        name = match[1].decode("utf-8", "replace") if match else ""
    return test_case(name, is_group=True) if name else None


_HEADERS = "package_header import_list import_header"
_COMMENTS = "line_comment multiline_comment shebang_line"

KOTLIN = Rules(
    definitions={
        _kotlin_class: "class_declaration",
        by_type("object", "type_identifier"): "object_declaration",
        _kotlin_companion: "companion_object",
        _kotlin_function: "function_declaration",
        _kotlin_property: "property_declaration",
        _kotlin_constructor: "secondary_constructor",
        by_type("type", "type_identifier"): "type_alias",
        by_type("field", "simple_identifier"): "enum_entry",
        _kotest: "call_expression",
    },
    sequences="source_file class_body enum_class_body statements when_expression control_structure_body",
    opaque="string_literal",
    comments=_COMMENTS,
    leads="file_annotation",
    leads_if={"prefix_expression": re.compile(rb"@")},  # the grammar reads `@Name(…)` as an expression
    imports=_HEADERS,
    expand=release_comments(_COMMENTS, _HEADERS),
)
