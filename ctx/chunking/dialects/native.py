"""The C family: names through declarators, `A::b`, macros, transparent include guards."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ctx.chunking.rules import (
    MEMBERS,
    WRAPPER,
    Define,
    Definition,
    Place,
    Rules,
    by_field,
    defined,
    kind_inside,
    text_of,
)
from ctx.chunking.wordlists import words

if TYPE_CHECKING:
    from tree_sitter import Node

_TEMPLATE_ARGUMENTS = re.compile(r"<[^<>]*>")
_TEST = re.compile(rb"(?:TEST|TYPED_TEST|BENCHMARK|FUZZ_TEST|SCENARIO)\w*\s*\(([^){};]{1,300})\)")
_MACRO_TYPE = re.compile(
    rb"(class|struct)\s+(?:[A-Z][A-Z0-9_]{2,}(?:\([^()]*\))?\s+)+(\w+)\s*(?:final\s*)?[:{]"
)
"""A class with an attribute macro before its name, which the grammar parses as a function."""
_CALLED = re.compile(rb"[^;{}()]*?(~?\w+)\s*\(")
_STATEMENTS = frozenset({"function", "method", "test"})
_BODIES = words("struct_specifier union_specifier enum_specifier class_specifier")
_SPECIFIER_KINDS = {"class_specifier": "class", "enum_specifier": "enum"}


def _declared(node: Node, at: Place) -> tuple[str, bool]:
    """Return the name at the end of a chain of declarators, and whether it is a function's."""
    is_function = False
    inner: Node | None = node
    for _ in range(12):
        if inner is None:
            return "", is_function
        node = inner
        is_function = is_function or node.type in ("function_declarator", "operator_cast")
        inner = node.child_by_field_name("declarator")
        if inner is None:
            if not node.type.endswith("_declarator"):
                break
            inner = next((child for child in node.named_children if child.type != "comment"), None)
    text = text_of(node, at.source)
    for _ in range(3):
        text = _TEMPLATE_ARGUMENTS.sub("", text)
    return (text.replace(" ", "") if "operator" not in text else text), is_function


def _plain(name: str, node: Node, at: Place) -> str:
    """Return the actual name if an attribute macro after the parameters was parsed as the name."""
    if "_" in name and name.isupper():
        called = _CALLED.match(at.source, node.start_byte, node.end_byte)
        if called is not None:
            return called.group(1).decode("utf-8", "replace")
    return name


def _function(node: Node, at: Place) -> Definition | None:
    test = _TEST.match(at.source, node.start_byte)
    if test is not None:
        parts = [part.strip(' \n"') for part in test.group(1).decode("utf-8", "replace").split(",")]
        name = ".".join(part for part in parts[:2] if part)
        return Definition("test", name, (name,), is_test=True)
    macro = _MACRO_TYPE.match(at.source, node.start_byte)
    if macro is not None:
        return defined(macro.group(1).decode(), at, macro.group(2).decode())
    declarator = node.child_by_field_name("declarator")
    if declarator is None:
        return None
    name = _plain(_declared(declarator, at)[0], node, at)
    if not name:
        return None
    kind = "method" if "::" in name and not name.startswith("operator") else kind_inside("function", at.scope)
    return Definition(kind, name, (name.rpartition("::")[2],))


def _declaration(node: Node, at: Place) -> Definition | None:
    """Read prototypes, variables and fields."""
    if at.scope in _STATEMENTS:
        return None
    found = [_declared(one, at) for one in node.children_by_field_name("declarator")]
    found = [(_plain(name, node, at), is_function) for name, is_function in found]
    names = tuple(name.rpartition("::")[2] for name, _ in found if name)
    if not names:
        inner = node.child_by_field_name("type")
        return _specifier(inner, at) if inner is not None and inner.type in _BODIES else None
    kind = "function" if found[0][1] else "constant"
    return Definition(kind_inside(kind, at.scope), found[0][0], names)


def _specifier(node: Node, at: Place) -> Definition | None:
    name = node.child_by_field_name("name")
    if name is None or node.child_by_field_name("body") is None:
        return None
    text = _TEMPLATE_ARGUMENTS.sub("", text_of(name, at.source))
    return defined(_SPECIFIER_KINDS.get(node.type, "struct"), at, text)


def _type_definition(node: Node, at: Place) -> Definition | None:
    declarator = node.child_by_field_name("declarator")
    inner = node.child_by_field_name("type")
    name = "" if declarator is None else _declared(declarator, at)[0]
    if not name:
        return None
    kind = "type"
    if inner is not None and inner.type in _BODIES and inner.child_by_field_name("body") is not None:
        kind = _SPECIFIER_KINDS.get(inner.type, "struct")
    return Definition(kind, name, (name,), members=kind in MEMBERS)


def _namespace(node: Node, at: Place) -> Definition:
    name = node.child_by_field_name("name")
    return WRAPPER if name is None else Definition("module", text_of(name, at.source), (), members=True)


def _template(node: Node, at: Place) -> Definition | None:
    inner = node.named_children[-1]
    define = DEFINITIONS.get(inner.type)
    return None if define is None else define(inner, at)


def _linkage(node: Node, at: Place) -> Definition | None:
    """Read `extern "C"` before one declaration, or around several."""
    body = node.child_by_field_name("body")
    define = None if body is None else DEFINITIONS.get(body.type)
    return WRAPPER if body is None or define is None else define(body, at)


def _conditional(_node: Node, at: Place) -> Definition | None:
    """Read `#if` around declarations; inside a function it is a statement."""
    return None if at.scope in _STATEMENTS else WRAPPER


DEFINITIONS: dict[str, Define] = {
    "function_definition": _function,
    "declaration": _declaration,
    "field_declaration": _declaration,
    "type_definition": _type_definition,
    "struct_specifier": _specifier,
    "union_specifier": _specifier,
    "class_specifier": _specifier,
    "enum_specifier": _specifier,
    "enumerator": by_field("field"),
    "alias_declaration": by_field("type"),
    "concept_definition": by_field("trait"),
    "preproc_def": by_field("macro"),
    "preproc_function_def": by_field("macro"),
    "namespace_definition": _namespace,
    "template_declaration": _template,
    "linkage_specification": _linkage,
    "preproc_ifdef": _conditional,
    "preproc_if": _conditional,
    "preproc_else": _conditional,
    "preproc_elif": _conditional,
}

CPP = Rules(
    definitions=DEFINITIONS,
    sequences=words(
        "translation_unit compound_statement declaration_list field_declaration_list "
        "enumerator_list initializer_list preproc_ifdef preproc_if preproc_else preproc_elif "
        "case_statement"
    ),
    opaque=words("string_literal raw_string_literal concatenated_string preproc_arg"),
    leads=words("access_specifier attribute_declaration"),
    imports=words("preproc_include using_declaration import_declaration"),
    separator="::",
)
C = CUDA = ARDUINO = GLSL = HLSL = ISPC = CPP
