"""What the splitter has to know about a language, as plain tables.

A language is one `Rules` value. `Grammar` turns its names of node types into tables by tree-sitter's
numeric kind, because asking a node for its number is far cheaper than asking for its name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from ctx.chunking.wordlists import words

if TYPE_CHECKING:
    from tree_sitter import Language, Node

NAME_LIMIT = 120
"""Names longer than this (characters) are cut: test names are sentences, a name is no paragraph."""


class Definition(NamedTuple):
    """What a node defines, as far as the node itself tells.

    `name` is qualified below the surrounding scope ("T.Method" in Go); "" with `members` is a wrapper that
    names nothing (a C# namespace) and is looked through. `members` says that the inside holds further
    definitions (a class, a module) and no statements (a function). `separator` stands between the scope's
    symbol and the name where the language's usual one does not fit.
    """

    kind: str
    name: str
    names: tuple[str, ...]
    members: bool = False
    is_test: bool = False
    separator: str = ""


IMPORTS = Definition("imports", "", ())
"""What a node says that turns out to be an import (`const x = require("x")`)."""

WRAPPER = Definition("module", "", (), members=True)
"""What a node says that only holds definitions and gives them no name."""


class Place(NamedTuple):
    """Where a definition stands: the file, the kind of the scope, where its comments and attributes begin."""

    source: bytes
    scope: str
    lead: int


Define = Callable[["Node", Place], "Definition | None"]
"""What a node defines; None for nothing after all."""


@dataclass(frozen=True)
class Rules:
    """One language's node types, by the part they play.

    `sequences` hold independent neighbours (statements, members) and may be cut between any two; every
    other node is one construct, cut only inside a child that is too large; `opaque` ones (long strings)
    only between lines. `leads` belong to the sibling that follows, `tails` to the one before; `leads_if`
    decides by the node itself. `docstrings` tells what belongs to the header when it comes first in a
    body. `clauses`: neighbours that define the same name are one unit. `expand` replaces children that
    hold more than their name says.
    """

    definitions: Mapping[str, Define] = field(default_factory=dict)
    sequences: frozenset[str] = frozenset()
    opaque: frozenset[str] = frozenset()
    comments: frozenset[str] = frozenset({"comment", "line_comment", "block_comment"})
    leads: frozenset[str] = frozenset()
    tails: frozenset[str] = frozenset()
    imports: frozenset[str] = frozenset()
    docstrings: Callable[[Node, bytes], bool] | None = None
    leads_if: Mapping[str, Callable[[Node, bytes], bool]] = field(default_factory=dict)
    expand: Callable[[list[Node], bytes], list[Node]] | None = None
    separator: str = "."
    clauses: bool = False


OPEN, CLOSE, COMMENT, LEAD, IMPORT, DEFINITION, OTHER = range(7)
"""The part a child plays: OPEN is syntax that belongs to what follows, CLOSE to what came before."""

CLOSERS = words(
    "} ) ] > ; , ;; ;& ;;& end fi done esac endif endfunction endmacro endforeach endwhile endfor endtry END "
    "}) ]) *) */ |] |} %> ?> -%> }} %} :} #endif $} ENDIF . \\"
) | {"\n", "\r\n", "\r", "#endif\n"}


class Grammar:
    """`Rules` keyed by the numbers of one compiled grammar.

    `roles[kind_id]` is OPEN … OTHER, `defines[kind_id]` the function that reads a definition; `sequences` and
    `opaque` are sets of numbers.
    """

    __slots__ = ("defines", "leads_if", "opaque", "roles", "rules", "sequences")

    def __init__(self, language: Language, rules: Rules) -> None:
        self.rules = rules
        self.roles: dict[int, int] = {}
        self.sequences: set[int] = {ERROR_KIND}
        self.opaque: set[int] = set()
        self.leads_if: dict[int, Callable[[Node, bytes], bool]] = {}
        self.defines: dict[int, Define] = {}
        for number in range(language.node_kind_count):
            name = language.node_kind_for_id(number) or ""
            if language.node_kind_is_named(number):
                self.roles[number] = self._role(name, number)
                if name in rules.sequences:
                    self.sequences.add(number)
                if name in rules.leads_if:
                    self.leads_if[number] = rules.leads_if[name]
                if name in rules.opaque:
                    self.opaque.add(number)
            else:
                self.roles[number] = CLOSE if name in CLOSERS else OPEN
        self.roles[ERROR_KIND] = OTHER

    def _role(self, name: str, number: int) -> int:
        rules = self.rules
        define = rules.definitions.get(name)
        if define is not None:
            self.defines[number] = define
            return DEFINITION
        if name in rules.comments:
            return COMMENT
        if name in rules.leads:
            return LEAD
        if name in rules.tails:
            return CLOSE
        return IMPORT if name in rules.imports else OTHER


ERROR_KIND = 65535
"""The number of tree-sitter's ERROR node in every grammar."""


def text_of(node: Node, source: bytes) -> str:
    """The node's source, on one line and cut to `NAME_LIMIT` characters."""
    raw = source[node.start_byte : min(node.end_byte, node.start_byte + 4 * NAME_LIMIT)]
    text = raw.decode("utf-8", "replace")
    if len(text) > NAME_LIMIT or "\n" in text or "\t" in text or "  " in text:
        text = " ".join(text.split())[:NAME_LIMIT]
    return text


def field_text(node: Node, source: bytes, name: str) -> str:
    """The source of the child in a field, "" if there is none."""
    child = node.child_by_field_name(name)
    return "" if child is None else text_of(child, source)


def child_at(node: Node, index: int) -> Node | None:
    """The child with this number, named or not, or None."""
    return node.child(index) if index < node.child_count else None


def child_of_type(node: Node, *types: str) -> Node | None:
    """The first named child of one of these types."""
    for child in node.named_children:
        if child.type in types:
            return child
    return None


TYPES = frozenset({"class", "interface", "struct", "enum", "trait", "impl", "object"})
"""Kinds of scope inside which a function is a method and a variable a field."""

MEMBERS = TYPES | {"module"}
"""Kinds whose inside holds definitions."""

_INSIDE_A_TYPE = {"function": "method", "constant": "field"}


def kind_inside(kind: str, scope: str) -> str:
    """A function in a class is a method, a constant there a field."""
    return _INSIDE_A_TYPE.get(kind, kind) if scope in TYPES else kind


def defined(kind: str, at: Place, name: str, is_test: bool = False) -> Definition | None:
    """The plain case: one name, the kind as the scope has it."""
    if not name:
        return None
    kind = "test" if is_test else kind_inside(kind, at.scope)
    return Definition(kind, name, (name,), kind in MEMBERS, is_test)


def by_field(kind: str, name: str = "name") -> Define:
    """Definitions whose name is the child in a field."""

    def define(node: Node, at: Place) -> Definition | None:
        child = node.child_by_field_name(name)
        return None if child is None else defined(kind, at, text_of(child, at.source))

    return define


def by_type(kind: str, *types: str) -> Define:
    """Definitions whose name is the first child of one of these types."""

    def define(node: Node, at: Place) -> Definition | None:
        child = child_of_type(node, *types)
        return None if child is None else defined(kind, at, text_of(child, at.source))

    return define


def wrapper(_node: Node, _at: Place) -> Definition:
    """A node that only holds definitions."""
    return WRAPPER


def before(node: Node, name: Node | None, at: Place) -> bytes:
    """The source of comments, attributes and modifiers: from the lead to the name."""
    return at.source[at.lead : node.start_byte if name is None else name.start_byte]


def release_comments(comments: frozenset[str], headers: frozenset[str]) -> Callable[..., list[Node]]:
    """An `expand` for grammars in which a node swallows the comment that documents what follows it.

    Looked into are the `headers` (packages, imports) and whatever ends with a block comment.
    """

    def expand(children: list[Node], source: bytes) -> list[Node]:
        expanded: list[Node] = []
        for child in children:
            expanded.append(child)
            if child.type in headers or source.endswith(b"*/", child.start_byte, child.end_byte):
                expanded += _last_comments(child, comments)
        return expanded

    return expand


def _last_comments(node: Node, comments: frozenset[str]) -> list[Node]:
    """The comments with which a node ends, however deep they lie."""
    while node.child_count and node.type not in comments:
        inner = node.children
        count = len(inner)
        while count and inner[count - 1].type in comments:
            count -= 1
        if count < len(inner):
            return inner[count:]
        node = inner[-1]
    return []
