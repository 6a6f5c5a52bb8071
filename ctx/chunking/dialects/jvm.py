"""Java and Kotlin: JUnit and kotest cases, companions, extension functions, backticked names."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ctx.chunking.rules import (
    WRAPPER,
    Definition,
    Place,
    Rules,
    before,
    by_field,
    by_type,
    child_at,
    child_of_type,
    defined,
    field_text,
    kind_inside,
    release_comments,
    text_of,
)
from ctx.chunking.wordlists import words

if TYPE_CHECKING:
    from tree_sitter import Node

_TEST = re.compile(
    rb"@(?:[\w.]+:)?(?:\w+\.)*(?:Test|ParameterizedTest|RepeatedTest|TestFactory|TestTemplate|Theory)\b"
)
_KOTEST = words(
    "test should describe context it given when then feature scenario expect xtest xdescribe xit xcontext "
    "Given When Then And Feature Scenario"
)


def _java_method(node: Node, at: Place) -> Definition | None:
    name = node.child_by_field_name("name")
    if name is None:
        return None
    return defined("method", at, text_of(name, at.source), _TEST.search(before(node, name, at)) is not None)


def _java_fields(node: Node, at: Place) -> Definition | None:
    names = tuple(field_text(d, at.source, "name") for d in node.children_by_field_name("declarator"))
    return Definition("field", names[0], names) if names else None


JAVA = Rules(
    definitions={
        "class_declaration": by_field("class"),
        "record_declaration": by_field("class"),
        "interface_declaration": by_field("interface"),
        "annotation_type_declaration": by_field("interface"),
        "enum_declaration": by_field("enum"),
        "method_declaration": _java_method,
        "constructor_declaration": _java_method,
        "compact_constructor_declaration": _java_method,
        "annotation_type_element_declaration": _java_method,
        "field_declaration": _java_fields,
        "constant_declaration": _java_fields,
        "enum_constant": by_field("field"),
        "module_declaration": by_field("module"),
    },
    sequences=words(
        "program class_body interface_body enum_body enum_body_declarations annotation_type_body "
        "block constructor_body switch_block switch_block_statement_group array_initializer "
        "module_body element_value_array_initializer"
    ),
    opaque=frozenset({"string_literal", "text_block"}),
    imports=frozenset({"package_declaration", "import_declaration"}),
)


def _kotlin_name(node: Node, at: Place) -> str:
    return text_of(node, at.source).strip("`")


def _kotlin_class(node: Node, at: Place) -> Definition | None:
    kind = "class"
    for child in node.children:
        word = child.type
        if word == "type_identifier":
            return defined(kind, at, _kotlin_name(child, at))
        if word in ("interface", "enum"):
            kind = word
    return None


def _kotlin_function(node: Node, at: Place) -> Definition | None:
    name = child_of_type(node, "simple_identifier")
    if name is None:
        return None
    plain = _kotlin_name(name, at)
    if _TEST.search(before(node, name, at)):
        return Definition("test", plain, (plain,), is_test=True)
    return Definition(kind_inside("function", at.scope), _received(node, at) + plain, (plain,))


def _received(node: Node, at: Place) -> str:
    """Return the receiver of an extension with its dot, without type arguments."""
    receiver = field_text(node, at.source, "receiver")
    return re.sub(r"<.*>|[?()\s]|@\w+", "", receiver) + "." if receiver else ""


def _kotlin_property(node: Node, at: Place) -> Definition | None:
    if at.scope in ("function", "method", "test"):
        return None
    variable = child_of_type(node, "variable_declaration", "multi_variable_declaration")
    if variable is None:
        return None
    declared = [variable] if variable.type == "variable_declaration" else variable.named_children
    names = tuple(
        _kotlin_name(name, at)
        for one in declared
        if (name := child_of_type(one, "simple_identifier")) is not None
    )
    if not names:
        return None
    return Definition(kind_inside("constant", at.scope), _received(node, at) + names[0], names)


def _kotlin_companion(node: Node, at: Place) -> Definition:
    """Return a wrapper: members of a companion are qualified by the class, the companion adds no name."""
    name = child_of_type(node, "type_identifier")
    return WRAPPER if name is None else Definition("object", "", (_kotlin_name(name, at),), members=True)


def _kotlin_constructor(_node: Node, _at: Place) -> Definition:
    return Definition("method", "constructor", ("constructor",))


def _kotest(node: Node, at: Place) -> Definition | None:
    """Read `"name" { … }`, `test("name") { … }` and similar tests."""
    source = at.source
    callee = child_at(node, 0)
    for _ in range(3):
        if callee is None or callee.type != "call_expression":
            break
        callee = child_at(callee, 0)
    if callee is None or source[node.end_byte - 1] != 0x7D:
        return None
    if callee.type == "simple_identifier":
        if text_of(callee, source) not in _KOTEST:
            return None
        name = _first_string(source, callee.end_byte)
    else:
        name = text_of(callee, source).strip('"') if callee.type == "string_literal" else ""
    return Definition("test", name, (name,), members=True, is_test=True, separator=" > ") if name else None


def _first_string(source: bytes, start: int) -> str:
    match = re.compile(rb'\s*\(\s*"((?:[^"\\\n]|\\.){1,300})"').match(source, start)
    return match.group(1).decode("utf-8", "replace") if match else ""


_HEADERS = words("package_header import_list import_header")
_COMMENTS = words("line_comment multiline_comment shebang_line")


def _is_annotation(node: Node, source: bytes) -> bool:
    """Return True for `@Name(…)` on a line of its own, which the grammar parses as an expression."""
    return source[node.start_byte] == 0x40


KOTLIN = Rules(
    definitions={
        "class_declaration": _kotlin_class,
        "object_declaration": by_type("object", "type_identifier"),
        "companion_object": _kotlin_companion,
        "function_declaration": _kotlin_function,
        "property_declaration": _kotlin_property,
        "secondary_constructor": _kotlin_constructor,
        "type_alias": by_type("type", "type_identifier"),
        "enum_entry": by_type("field", "simple_identifier"),
        "call_expression": _kotest,
    },
    sequences=frozenset(
        {
            "source_file",
            "class_body",
            "enum_class_body",
            "statements",
            "when_expression",
            "control_structure_body",
        }
    ),
    opaque=frozenset({"string_literal"}),
    comments=_COMMENTS,
    leads=frozenset({"file_annotation"}),
    leads_if={"prefix_expression": _is_annotation},
    imports=_HEADERS,
    expand=release_comments(_COMMENTS, _HEADERS),
)
