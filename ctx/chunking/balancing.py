"""Splitting an oversized unit, such as a long function, into pieces of about the same size.

The possible cuts are given as *atoms*, adjacent chunks: the statements of the function, and the inner
statements of large ones. The cost function balances even sizes against cuts deep inside.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from math import inf

from ctx.chunking.limits import LIMIT
from ctx.chunking.rules import STATEMENTS
from ctx.chunking.tiling import indentation
from ctx.chunking.units import Scope
from ctx.types import Chunk

_EACH = 0.1
"""Cost of one more piece; the cost of unused space is 1 for an empty piece and 0 for a full one."""
_DEEPER = 0.15
"""Cost of a cut per level (four columns) below the shallowest one."""
_DEEPEST = 5
_CONTINUED = 1.0
"""Cost of a cut within a construct, before an `else` or inside a text."""
_PLAIN = frozenset({"block", "imports"})


def balance(
    source: bytes, atoms: Sequence[Chunk], scope: Scope, continuations: Container[int]
) -> list[Chunk]:
    """Join atoms to pieces of at most `LIMIT` bytes; a larger atom is kept.

    `continuations` are the starts of atoms that continue a construct begun before them.
    """
    if len(atoms) < 2:
        return list(atoms)
    columns = [indentation(source, atom.start) for atom in atoms]
    shallowest = min(columns[1:])
    penalties = [_DEEPER * min(max(0, column - shallowest) / 4, _DEEPEST) for column in columns]
    for number, atom in enumerate(atoms):
        if atom.start in continuations:
            penalties[number] += _CONTINUED
    ends = [following.start for following in atoms[1:]] + [atoms[-1].end]
    # cheapest[i]: the least cost of splitting the first i atoms, and the start of the last piece.
    cheapest: list[tuple[float, int]] = [(0.0, 0)]
    for last in range(len(atoms)):
        best = (inf, last)
        for first in range(last, -1, -1):
            size = ends[last] - atoms[first].start
            if size > LIMIT and first < last:
                break
            empty = max(0.0, 1 - size / LIMIT)
            cost = cheapest[first][0] + empty * empty + _EACH + (penalties[first] if first else 0.0)
            if cost < best[0]:
                best = (cost, first)
        cheapest.append(best)
    pieces: list[Chunk] = []
    stop = len(atoms)
    while stop:
        start = cheapest[stop][1]
        pieces.append(_join(atoms[start:stop], scope))
        stop = start
    return pieces[::-1]


def _join(atoms: Sequence[Chunk], scope: Scope) -> Chunk:
    """Join neighbours to one chunk: the head of the scope, a dominant definition, or statements."""
    first = atoms[0]
    if len(atoms) == 1:
        return first
    start, end = first.start, atoms[-1].end
    names = tuple(name for atom in atoms for name in atom.names)
    if first.symbol == scope.symbol and first.kind not in _PLAIN:
        return first._replace(end=end, names=names)
    defined = [atom for atom in atoms if atom.kind not in _PLAIN]
    main = max(defined, key=lambda atom: atom.end - atom.start, default=None)
    least = (end - start) // 2 if scope.kind in STATEMENTS else 0
    if main is not None and main.end - main.start >= least:
        return main._replace(start=start, end=end, names=names)
    kind = "imports" if all(atom.kind == "imports" for atom in atoms) else "block"
    return Chunk(start, end, kind, scope.symbol, names, scope.is_test)
