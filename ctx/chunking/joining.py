"""Joining neighbours into one chunk: which may be joined, and the name of the result."""

from __future__ import annotations

from collections.abc import Sequence

from ctx.chunking.limits import ALONE, JOIN, LIMIT, TINY
from ctx.chunking.rules import STATEMENTS, Definition
from ctx.chunking.units import Scope, Unit
from ctx.types import Chunk

_SMALL = frozenset({"block", "imports", "constant", "field", "type", "section", "entry"})
"""Kinds of units that are joined whatever their size."""


def qualify(definition: Definition, scope: Scope, separator: str) -> str:
    """Return the symbol of a definition in a scope."""
    if not scope.symbol:
        return definition.name
    if not definition.name:
        return scope.symbol
    return scope.symbol + (definition.separator or separator) + definition.name


def join(units: Sequence[Unit], scope: Scope, separator: str) -> Chunk:
    """Join neighbours into one chunk, named after its header or else its largest definition."""
    main: Unit | None = None
    imported = loose = 0
    for unit in units:
        if unit.definition is not None:
            if main is None or (not main.head and unit.size > main.size):
                main = unit
        elif unit.kind == "imports":
            imported += unit.size
        elif unit.node is not None:
            loose += unit.size
    start, end = units[0].start, units[-1].end
    names = tuple(name for unit in units for name in unit.names)
    least = (end - start) // 2 if scope.kind in STATEMENTS and not scope.members else imported
    if main is None or main.definition is None or (not main.head and main.size < least):
        kind = "imports" if imported > loose else "block"
        return Chunk(start, end, kind, scope.symbol, names, scope.is_test)
    symbol = scope.symbol if main.head else qualify(main.definition, scope, separator)
    return Chunk(start, end, main.kind, symbol, names, main.is_test)


def join_small_file(pieces: Sequence[Chunk]) -> Chunk:
    """Join a small file into one chunk, named after the largest definition in it."""
    main = max(
        pieces, key=lambda piece: (bool(piece.names) and piece.kind != "imports", piece.end - piece.start)
    )
    names = tuple(name for piece in pieces for name in piece.names)
    return main._replace(start=pieces[0].start, end=pieces[-1].end, names=names)


def stands_alone(unit: Unit) -> bool:
    """Return True for a function or a type that is a chunk of its own, unless it is very small."""
    return unit.definition is not None and not unit.head and unit.kind not in _SMALL and unit.size >= ALONE


def joinable(pending: Sequence[Unit], unit: Unit) -> bool:
    """Return True if a unit may join those before it.

    Imports are kept apart unless they are very small, and so are functions and types. A comment or a line
    of statements joins the function beside it.
    """
    first, last = pending[0], pending[-1]
    if any(map(stands_alone, pending)):
        return unit.definition is None and unit.size < TINY
    if stands_alone(unit):
        loose = all(one.definition is None or one.head for one in pending)
        return loose and last.end - first.start < 3 * TINY
    size, span = unit.end - first.start, last.end - first.start
    if unit.kind == first.kind == last.kind == "imports":
        return size <= LIMIT
    if size > JOIN:
        small = TINY if unit.definition is None else TINY // 2
        return size <= LIMIT + TINY and (span < TINY or unit.size < small)
    if unit.definition is None:
        return True
    imported = sum(one.size for one in pending if one.kind == "imports")
    if unit.kind not in ("constant", "type", "macro") and span >= 3 * TINY and 2 * imported > span:
        return False
    for one in reversed(pending):
        if one.definition is not None and not one.head:
            return one.is_test == unit.is_test or span < TINY or unit.size < TINY
    return True
