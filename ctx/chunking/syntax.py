"""Splitting a syntax tree into chunks.

The method is that of cAST (Zhang et al. 2025): keep the largest unit that fits, split what is too large, join
small neighbours. Only starts are decided here: a chunk reaches to the next one, so nothing is lost.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ctx.chunking.balancing import balance
from ctx.chunking.joining import join, join_small_file, joinable, qualify
from ctx.chunking.limits import ALONE, DEPTH, HARD, HEADER, JOIN, LIMIT, STATEMENT, TINY, WHOLE
from ctx.chunking.lines import split_lines
from ctx.chunking.rules import CLOSE, COMMENT, DEFINITION, Candidate, Definition, Grammar
from ctx.chunking.tiling import SPACES
from ctx.chunking.units import Scope, Unit, group
from ctx.types import Chunk

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tree_sitter import Node

MANY = 200
SMALL = 20
"""A node with more than `MANY` children of under `SMALL` bytes on average is a table, split by lines."""

FILE = Scope("", "module", True, False)


def split_tree(source: bytes, root: Node, grammar: Grammar, start: int, end: int) -> list[Chunk]:
    """Return the chunks of `source[start:end]`, whose syntax is `root`; `tile` sets their ends."""
    return _Splitter(source, grammar).file(root, start, end)


class _Splitter:
    def __init__(self, source: bytes, grammar: Grammar) -> None:
        self.source = source
        self.grammar = grammar
        self.separator = grammar.rules.separator
        self.continuations: set[int] = set()
        """Offsets at which a construct continues: a chunk should not begin there."""

    def file(self, root: Node, start: int, end: int) -> list[Chunk]:
        children = root.children
        header = None
        if children and start + 3 < children[0].start_byte:
            header = Unit(start, children[0].start_byte)
        pieces = self.pack(self.group(children, header, FILE, end), FILE, 0)
        return pieces if end - start > ALONE else [join_small_file(pieces)]

    def split(
        self,
        node: Node,
        start: int,
        end: int,
        header: Unit,
        scope: Scope,
        depth: int,
        comments: list[Node] | None = None,
        transparent: bool = False,
    ) -> list[Chunk]:
        """Split an oversized unit: `node` with what belongs to it, from `start` to `end`."""
        children = node.children
        is_table = len(children) > MANY and end - start < SMALL * len(children)
        if not children or is_table or depth > DEPTH or node.kind_id in self.grammar.opaque:
            return self.by_lines(start, end, header, scope)
        if node.kind_id in self.grammar.sequences or (transparent and self.holds_definitions(children)):
            if comments:
                children = comments + children
            header.end = start + len(self.source[start : children[0].start_byte].rstrip(SPACES))
            name = node.child_by_field_name("name") or node.child_by_field_name("condition")
            if name is not None:
                header.end = name.end_byte
                children = [child for child in children if child.start_byte >= header.end]
            units = self.group(children, header, scope, end)
            return self.pack(units, scope, depth) if scope.members else self.atoms(units, scope, depth)
        large = [
            index
            for index, child in enumerate(children)
            if _extent(child) > LIMIT or (not scope.members and self.has_statements(child))
        ]
        if not scope.members and len(large) > 1 and children[large[0]].end_byte - start <= HEADER:
            del large[0]  # a condition: it belongs to its statement
        large = large or self.body(children)
        if not large:
            header.end = start
            inner = scope._replace(members=False)
            atoms = self.atoms(self.group(children, header, inner, end), inner, depth)
            self.continuations.update(atom.start for atom in atoms[1:])
            return self.balanced(atoms, inner) if scope.members else atoms
        return self.construct(children, large, start, end, header, scope, depth)

    def has_statements(self, node: Node, depth: int = 0) -> bool:
        """Return True if a part of a statement contains statements: a block, an `else` with its block."""
        if node.kind_id in self.grammar.sequences:
            return True
        if depth == 4 or (depth and _extent(node) <= HEADER):
            return False
        return any(self.has_statements(one, depth + 1) for one in node.children)

    def holds_definitions(self, children: list[Node]) -> bool:
        return any(self.grammar.roles[child.kind_id] == DEFINITION for child in children)

    def body(self, children: list[Node]) -> list[int]:
        """Return the child to split if none is too large by itself: the body, or the largest part."""
        sequences, roles = self.grammar.sequences, self.grammar.roles
        half = sum(_extent(child) for child in children if roles[child.kind_id] != COMMENT) / 2
        best, most = -1, 0.0
        for index, child in enumerate(children):
            extent = _extent(child)
            weight = 2.0 * extent if child.kind_id in sequences else float(extent)
            if weight > half and weight >= most and roles[child.kind_id] != COMMENT:
                best, most = index, weight
        return [best] if best >= 0 else []

    def group(self, children: list[Node], header: Unit | None, scope: Scope, end: int) -> list[Unit]:
        return group(children, self.source, self.grammar, scope, header, end)

    def construct(
        self,
        children: list[Node],
        large: Sequence[int],
        start: int,
        end: int,
        header: Unit,
        scope: Scope,
        depth: int,
    ) -> list[Chunk]:
        """Split the children that are too large; the text before one joins its header."""
        pieces: list[Chunk] = []
        count = len(children)
        for index in large:
            after = index + 1
            stop = children[index].end_byte
            while after < count and self.closes(children[after], stop):
                stop = children[after].end_byte
                after += 1
            if after == count:
                stop = end
            if index != large[0]:
                self.continuations.add(start)
            comments = self.comments_before(children, index, start)
            pieces += self.split(children[index], start, stop, header, scope, depth + 1, comments)
            if after == count:
                return pieces
            start = children[after].start_byte
            header = Unit(start, start)
        if end - (pieces[-1].start if scope.members else start) <= (LIMIT if scope.members else HEADER):
            pieces[-1] = pieces[-1]._replace(end=end)
            return pieces
        self.continuations.add(start)
        if end - start <= LIMIT:
            pieces.append(Chunk(start, end, "block", scope.symbol, (), scope.is_test))
        else:
            rest = [child for child in children[large[-1] + 1 :] if child.start_byte >= start]
            inner = scope._replace(members=False)
            atoms = self.atoms(self.group(rest, None, inner, end), inner, depth)
            self.continuations.update(atom.start for atom in atoms)
            pieces += self.balanced(atoms, inner) if scope.members else atoms
        return pieces

    def closes(self, child: Node, end: int) -> bool:
        """Return True if a child belongs to its predecessor: closing syntax, punctuation on its line."""
        if self.grammar.roles[child.kind_id] == CLOSE:
            return True
        sign = not child.is_named and not self.source[child.start_byte : child.end_byte].isalpha()
        return sign and self.source.find(b"\n", end, child.start_byte) < 0

    def balanced(self, atoms: Sequence[Chunk], scope: Scope) -> list[Chunk]:
        return balance(self.source, atoms, scope, self.continuations)

    def comments_before(self, children: list[Node], index: int, start: int) -> list[Node]:
        """Return the comments right before a body, on lines of their own: they belong to its first member."""
        first = index
        while first > 1 and self.grammar.roles[children[first - 1].kind_id] == COMMENT:
            first -= 1
        own = children[first:index]
        if own and self.source.find(b"\n", children[first - 1].end_byte, own[0].start_byte) < 0:
            own = own[1:]
        return [comment for comment in own if comment.start_byte > start]

    def comments_of(self, unit: Unit) -> list[Node]:
        """Return the comments at the start of a unit, if they belong to the first statement in its node."""
        comments: list[Node] = []
        before = unit.node.prev_sibling if unit.node is not None else None
        while before is not None and before.start_byte >= unit.start:
            if self.grammar.roles[before.kind_id] == COMMENT:
                comments.insert(0, before)
            before = before.prev_sibling
        return comments

    def by_lines(self, start: int, end: int, header: Unit, scope: Scope) -> list[Chunk]:
        """Split by lines; the first piece is named after the header."""
        pieces = [
            Chunk(a, b, "block", scope.symbol, (), scope.is_test)
            for a, b in split_lines(self.source, start, end, LIMIT)
        ]
        if pieces:
            pieces[0] = pieces[0]._replace(kind=header.kind, names=tuple(header.names))
            self.continuations.update(piece.start for piece in pieces[1:])
        return pieces

    def pack(self, units: Sequence[Unit], scope: Scope, depth: int) -> list[Chunk]:
        """Join neighbouring members up to `JOIN` bytes, and split those that are too large."""
        pieces: list[Chunk] = []
        pending: list[Unit] = []
        for unit in units:
            transparent = _is_transparent(unit) and unit.size > JOIN
            has_members = unit.definition is not None and unit.definition.members and not unit.head
            most = WHOLE if has_members else LIMIT
            if transparent or (unit.size > most and _divisible(unit)):
                if pending and unit.start - pending[0].start >= (3 * TINY if transparent else TINY):
                    pieces.append(join(pending, scope, self.separator))
                    pending = []
                pieces += self.descend(unit, pending, scope, depth)
                pending = []
                continue
            self.set_names(unit)
            if pending and not joinable(pending, unit):
                pieces.append(join(pending, scope, self.separator))
                pending = []
            pending.append(unit)
        if pending:
            last = join(pending, scope, self.separator)
            room = max(LIMIT, pieces[-1].end - pieces[-1].start) + TINY if pieces else 0
            if pieces and last.end - last.start < TINY and last.end - pieces[-1].start <= room:
                pieces[-1] = pieces[-1]._replace(end=last.end, names=pieces[-1].names + last.names)
            else:
                pieces.append(last)
        return pieces

    def atoms(self, units: Sequence[Unit], scope: Scope, depth: int) -> list[Chunk]:
        """Return each statement as a chunk, for a large one its inner statements; `balance` joins them.

        A header stays with the first of them.
        """
        atoms: list[Chunk] = []
        before: list[Unit] = []
        half = (units[-1].end - units[0].start) // 2
        if len(units) > 1 and units[0].node is None and units[0].size <= HEADER:
            before, units = [units[0]], units[1:]
        for unit in units:
            inside = (
                unit.node is not None
                and unit.definition is None
                and (
                    unit.node.kind_id in self.grammar.sequences
                    if half < unit.size <= STATEMENT
                    else unit.size > STATEMENT and self.has_statements(unit.node)
                )
            )
            if (unit.size > LIMIT and _divisible(unit)) or inside:
                atoms += self.descend(unit, before, scope, depth)
            else:
                self.set_names(unit)
                atoms.append(join([*before, unit], scope, self.separator))
            before = []
        return atoms

    def descend(self, unit: Unit, before: Sequence[Unit], scope: Scope, depth: int) -> list[Chunk]:
        """Split one unit; the small units `before` it join its first piece."""
        start = before[0].start if before else unit.start
        if unit.head:
            return self.by_lines(start, unit.end, unit, scope)
        definition = unit.definition
        names = [name for one in before for name in one.names]
        header = Unit(start, start, "imports" if any(one.kind == "imports" for one in before) else "block")
        inner = scope
        transparent = _is_transparent(unit)
        if before and before[0].head and (transparent or definition is None):
            header = before[0]
            header.end = start
        elif definition is not None and not transparent:
            symbol = qualify(definition, scope, self.separator)
            inner = Scope(symbol, definition.kind, definition.members, definition.is_test)
            header = Unit(start, start, unit.kind, None, definition, True)
            names += definition.names
        header.names = names
        header.is_test = inner.is_test
        if unit.node is None:
            return self.by_lines(start, unit.end, header, inner)
        comments: list[Node] = []
        if definition is None and unit.node.kind_id in self.grammar.sequences:
            comments = self.comments_of(unit)
        pieces = self.split(unit.node, start, unit.end, header, inner, depth + 1, comments, transparent)
        return pieces if inner.members or inner is scope else self.balanced(pieces, inner)

    def set_names(self, unit: Unit) -> None:
        """Set the names of a whole unit, and whether it is or contains a test.

        A wrapper without a name is named after the first definition in it.
        """
        definition = unit.definition
        if definition is None or unit.head:
            return
        unit.names = definition.names
        unit.is_test = definition.is_test
        if definition.members and unit.node is not None:
            inner = self.definitions_inside(unit.node, definition, definition.kind, 0)
            unit.names = [*definition.names, *(name for one in inner for name in one.names)]
            unit.is_test = unit.is_test or any(one.is_test for one in inner)
            if not definition.name:
                unit.definition = inner[0] if inner else None
                unit.kind = inner[0].kind if inner else "block"

    def definitions_inside(self, node: Node, around: Definition, kind: str, depth: int) -> list[Definition]:
        """Return the definitions in a small class or module, recursively, except in function bodies."""
        grammar = self.grammar
        roles, sequences, readers = grammar.roles, grammar.sequences, grammar.readers
        children = node.children
        for _ in range(8):
            if not children or node.kind_id in sequences:
                break
            if not around.name and self.holds_definitions(children):
                break
            node = max(children, key=_extent)
            children = node.children
        found: list[Definition] = []
        for child in children:
            number = child.kind_id
            inside = around if number in sequences else None
            inner = kind
            if roles[number] == DEFINITION:
                definition = readers[number](Candidate(child, self.source, kind, child.start_byte))
                if definition is None:
                    continue
                found.append(definition)
                inside = definition if definition.members else None
                inner = definition.kind if definition.name else kind
            if inside is not None and depth < 4:
                found += self.definitions_inside(child, inside, inner, depth + 1)
        return found


def _extent(node: Node) -> int:
    return node.end_byte - node.start_byte


def _divisible(unit: Unit) -> bool:
    """Return True if a large unit may be split; a header and a short declaration keep their documentation."""
    if unit.size > HARD:
        return True
    if unit.node is None:
        return not unit.head
    return _extent(unit.node) > JOIN // 2


def _is_transparent(unit: Unit) -> bool:
    """Return True if a unit is a wrapper without a name, such as a C# namespace."""
    return unit.node is not None and unit.definition is not None and not unit.definition.name
