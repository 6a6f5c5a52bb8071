"""Python: docstrings stay with their `def`, decorators with their definition."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ctx.chunking.rules import Candidate, Definition, Rules, child_at

if TYPE_CHECKING:
    from tree_sitter import Node


def _function(at: Candidate) -> Definition | None:
    name = at.field("name")
    is_test = name.startswith("test") and (name[4:5] in ("", "_") or at.scope in ("class", "test"))
    return at.define("function", name, is_test)


def _class(at: Candidate) -> Definition | None:
    name = at.field("name")
    if not name:
        return None
    is_test = name.startswith("Test") or "TestCase" in at.field("superclasses")
    return Definition("class", name, (name,), members=True, is_test=is_test)


def _decorated(at: Candidate) -> Definition | None:
    return PYTHON.read(at, at.node.child_by_field_name("definition"))


def _assignment(at: Candidate) -> Definition | None:
    """Read `NAME = value` and `name: type = value` at the level of a module or class."""
    inner = at.node if at.node.type == "assignment" else child_at(at.node, 0)
    if at.scope not in ("module", "class") or inner is None or inner.type != "assignment":
        return None
    target = inner.child_by_field_name("left")
    if target is None or target.type not in ("identifier", "pattern_list"):
        return None
    targets = [target] if target.type == "identifier" else target.named_children
    return at.define_names("constant", (at.text(one) for one in targets if one.type == "identifier"))


def _alias(at: Candidate) -> Definition | None:
    left = at.node.child_by_field_name("left")
    return at.define_names("type", [at.text(left).partition("[")[0]]) if left is not None else None


def _docstring(node: Node, _source: bytes) -> bool:
    inner = child_at(node, 0) if node.type == "expression_statement" else node
    return inner is not None and inner.type in ("string", "concatenated_string")


PYTHON = Rules(
    definitions={
        _function: "function_definition",
        _class: "class_definition",
        _decorated: "decorated_definition",
        _assignment: "expression_statement assignment",
        _alias: "type_alias_statement",
    },
    sequences="module block list dictionary set tuple",
    opaque="string concatenated_string",
    imports="import_statement import_from_statement future_import_statement",
    docstrings=_docstring,
)
