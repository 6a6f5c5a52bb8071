"""Zig: containers are values of constants."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ctx.chunking.rules import (
    IMPORTS,
    Definition,
    Place,
    Rules,
    by_field,
    child_at,
    defined,
    field_text,
    kind_inside,
    text_of,
)
from ctx.chunking.wordlists import words

if TYPE_CHECKING:
    from tree_sitter import Node

_CONTAINER = re.compile(rb"(?:const|var)\s+\w+\s*=\s*(?:extern |packed )?(struct|enum|union|opaque|error)\b")
_IMPORT = re.compile(rb"const\s+\w+\s*=\s*@import\(")


def _declaration(node: Node, at: Place) -> Definition | None:
    inner = child_at(node, 0)
    if inner is None:
        return None
    if inner.type == "FnProto":
        return defined("function", at, field_text(inner, at.source, "function"))
    for child in node.named_children:
        if child.type == "FnProto":
            return defined("function", at, field_text(child, at.source, "function"))
        if child.type == "VarDecl":
            return _variable(child, at)
    return None


def _variable(node: Node, at: Place) -> Definition | None:
    if at.scope in ("function", "method", "test"):
        return None
    if _IMPORT.match(at.source, node.start_byte):
        return IMPORTS
    name = field_text(node, at.source, "variable_type_function")
    container = _CONTAINER.match(at.source, node.start_byte)
    if container is None:
        return Definition(kind_inside("constant", at.scope), name, (name,)) if name else None
    return defined("enum" if container.group(1) in (b"enum", b"error") else "struct", at, name)


def _test(node: Node, at: Place) -> Definition:
    name = next((text_of(child, at.source).strip('"') for child in node.named_children[:1]), "")
    return Definition("test", name, (name,) if name else (), is_test=True)


ZIG = Rules(
    definitions={
        "Decl": _declaration,
        "TestDecl": _test,
        "ContainerField": by_field("field", "field_member"),
    },
    sequences=words("source_file ContainerDecl ContainerDeclAuto Block InitList SwitchExpr"),
    comments=words("doc_comment line_comment container_doc_comment comment"),
)
