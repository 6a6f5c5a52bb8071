"""Python: docstrings stay with their `def`, decorators with their definition."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ctx.chunking.rules import Definition, Place, Rules, child_at, field_text, kind_inside, text_of

if TYPE_CHECKING:
    from tree_sitter import Node


def _function(node: Node, at: Place) -> Definition | None:
    name = field_text(node, at.source, "name")
    if not name:
        return None
    if name.startswith("test") and (name[4:5] in ("", "_") or at.scope in ("class", "test")):
        return Definition("test", name, (name,), is_test=True)
    return Definition(kind_inside("function", at.scope), name, (name,))


def _class(node: Node, at: Place) -> Definition | None:
    name = field_text(node, at.source, "name")
    if not name:
        return None
    return Definition("class", name, (name,), members=True, is_test=_is_test_class(name, node, at))


def _is_test_class(name: str, node: Node, at: Place) -> bool:
    if name.startswith("Test"):
        return True
    bases = field_text(node, at.source, "superclasses")
    return "TestCase" in bases


def _decorated(node: Node, at: Place) -> Definition | None:
    inner = node.child_by_field_name("definition")
    if inner is None:
        return None
    return (_class if inner.type == "class_definition" else _function)(inner, at)


def _assignment(node: Node, at: Place) -> Definition | None:
    """Read `NAME = value` and `name: type = value` at the level of a module or class."""
    if at.scope not in ("module", "class"):
        return None
    inner = node if node.type == "assignment" else child_at(node, 0)
    if inner is None or inner.type != "assignment":
        return None
    target = inner.child_by_field_name("left")
    if target is None:
        return None
    if target.type == "identifier":
        name = text_of(target, at.source)
        return Definition(kind_inside("constant", at.scope), name, (name,))
    if target.type == "pattern_list":
        names = tuple(
            text_of(child, at.source) for child in target.named_children if child.type == "identifier"
        )
        return Definition(kind_inside("constant", at.scope), names[0], names) if names else None
    return None


def _alias(node: Node, at: Place) -> Definition | None:
    left = node.child_by_field_name("left")
    if left is None:
        return None
    name = text_of(left, at.source).partition("[")[0]
    return Definition("type", name, (name,))


def _docstring(node: Node, _source: bytes) -> bool:
    inner = child_at(node, 0) if node.type == "expression_statement" else node
    return inner is not None and inner.type in ("string", "concatenated_string")


PYTHON = Rules(
    definitions={
        "function_definition": _function,
        "class_definition": _class,
        "decorated_definition": _decorated,
        "expression_statement": _assignment,
        "assignment": _assignment,
        "type_alias_statement": _alias,
    },
    sequences=frozenset({"module", "block", "list", "dictionary", "set", "tuple"}),
    opaque=frozenset({"string", "concatenated_string"}),
    imports=frozenset({"import_statement", "import_from_statement", "future_import_statement"}),
    docstrings=_docstring,
)
