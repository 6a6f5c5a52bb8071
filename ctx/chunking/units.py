"""Grouping the children of a sequence into units: a construct with all that belongs to it.

Comments, attributes and modifiers go with what follows, closing syntax and a comment on the same line with
what came before, the opening syntax of a body with its header.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ctx.chunking.limits import LIMIT
from ctx.chunking.rules import (
    CLOSE,
    COMMENT,
    DEFINITION,
    IMPORT,
    IMPORTS,
    LEAD,
    OPEN,
    Definition,
    Grammar,
    Place,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tree_sitter import Node


class Scope(NamedTuple):
    """The definition around a sequence: what its symbol is and whether its inside is members or
    statements.
    """

    symbol: str
    kind: str
    members: bool
    is_test: bool


class Unit:
    """Part of a file that is not to be cut unless it is too large.

    `node` is what may be split further, None for comments and headers. `head` marks the beginning of a
    definition that is being split: a chunk that starts with it is named after it. `names` and `is_test` are
    known once the unit was looked into.
    """

    __slots__ = ("definition", "end", "head", "is_test", "kind", "names", "node", "start")

    def __init__(
        self,
        start: int,
        end: int,
        kind: str = "block",
        node: Node | None = None,
        definition: Definition | None = None,
        head: bool = False,
    ) -> None:
        self.start = start
        self.end = end
        self.kind = kind
        self.node = node
        self.definition = definition
        self.head = head
        self.names: Sequence[str] = ()
        self.is_test = False


def group(
    children: list[Node], source: bytes, grammar: Grammar, scope: Scope, header: Unit | None, end: int
) -> list[Unit]:
    """The units of a sequence, in order, from the header (if any) to the byte `end`."""
    roles, defines, rules = grammar.roles, grammar.defines, grammar.rules
    leads_if, opaque = grammar.leads_if, grammar.opaque
    units: list[Unit] = []
    append = units.append
    in_header = header is not None
    if header is not None:
        append(header)
    lead = lead_end = -1
    firm = False
    if rules.expand is not None:
        children = rules.expand(children, source)
    for child in children:
        number = child.kind_id
        start = child.start_byte
        stop = child.end_byte
        if start == stop:
            continue
        role = roles[number]
        if in_header and header is not None:
            if role in (OPEN, CLOSE):
                header.end = stop
                continue
            if role == COMMENT and source.find(b"\n", header.end, start) < 0 and source[stop - 1] != 10:
                header.end = stop
                continue
            in_header = False
            if rules.docstrings is not None and rules.docstrings(child, source):
                header.end = stop
                continue
        if role == CLOSE:
            if lead >= 0:
                lead_end = stop
            elif units:
                units[-1].end = stop
            else:
                lead, lead_end, firm = start, stop, True
            continue
        if role == COMMENT:
            if lead < 0 and units:
                before = units[-1]
                if before.end > start:
                    before.end = start
                elif source[before.end - 1] != 10 and source.find(b"\n", before.end, start) < 0:
                    before.end = stop - (source[stop - 1] == 10)
                    continue
            if source[stop - 1] == 10:
                stop -= 1
        elif role > LEAD:
            if number not in leads_if or not leads_if[number](child, source):
                if number in opaque and source[start:stop].isspace():
                    continue
                begin = start
                if lead >= 0:
                    if firm or source.count(b"\n", lead_end, start) < 2:
                        begin = lead
                    else:
                        append(Unit(lead, lead_end))
                    lead = -1
                    firm = False
                if role == DEFINITION:
                    definition = defines[number](child, Place(source, scope.kind, begin))
                    if definition is None:
                        append(Unit(begin, stop, "block", child))
                    elif definition is IMPORTS:
                        append(Unit(begin, stop, "imports", child))
                    elif rules.clauses and units and _same_clause(units[-1], definition, stop):
                        units[-1].end = stop
                    else:
                        append(Unit(begin, stop, definition.kind, child, definition))
                elif role == IMPORT:
                    append(Unit(begin, stop, "imports", child))
                else:
                    append(Unit(begin, stop, "block", child))
                continue
            role = LEAD
        if lead >= 0 and not firm and source.count(b"\n", lead_end, start) > 1:
            append(Unit(lead, lead_end))
            lead = -1
        if lead < 0:
            lead = start
        lead_end = stop
        if role != COMMENT:
            firm = True
    if lead >= 0:
        append(Unit(lead, lead_end))
    if not units:
        append(Unit(children[0].start_byte if children else end, end))
    units[-1].end = max(units[-1].end, end)
    return units


def _same_clause(before: Unit, definition: Definition, stop: int) -> bool:
    """Whether a definition goes on with the one before: a clause, an overload, a body after its signature."""
    return (
        before.definition is not None
        and before.definition.name == definition.name
        and before.node is not None
        and definition.kind in ("function", "method")
        and stop - before.start <= LIMIT
    )
