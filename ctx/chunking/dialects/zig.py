"""Zig: containers are values of constants."""

from __future__ import annotations

import re

from ctx.chunking.rules import IMPORTS, Candidate, Definition, Rules, by_field, child_at, child_of_type

_CONTAINER = re.compile(rb"(?:const|var)\s+\w+\s*=\s*(?:extern |packed )?(struct|enum|union|opaque|error)\b")
_IMPORT = re.compile(rb"const\s+\w+\s*=\s*@import\(")


def _declaration(at: Candidate) -> Definition | None:
    inner = child_at(at.node, 0)
    if inner is None or inner.type != "FnProto":
        inner = child_of_type(at.node, "FnProto", "VarDecl")
    if inner is None:
        return None
    if inner.type == "FnProto":
        return at.define("function", at.field("function", inner))
    return _variable(at._replace(node=inner))


def _variable(at: Candidate) -> Definition | None:
    if at.is_local:
        return None
    if _IMPORT.match(at.source, at.node.start_byte):
        return IMPORTS
    container = _CONTAINER.match(at.source, at.node.start_byte)
    kind = "constant"
    if container is not None:
        kind = "enum" if container.group(1) in (b"enum", b"error") else "struct"
    return at.define(kind, at.field("variable_type_function"))


def _test(at: Candidate) -> Definition:
    name = "".join(map(at.text, at.node.named_children[:1])).strip('"')
    return Definition("test", name, (name,) if name else (), is_test=True)


ZIG = Rules(
    definitions={
        _declaration: "Decl",
        _test: "TestDecl",
        by_field("field", "field_member"): "ContainerField",
    },
    sequences="source_file ContainerDecl ContainerDeclAuto Block InitList SwitchExpr",
    comments="doc_comment line_comment container_doc_comment comment",
)
