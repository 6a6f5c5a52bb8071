"""Tables that describe a language to the splitter.

A language is one `Rules` value. `Grammar` converts its node type names to tables by tree-sitter's numeric
kind, because reading a node's number is far cheaper than reading its name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from ctx.chunking.wordlists import words

if TYPE_CHECKING:
    from tree_sitter import Language, Node

NAME_LIMIT = 120
"""Longer names (characters) are truncated: names of tests can be whole sentences."""


class Definition(NamedTuple):
    """The definition in a node, as far as the node itself shows.

    `name` is qualified below the surrounding scope ("T.Method" in Go); "" with `members` is a wrapper without
    a name (a C# namespace), which is transparent. `members` is True if the inside holds further definitions
    (a class, a module), False for statements (a function). `separator` joins the scope's symbol and the name
    if it differs from the language's usual one.
    """

    kind: str
    name: str
    names: tuple[str, ...]
    members: bool = False
    is_test: bool = False
    separator: str = ""


IMPORTS = Definition("imports", "", ())
"""Result for a node that is an import (`const x = require("x")`)."""

WRAPPER = Definition("module", "", (), members=True)
"""Result for a node that only contains definitions and has no name."""


class Place(NamedTuple):
    """Context of a definition: the file, the kind of the scope, the start of its comments and attributes."""

    source: bytes
    scope: str
    lead: int


Define = Callable[["Node", Place], "Definition | None"]
"""Return the definition in a node; None if there is none."""


@dataclass(frozen=True)
class Rules:
    """The node types of one language, by role.

    `sequences` hold independent neighbours (statements, members) and may be split between any two; every
    other node is one construct, split only inside a child that is too large; `opaque` ones (long strings)
    only between lines. `leads` belong to the next sibling, `tails` to the previous one; `leads_if` decides by
    the node itself. `docstrings` is True for a first node of a body that belongs to the header. `clauses`:
    neighbours that define the same name are one unit. `expand` replaces children that contain nodes which
    belong outside.
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
"""Roles of a child: OPEN is syntax that belongs to the next sibling, CLOSE to the previous one."""

CLOSERS = words(
    "} ) ] > ; , ;; ;& ;;& end fi done esac endif endfunction endmacro endforeach endwhile endfor endtry END "
    "}) ]) *) */ |] |} %> ?> -%> }} %} :} #endif $} ENDIF . \\"
) | {"\n", "\r\n", "\r", "#endif\n"}


class Grammar:
    """`Rules` keyed by the kind numbers of one compiled grammar.

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
"""Number of tree-sitter's ERROR node in every grammar."""


def text_of(node: Node, source: bytes) -> str:
    """Return the node's source, on one line and truncated to `NAME_LIMIT` characters."""
    raw = source[node.start_byte : min(node.end_byte, node.start_byte + 4 * NAME_LIMIT)]
    text = raw.decode("utf-8", "replace")
    if len(text) > NAME_LIMIT or "\n" in text or "\t" in text or "  " in text:
        text = " ".join(text.split())[:NAME_LIMIT]
    return text


def field_text(node: Node, source: bytes, name: str) -> str:
    """Return the source of the child in a field, "" without one."""
    child = node.child_by_field_name(name)
    return "" if child is None else text_of(child, source)


def child_at(node: Node, index: int) -> Node | None:
    """Return the child with this number, named or not, or None."""
    return node.child(index) if index < node.child_count else None


def child_of_type(node: Node, *types: str) -> Node | None:
    """Return the first named child of one of these types."""
    for child in node.named_children:
        if child.type in types:
            return child
    return None


TYPES = frozenset({"class", "interface", "struct", "enum", "trait", "impl", "object"})
"""Kinds of scope in which a function is a method and a variable a field."""

MEMBERS = TYPES | {"module"}
"""Kinds of scope that contain definitions."""

_INSIDE_A_TYPE = {"function": "method", "constant": "field"}


def kind_inside(kind: str, scope: str) -> str:
    """Return a definition's kind within a scope: a function in a class is a method, a constant a field."""
    return _INSIDE_A_TYPE.get(kind, kind) if scope in TYPES else kind


def defined(kind: str, at: Place, name: str, is_test: bool = False) -> Definition | None:
    """Return a definition with one name, its kind adapted to the scope; None without a name."""
    if not name:
        return None
    kind = "test" if is_test else kind_inside(kind, at.scope)
    return Definition(kind, name, (name,), kind in MEMBERS, is_test)


def by_field(kind: str, name: str = "name") -> Define:
    """Return a reader of definitions whose name is the child in a field."""

    def define(node: Node, at: Place) -> Definition | None:
        child = node.child_by_field_name(name)
        return None if child is None else defined(kind, at, text_of(child, at.source))

    return define


def by_type(kind: str, *types: str) -> Define:
    """Return a reader of definitions whose name is the first child of one of these types."""

    def define(node: Node, at: Place) -> Definition | None:
        child = child_of_type(node, *types)
        return None if child is None else defined(kind, at, text_of(child, at.source))

    return define


def wrapper(_node: Node, _at: Place) -> Definition:
    """Return WRAPPER, for a node that only contains definitions."""
    return WRAPPER


def before(node: Node, name: Node | None, at: Place) -> bytes:
    """Return the source of comments, attributes and modifiers: from the lead to the name."""
    return at.source[at.lead : node.start_byte if name is None else name.start_byte]


def release_comments(comments: frozenset[str], headers: frozenset[str]) -> Callable[..., list[Node]]:
    """Return an `expand` for grammars in which a node contains the comment that documents its successor.

    It expands the `headers` (packages, imports) and every node that ends with a block comment.
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
    """Return the comments at the end of a node, at any depth."""
    while node.child_count and node.type not in comments:
        inner = node.children
        count = len(inner)
        while count and inner[count - 1].type in comments:
            count -= 1
        if count < len(inner):
            return inner[count:]
        node = inner[-1]
    return []
