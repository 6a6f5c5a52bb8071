"""Joining neighbours into one chunk: which may be joined, and the name of the result."""

from __future__ import annotations

from collections.abc import Sequence

from ctx.chunking.limits import JOIN, LIMIT, TINY
from ctx.chunking.rules import Definition
from ctx.chunking.units import Scope, Unit
from ctx.types import Chunk


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
        size = unit.end - unit.start
        if unit.definition is not None:
            if main is None or (not main.head and size > main.end - main.start):
                main = unit
        elif unit.kind == "imports":
            imported += size
        elif unit.node is not None:
            loose += size
    start, end = units[0].start, units[-1].end
    names = tuple(name for unit in units for name in unit.names)
    statements = scope.kind in ("function", "method", "test") and not scope.members
    least = (end - start) // 2 if statements else imported
    if main is None or main.definition is None or (not main.head and main.end - main.start < least):
        kind = "imports" if imported > loose else "block"
        return Chunk(start, end, kind, scope.symbol, names, scope.is_test)
    symbol = scope.symbol if main.head else qualify(main.definition, scope, separator)
    return Chunk(start, end, main.kind, symbol, names, main.is_test)


def united(pieces: Sequence[Chunk]) -> Chunk:
    """Join a small file into one chunk, named after the largest definition in it."""
    main = max(
        pieces, key=lambda piece: (bool(piece.names) and piece.kind != "imports", piece.end - piece.start)
    )
    names = tuple(name for piece in pieces for name in piece.names)
    return main._replace(start=pieces[0].start, end=pieces[-1].end, names=names)


def joinable(waiting: Sequence[Unit], unit: Unit) -> bool:
    """Return True if a unit may join those before it. Imports are kept apart unless they are very small."""
    first = waiting[0]
    size = unit.end - first.start
    if unit.kind == "imports" and first.kind == "imports" and waiting[-1].kind == "imports":
        return size <= LIMIT
    if size > JOIN:
        small = TINY if unit.definition is None else TINY // 2
        return size <= LIMIT + TINY and (
            waiting[-1].end - first.start < TINY or unit.end - unit.start < small
        )
    span = waiting[-1].end - first.start
    if unit.definition is not None:
        if unit.kind not in ("constant", "type", "macro") and span >= 3 * TINY:
            imports = sum(one.end - one.start for one in waiting if one.kind == "imports")
            if 2 * imports > span:
                return False
        for one in reversed(waiting):
            if one.definition is not None and not one.head:
                return one.is_test == unit.is_test or span < TINY or unit.end - unit.start < TINY
    return True
