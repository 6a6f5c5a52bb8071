"""The C family: names through declarators, `A::b`, macros, transparent include guards."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ctx.chunking.rules import MEMBERS, WRAPPER, Candidate, Definition, Rules

if TYPE_CHECKING:
    from tree_sitter import Node

_TEMPLATE_ARGUMENTS = re.compile(r"<[^<>]*>")
_TEST = re.compile(rb"(?:TEST|TYPED_TEST|BENCHMARK|FUZZ_TEST|SCENARIO)\w*\s*\(([^){};]{1,300})\)")
_MACRO_TYPE = re.compile(
    rb"(class|struct)\s+(?:[A-Z][A-Z0-9_]{2,}(?:\([^()]*\))?\s+)+(\w+)\s*(?:final\s*)?[:{]"
)
"""A class with an attribute macro before its name, which the grammar parses as a function."""
_CALLED = re.compile(rb"[^;{}()]*?(~?\w+)\s*\(")
_KINDS = {
    "struct_specifier": "struct",
    "union_specifier": "struct",
    "enum_specifier": "enum",
    "class_specifier": "class",
}


def _declared(node: Node, at: Candidate) -> tuple[str, bool]:
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
    text = at.text(node)
    for _ in range(3):
        text = _TEMPLATE_ARGUMENTS.sub("", text)
    return (text.replace(" ", "") if "operator" not in text else text), is_function


def _plain(name: str, at: Candidate) -> str:
    """Return the actual name if an attribute macro after the parameters was parsed as the name."""
    if "_" in name and name.isupper():
        called = _CALLED.match(at.source, at.node.start_byte, at.node.end_byte)
        if called is not None:
            return called.group(1).decode("utf-8", "replace")
    return name


def _function(at: Candidate) -> Definition | None:
    test = _TEST.match(at.source, at.node.start_byte)
    if test is not None:
        parts = [part.strip(' \n"') for part in test.group(1).decode("utf-8", "replace").split(",")]
        name = ".".join(part for part in parts[:2] if part)
        return Definition("test", name, (name,), is_test=True)
    macro = _MACRO_TYPE.match(at.source, at.node.start_byte)
    if macro is not None:
        return at.define(macro.group(1).decode(), macro.group(2).decode())
    declarator = at.node.child_by_field_name("declarator")
    name = "" if declarator is None else _plain(_declared(declarator, at)[0], at)
    if not name:
        return None
    kind = "method" if "::" in name and not name.startswith("operator") else at.kind("function")
    return Definition(kind, name, (name.rpartition("::")[2],))


def _declaration(at: Candidate) -> Definition | None:
    """Read prototypes, variables and fields."""
    if at.is_local:
        return None
    found = [_declared(one, at) for one in at.node.children_by_field_name("declarator")]
    plain = [_plain(name, at) for name, _ in found]
    names = tuple(name.rpartition("::")[2] for name in plain if name)
    if not names:
        inner = at.node.child_by_field_name("type")
        return _specifier(at._replace(node=inner)) if inner is not None and inner.type in _KINDS else None
    return Definition(at.kind("function" if found[0][1] else "constant"), plain[0], names)


def _specifier(at: Candidate) -> Definition | None:
    if at.node.child_by_field_name("body") is None:
        return None
    return at.define(_KINDS[at.node.type], _TEMPLATE_ARGUMENTS.sub("", at.field("name")))


def _type_definition(at: Candidate) -> Definition | None:
    declarator = at.node.child_by_field_name("declarator")
    inner = at.node.child_by_field_name("type")
    name = "" if declarator is None else _declared(declarator, at)[0]
    if not name:
        return None
    kind = "type"
    if inner is not None and inner.child_by_field_name("body") is not None:
        kind = _KINDS.get(inner.type, "type")
    return Definition(kind, name, (name,), members=kind in MEMBERS)


def _namespace(at: Candidate) -> Definition:
    name = at.node.child_by_field_name("name")
    return WRAPPER if name is None else Definition("module", at.text(name), (), members=True)


def _template(at: Candidate) -> Definition | None:
    return CPP.read(at, at.node.named_children[-1])


def _linkage(at: Candidate) -> Definition | None:
    """Read `extern "C"` before one declaration, or around several."""
    body = at.node.child_by_field_name("body")
    return CPP.read(at, body) if body is not None and body.type in CPP.readers else WRAPPER


def _conditional(at: Candidate) -> Definition | None:
    """Read `#if` around declarations; inside a function it is a statement."""
    return None if at.is_local else WRAPPER


C = CPP = CUDA = ARDUINO = GLSL = HLSL = ISPC = Rules(
    definitions={
        _function: "function_definition",
        _declaration: "declaration field_declaration",
        _type_definition: "type_definition",
        _specifier: "struct_specifier union_specifier class_specifier enum_specifier",
        "field": "enumerator",
        "type": "alias_declaration",
        "trait": "concept_definition",
        "macro": "preproc_def preproc_function_def",
        _namespace: "namespace_definition",
        _template: "template_declaration",
        _linkage: "linkage_specification",
        _conditional: "preproc_ifdef preproc_if preproc_else preproc_elif",
    },
    sequences="translation_unit compound_statement declaration_list field_declaration_list "
    "enumerator_list initializer_list preproc_ifdef preproc_if preproc_else preproc_elif "
    "case_statement",
    opaque="string_literal raw_string_literal concatenated_string preproc_arg",
    leads="access_specifier attribute_declaration",
    imports="preproc_include using_declaration import_declaration",
    separator="::",
)
