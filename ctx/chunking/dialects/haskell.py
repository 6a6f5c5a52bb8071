"""Haskell: a function is its signature and all its clauses, with the haddock before them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ctx.chunking.rules import (
    Definition,
    Place,
    Rules,
    by_field,
    child_at,
    field_text,
    release_comments,
    wrapper,
)
from ctx.chunking.wordlists import words

if TYPE_CHECKING:
    from tree_sitter import Node

_COMMENTS = words("comment haddock")


def _function(node: Node, at: Place) -> Definition | None:
    name = field_text(node, at.source, "name")
    if not name:
        infix = child_at(node, 0)
        name = field_text(infix, at.source, "operator") if infix is not None else ""
    name = name.strip("() ")
    return Definition("function", name, (name,)) if name else None


def _signature(node: Node, at: Place) -> Definition | None:
    name = field_text(node, at.source, "name").strip("() ")
    if name:
        return Definition("function", name, (name,))
    names = tuple(part.strip() for part in field_text(node, at.source, "names").split(","))
    return Definition("function", names[0], names) if names[0] else None


def _instance(node: Node, at: Place) -> Definition | None:
    name = field_text(node, at.source, "name")
    patterns = field_text(node, at.source, "patterns")
    return Definition("impl", f"{name} {patterns}".strip(), (), members=True) if name else None


HASKELL = Rules(
    definitions={
        "declarations": wrapper,
        "function": _function,
        "bind": _function,
        "signature": _signature,
        "pattern_synonym": _signature,
        "data_type": by_field("type"),
        "newtype": by_field("type"),
        "type_synomym": by_field("type"),
        "type_family": by_field("type"),
        "class": by_field("trait"),
        "instance": _instance,
    },
    sequences=words(
        "haskell declarations class_declarations instance_declarations imports local_binds do list "
        "alternatives"
    ),
    comments=_COMMENTS,
    leads=words("pragma top_pragma"),
    imports=words("header import imports"),
    expand=release_comments(_COMMENTS, words("header imports import")),
    clauses=True,
)
