"""Scala 2 and 3; ScalaTest, munit and specs2 cases."""

from __future__ import annotations

import re

from ctx.chunking.rules import Candidate, Definition, Rules, release_comments, test_case

_TEST = re.compile(
    rb"(test|it|describe|property|scenario|feature|Scenario|Feature|ignore|group)\s*\(\s*\"((?:[^\"\\\n]|\\.){1,300})\""
    rb"|(?:it|they|ignore)?\s*(?:should|must|can)?\s*\"((?:[^\"\\\n]|\\.){1,300})\""
    rb"(?:\s+(?:should|must|can)\s+\"((?:[^\"\\\n]|\\.){1,300})\")?\s+(in|should|when|must|can|which|>>|that)\b"
)
_GROUPS = (b"describe", b"feature", b"Feature", b"should", b"when", b"must", b"can", b"which", b">>")


def _value(at: Candidate) -> Definition | None:
    pattern = at.node.child_by_field_name("pattern") or at.node.child_by_field_name("name")
    if at.is_local or pattern is None or pattern.type != "identifier":
        return None
    return at.define_names("constant", [at.text(pattern)])


def _test(at: Candidate) -> Definition | None:
    match = _TEST.match(at.source, at.node.start_byte, at.node.end_byte)
    if match is None or not at.source.endswith(b"}", 0, at.node.end_byte):
        return None
    word, name, left, right, verb = match.groups()
    shown = " ".join(part.decode("utf-8", "replace") for part in (name, left, right) if part)
    return test_case(shown, (word or verb) in _GROUPS)


SCALA = Rules(
    definitions={
        "class": "class_definition",
        "object": "object_definition package_object",
        "trait": "trait_definition",
        "enum": "enum_definition",
        "field": "simple_enum_case full_enum_case",
        "function": "function_definition function_declaration",
        "constant": "given_definition",
        "type": "type_definition",
        _value: "val_definition var_definition val_declaration",
        _test: "call_expression infix_expression",
    },
    sequences="compilation_unit template_body enum_body block indented_block case_block indented_cases "
    "enum_case_definitions with_template_body",
    opaque="string interpolated_string_expression",
    leads="annotation",
    imports="package_clause import_declaration export_declaration",
    expand=release_comments("comment block_comment", "package_clause import_declaration"),
)
