"""Haskell: a function is its signature and all its clauses, with the haddock before them."""

from __future__ import annotations

from ctx.chunking.rules import Candidate, Definition, Rules, child_at, release_comments, wrapper

_COMMENTS = "comment haddock"
_HEADERS = "header import imports"


def _function(at: Candidate) -> Definition | None:
    name = at.field("name")
    if not name and (infix := child_at(at.node, 0)) is not None:
        name = at.field("operator", infix)
    name = name.strip("() ")
    return Definition("function", name, (name,)) if name else None


def _signature(at: Candidate) -> Definition | None:
    name = at.field("name").strip("() ")
    names = (name,) if name else tuple(part.strip() for part in at.field("names").split(","))
    return Definition("function", names[0], names) if names[0] else None


def _instance(at: Candidate) -> Definition | None:
    name = at.field("name")
    symbol = f"{name} {at.field('patterns')}".strip()
    return Definition("impl", symbol, (), members=True) if name else None


HASKELL = Rules(
    definitions={
        wrapper: "declarations",
        _function: "function bind",
        _signature: "signature pattern_synonym",
        "type": "data_type newtype type_synomym type_family",
        "trait": "class",
        _instance: "instance",
    },
    sequences="haskell declarations class_declarations instance_declarations imports local_binds do list "
    "alternatives",
    comments=_COMMENTS,
    leads="pragma top_pragma",
    imports=_HEADERS,
    expand=release_comments(_COMMENTS, _HEADERS),
    clauses=True,
)
