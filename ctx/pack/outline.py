"""Outline of a file by its syntax: the lines of each definition, its documentation and its body.

Chunks of the index locate matches; the outline gives the lines that belong to a place so that it can be read
alone. A file without a grammar has no outline.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ctx.pack.types import Lines
from ctx.text.contents import decode

if TYPE_CHECKING:
    from tree_sitter import Node

    from ctx.chunking.grammars import Parse
    from ctx.chunking.rules import Grammar

_DEPTH = 40
_NEWLINE = 10
_SETUP = re.compile(
    rb"\b(?:set_?up\w*|before_?(?:each|all|class|test|method)?|fixture|test_?initialize|one_?time_?set_?up)\b",
    re.IGNORECASE,
)
_MOST_SETUP_HEAD = 200
"""Leading bytes of a definition that are searched for marks of test setup."""


class Item(NamedTuple):
    """A definition: `lines` with the documentation before it, and `head`, those before its body.

    `parent` is the index of the enclosing definition in the outline, -1 for none. `is_setup` is True for the
    setup of tests beside it. `named` is the line with its name.
    """

    lines: Lines
    head: Lines
    name: str
    kind: str
    is_test: bool
    is_setup: bool
    members: bool
    parent: int
    named: int


class Outline(NamedTuple):
    """The definitions of a file in source order, enclosing ones first."""

    items: tuple[Item, ...]

    def around(self, first: int, last: int) -> list[int]:
        """Return the innermost definitions that overlap some lines."""
        touched = [
            number
            for number, item in enumerate(self.items)
            if item.lines.first <= last and item.lines.last >= first
        ]
        outer = {self.items[number].parent for number in touched}
        return [number for number in touched if number not in outer]

    def above(self, number: int) -> list[int]:
        """Return the definitions that enclose one, outermost first."""
        found = []
        at = self.items[number].parent
        while at >= 0:
            found.append(at)
            at = self.items[at].parent
        return found[::-1]


NONE = Outline(())


def outline(source: bytes, language: str | None, parse: Parse | None = None) -> Outline:
    """Return the outline of a file; empty without a grammar, or if the parser gives up.

    `parse` replaces the parser, to reuse parsed trees.
    """
    if language is None:
        return NONE
    from ctx.chunking import documents, embedded, grammars
    from ctx.chunking.lines import has_long_line

    text = decode(source)[0]
    if language in documents.LANGUAGES or language in embedded.LANGUAGES or has_long_line(text):
        return NONE
    parsed = (parse or grammars.parse)(text, language)
    if parsed is None:
        return NONE
    tree, grammar = parsed
    walker = _Walker(text, grammar)
    walker.sequence(tree.root_node.children, len(text), "module", -1, 0)
    return Outline(tuple(walker.items))


class _Walker:
    def __init__(self, source: bytes, grammar: Grammar) -> None:
        self.source = source
        self.grammar = grammar
        self.items: list[Item] = []
        self.newlines = np.flatnonzero(np.frombuffer(source, np.uint8) == _NEWLINE).tolist()

    def line(self, offset: int) -> int:
        return bisect_right(self.newlines, offset - 1) + 1

    def sequence(self, children: list[Node], end: int, kind: str, parent: int, depth: int) -> None:
        from ctx.chunking.units import Scope, Unit, group

        if depth > _DEPTH or not children:
            return
        start = children[0].start_byte
        # The opening syntax of a body belongs to its definition, not to the first member.
        header = Unit(start, start) if parent >= 0 or depth else None
        scope = Scope("", kind, True, False)
        for unit in group(children, self.source, self.grammar, scope, header, end):
            definition = unit.definition
            if definition is None or unit.node is None:
                continue
            inside = self.inside(unit.node)
            own = parent
            if definition.name:
                body = unit.end if inside is None else inside.start_byte
                own = len(self.items)
                first = self.line(unit.start)
                last = max(first, self.line(max(unit.start, unit.end - 1)))
                head = self.head_end(unit.start, body, inside)
                self.items.append(
                    Item(
                        Lines(first, last),
                        Lines(first, min(last, max(first, head))),
                        definition.name,
                        definition.kind,
                        definition.is_test,
                        bool(
                            _SETUP.search(self.source, unit.start, min(body, unit.start + _MOST_SETUP_HEAD))
                        ),
                        definition.members,
                        parent,
                        min(last, max(first, self.name_line(unit.node, body, definition.name))),
                    )
                )
            if definition.members and inside is not None:
                self.sequence(inside.children, inside.end_byte, definition.kind or kind, own, depth + 1)

    def name_line(self, node: Node, body: int, name: str) -> int:
        """Return the line with the name of a definition; comments and decorators may precede it."""
        inner: Node | None = node
        for _ in range(4):
            if inner is None:
                break
            found = inner.child_by_field_name("name")
            if found is not None:
                return self.line(found.start_byte)
            inner = next((child for child in inner.children if child.kind_id in self.grammar.readers), None)
        letters = name.rpartition(".")[2].encode("utf-8", "replace")
        at = self.source.find(letters, node.start_byte, body)
        return self.line(at if at >= 0 else node.start_byte)

    def inside(self, node: Node) -> Node | None:
        """Return the node with the members or statements of a definition."""
        for _ in range(_DEPTH):
            if node.kind_id in self.grammar.sequences:
                return node
            children = node.children
            if not children:
                return None
            body = node.child_by_field_name("body")
            node = body if body is not None else max(children, key=lambda one: one.end_byte - one.start_byte)
        return None

    def head_end(self, start: int, body: int, inside: Node | None) -> int:
        """Return the last line of signature and documentation, before the first statement of the body."""
        if inside is not None and self.grammar.rules.docstrings is not None:
            for child in inside.children[:2]:
                if self.grammar.rules.docstrings(child, self.source):
                    return self.line(child.end_byte)
        while body > start and self.source[body - 1 : body].isspace():
            body -= 1
        return self.line(max(start, body - 1))
