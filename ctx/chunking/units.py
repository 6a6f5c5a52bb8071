"""Grouping the children of a sequence into units: a construct with all that belongs to it.

Comments, attributes and modifiers join their successor, closing syntax and a comment on the same line their
predecessor, the opening syntax of a body its header.
"""

from __future__ import annotations

from dataclasses import dataclass
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
    Candidate,
    Definition,
    Grammar,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tree_sitter import Node


NEWLINE = 10

SIGNATURE = 300
"""A clause up to this size (bytes) joins the next clause of its function even if the whole is too large."""


class Scope(NamedTuple):
    """The definition around a sequence.

    Its symbol, its kind, and whether it contains members or statements.
    """

    symbol: str
    kind: str
    members: bool
    is_test: bool


@dataclass(slots=True, eq=False)
class Unit:
    """Part of a file that is split only if it is too large.

    `node` is the node that may be split, None for comments and headers. `head` marks the beginning of a
    definition that is being split: a chunk that starts with it is named after it. `names` and `is_test` are
    set by `set_names`.
    """

    start: int
    end: int
    kind: str = "block"
    node: Node | None = None
    definition: Definition | None = None
    head: bool = False
    names: Sequence[str] = ()
    is_test: bool = False

    @property
    def size(self) -> int:
        """Return the number of bytes."""
        return self.end - self.start


def group(
    children: list[Node], source: bytes, grammar: Grammar, scope: Scope, header: Unit | None, end: int
) -> list[Unit]:
    """Return the units of a sequence, in order, from the header (if any) to the byte `end`."""
    if grammar.rules.expand is not None:
        children = grammar.rules.expand(children, source)
    grouping = _Grouping(source, grammar, scope)
    first = 0
    if header is not None:
        grouping.units.append(header)
        first = _complete_header(header, children, source, grammar)
    for child in children[first:] if first else children:
        grouping.add(child)
    return grouping.finish(end)


def _complete_header(header: Unit, children: Sequence[Node], source: bytes, grammar: Grammar) -> int:
    """Extend a header over opening syntax, a comment on its line, and a docstring.

    Returns the number of children consumed.
    """
    roles, docstrings = grammar.roles, grammar.rules.docstrings
    for count, child in enumerate(children):
        role = roles[child.kind_id]
        stop = child.end_byte
        if role in (OPEN, CLOSE):
            header.end = max(header.end, stop)
        elif role == COMMENT:
            if source.find(b"\n", header.end, child.start_byte) >= 0 or source[stop - 1] == NEWLINE:
                return count
            header.end = stop
        elif docstrings is not None and docstrings(child, source):
            header.end = stop
            return count + 1
        else:
            return count
    return len(children)


class _Grouping:
    """A partly read sequence: its units, and the pending comments and attributes.

    `attached` is True if an attribute or an opening bracket is pending, which a blank line does not separate
    from its construct.
    """

    def __init__(self, source: bytes, grammar: Grammar, scope: Scope) -> None:
        self.source = source
        self.grammar = grammar
        self.scope = scope
        self.units: list[Unit] = []
        self.lead = self.lead_end = -1
        self.attached = False

    def add(self, child: Node) -> None:
        """Add the next child."""
        number, start, stop = child.kind_id, child.start_byte, child.end_byte
        if start == stop:
            return
        role = self.grammar.roles[number]
        if role > LEAD:
            leads_if = self.grammar.leads_if.get(number)
            if leads_if is None or not leads_if.match(self.source, start):
                if number not in self.grammar.opaque or not self.source[start:stop].isspace():
                    self.member(child, number, role, start, stop)
                return
        elif role == CLOSE:
            self.close(start, stop)
            return
        elif role == COMMENT:
            if self.lead < 0 and self.units and self.extend_over_comment(start, stop):
                return
            if self.source[stop - 1] == NEWLINE:
                stop -= 1
        if self.lead < 0:
            self.lead = start
        elif not self.attached and self.is_separated(start):
            self.flush()
            self.lead = start
        self.lead_end = stop
        self.attached = self.attached or role != COMMENT

    def member(self, child: Node, number: int, role: int, start: int, stop: int) -> None:
        """Add a statement or a declaration, with the pending comments and attributes."""
        begin = start
        if self.lead >= 0:
            if self.attached or not self.is_separated(start):
                begin = self.lead
                self.lead = -1
                self.attached = False
            else:
                self.flush()
        kind = "block"
        definition = None
        if role == DEFINITION:
            definition = self.grammar.readers[number](Candidate(child, self.source, self.scope.kind, begin))
            if definition is IMPORTS:
                kind, definition = "imports", None
            elif definition is not None:
                kind = definition.kind
                if self.grammar.rules.clauses and self.units and _same_clause(self.units[-1], definition):
                    before = self.units[-1]
                    if stop - before.start <= LIMIT:
                        before.end = stop
                        return
                    if before.size < SIGNATURE:
                        begin = self.units.pop().start
        elif role == IMPORT:
            kind = "imports"
        self.units.append(Unit(begin, stop, kind, child, definition))

    def close(self, start: int, stop: int) -> None:
        """Add closing syntax to the previous unit."""
        if self.lead >= 0:
            self.lead_end = stop
        elif self.units:
            self.units[-1].end = stop
        else:
            self.lead, self.lead_end, self.attached = start, stop, True

    def extend_over_comment(self, start: int, stop: int) -> bool:
        """Return True if a comment is on the last line of the previous unit, which then includes it."""
        before = self.units[-1]
        if before.end > start:  # the unit's node contains the comment
            before.end = start
            return False
        if self.source[before.end - 1] == NEWLINE or self.source.find(b"\n", before.end, start) >= 0:
            return False
        before.end = stop - (self.source[stop - 1] == NEWLINE)
        return True

    def is_separated(self, start: int) -> bool:
        """Return True if a blank line lies between the pending nodes and the byte `start`."""
        return self.source.count(b"\n", self.lead_end, start) > 1

    def flush(self) -> None:
        """Make the pending nodes a unit of their own."""
        self.units.append(Unit(self.lead, self.lead_end))
        self.lead = -1
        self.attached = False

    def finish(self, end: int) -> list[Unit]:
        if self.lead >= 0:
            self.flush()
        if not self.units:
            self.units.append(Unit(end, end))
        self.units[-1].end = max(self.units[-1].end, end)
        return self.units


def _same_clause(before: Unit, definition: Definition) -> bool:
    """Return True if a definition continues the previous one: a clause, an overload, a body."""
    return (
        before.definition is not None
        and before.definition.name == definition.name
        and before.node is not None
        and definition.kind in ("function", "method")
    )
