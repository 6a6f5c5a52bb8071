"""Scala 2 and 3; ScalaTest, munit and specs2 cases."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ctx.chunking.rules import Definition, Place, Rules, by_field, kind_inside, release_comments, text_of
from ctx.chunking.wordlists import words

if TYPE_CHECKING:
    from tree_sitter import Node

_TEST = re.compile(
    rb"(test|it|describe|property|scenario|feature|Scenario|Feature|ignore|group)\s*\(\s*\"((?:[^\"\\\n]|\\.){1,300})\""
    rb"|(?:it|they|ignore)?\s*(?:should|must|can)?\s*\"((?:[^\"\\\n]|\\.){1,300})\""
    rb"(?:\s+(?:should|must|can)\s+\"((?:[^\"\\\n]|\\.){1,300})\")?\s+(in|should|when|must|can|which|>>|that)\b"
)
_GROUPS = frozenset(
    {b"describe", b"feature", b"Feature", b"should", b"when", b"must", b"can", b"which", b">>"}
)


def _value(node: Node, at: Place) -> Definition | None:
    if at.scope in ("function", "method", "test"):
        return None
    pattern = node.child_by_field_name("pattern") or node.child_by_field_name("name")
    if pattern is None or pattern.type != "identifier":
        return None
    name = text_of(pattern, at.source)
    return Definition(kind_inside("constant", at.scope), name, (name,))


def _test(node: Node, at: Place) -> Definition | None:
    match = _TEST.match(at.source, node.start_byte, node.end_byte)
    if match is None or at.source[node.end_byte - 1] != 0x7D:
        return None
    word, name, left, right, verb = match.groups()
    shown = " ".join(part.decode("utf-8", "replace") for part in (name, left, right) if part)
    return Definition("test", shown, (shown,), (word or verb) in _GROUPS, True, " > ")


SCALA = Rules(
    definitions={
        "class_definition": by_field("class"),
        "object_definition": by_field("object"),
        "package_object": by_field("object"),
        "trait_definition": by_field("trait"),
        "enum_definition": by_field("enum"),
        "simple_enum_case": by_field("field"),
        "full_enum_case": by_field("field"),
        "function_definition": by_field("function"),
        "function_declaration": by_field("function"),
        "given_definition": by_field("constant"),
        "type_definition": by_field("type"),
        "val_definition": _value,
        "var_definition": _value,
        "val_declaration": _value,
        "call_expression": _test,
        "infix_expression": _test,
    },
    sequences=words(
        "compilation_unit template_body enum_body block indented_block case_block indented_cases "
        "enum_case_definitions with_template_body"
    ),
    opaque=words("string interpolated_string_expression"),
    leads=words("annotation"),
    expand=release_comments(words("comment block_comment"), words("package_clause import_declaration")),
    imports=words("package_clause import_declaration export_declaration"),
)
