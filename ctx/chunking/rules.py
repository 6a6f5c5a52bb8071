"""Tables that describe a language to the splitter.

A language is one `Rules` value. `Grammar` converts its node type names to tables by tree-sitter's numeric
kind, because reading a node's number is far cheaper than reading its name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import re

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


def test_case(name: str, is_group: bool) -> Definition:
    """Return the definition of a test whose name is a sentence, or of a group of such tests."""
    return Definition("test", name, (name,), is_group, True, " > ")


STATEMENTS = frozenset({"function", "method", "test"})
"""Kinds of scope that contain statements."""

TYPES = frozenset({"class", "interface", "struct", "enum", "trait", "impl", "object"})
"""Kinds of scope in which a function is a method and a variable a field."""

MEMBERS = TYPES | {"module"}
"""Kinds of scope that contain definitions."""

_INSIDE_A_TYPE = {"function": "method", "constant": "field"}


class Candidate(NamedTuple):
    """A node that may be a definition.

    `source` is the file, `scope` the kind of the definition around the node, `lead` the start of the comments
    and attributes before it.
    """

    node: Node
    source: bytes
    scope: str
    lead: int

    @property
    def is_local(self) -> bool:
        """True if the node is in a function."""
        return self.scope in STATEMENTS

    def text(self, node: Node | None) -> str:
        """Return the source of a node, on one line and truncated to `NAME_LIMIT` characters; "" for None."""
        if node is None:
            return ""
        raw = self.source[node.start_byte : min(node.end_byte, node.start_byte + 4 * NAME_LIMIT)]
        text = raw.decode("utf-8", "replace")
        if len(text) > NAME_LIMIT or "\n" in text or "\t" in text or "  " in text:
            text = " ".join(text.split())[:NAME_LIMIT]
        return text

    def field(self, name: str, node: Node | None = None) -> str:
        """Return the text of the child in a field, of this node or another one; "" without such a child."""
        return self.text((node or self.node).child_by_field_name(name))

    def kind(self, kind: str) -> str:
        """Return a kind adapted to the scope: a function in a class is a method, a constant a field."""
        return _INSIDE_A_TYPE.get(kind, kind) if self.scope in TYPES else kind

    def define(self, kind: str, name: str, is_test: bool = False) -> Definition | None:
        """Return a definition with one name, its kind adapted to the scope; None without a name."""
        if not name:
            return None
        kind = "test" if is_test else self.kind(kind)
        return Definition(kind, name, (name,), kind in MEMBERS, is_test)

    def define_names(self, kind: str, names: Iterable[str]) -> Definition | None:
        """Return a definition with several names, its kind adapted to the scope; None without names."""
        names = tuple(names)
        return Definition(self.kind(kind), names[0], names) if names else None


Reader = Callable[[Candidate], "Definition | None"]
"""Return the definition in a node; None if there is none."""


@dataclass(frozen=True)
class Rules:
    """The node types of one language, by role; the types of one role are separated by spaces.

    `definitions` has the node types of each kind, if the name is in the field `name`, or of each reader.
    `sequences` hold independent neighbours (statements, members) and may be split between any two; every
    other node is one construct, split only inside a child that is too large; `opaque` ones (long strings)
    only between lines. `leads` belong to the next sibling, `tails` to the previous one; `leads_if` are leads
    if the pattern matches at their start. `docstrings` returns True for a first node of a body that belongs
    to the header. `clauses`: neighbours that define the same name are one unit. `expand` replaces children
    that contain nodes which belong outside.
    """

    definitions: Mapping[str | Reader, str] = field(default_factory=dict)
    sequences: str = ""
    opaque: str = ""
    comments: str = "comment line_comment block_comment"
    leads: str = ""
    tails: str = ""
    imports: str = ""
    docstrings: Callable[[Node, bytes], bool] | None = None
    leads_if: Mapping[str, re.Pattern[bytes]] = field(default_factory=dict)
    expand: Callable[[list[Node], bytes], list[Node]] | None = None
    separator: str = "."
    clauses: bool = False

    @cached_property
    def readers(self) -> Mapping[str, Reader]:
        """The reader of each node type."""
        return {
            node_type: by_field(reader) if isinstance(reader, str) else reader
            for reader, node_types in self.definitions.items()
            for node_type in node_types.split()
        }

    def read(self, at: Candidate, node: Node | None) -> Definition | None:
        """Return the definition in a node inside of a candidate; None for None."""
        reader = None if node is None else self.readers.get(node.type)
        return None if reader is None or node is None else reader(at._replace(node=node))


OPEN, CLOSE, COMMENT, LEAD, IMPORT, DEFINITION, OTHER = range(7)
"""Roles of a child: OPEN is syntax that belongs to the next sibling, CLOSE to the previous one."""

CLOSERS = frozenset(
    "} ) ] > ; , ;; ;& ;;& end fi done esac endif endfunction endmacro endforeach endwhile endfor endtry END "
    "}) ]) *) */ |] |} %> ?> -%> }} %} :} #endif $} ENDIF . \\".split()
) | {"\n", "\r\n", "\r", "#endif\n"}

ERROR_KIND = 65535
"""Number of tree-sitter's ERROR node in every grammar."""


class Grammar:
    """`Rules` keyed by the kind numbers of one compiled grammar.

    `roles[kind_id]` is OPEN … OTHER, `readers[kind_id]` reads a definition; `sequences` and `opaque` are sets
    of numbers.
    """

    __slots__ = ("leads_if", "opaque", "readers", "roles", "rules", "sequences")

    def __init__(self, language: Language, rules: Rules) -> None:
        self.rules = rules
        # If a node type has several roles, the last one of these counts.
        roles = {
            node_type: role
            for role, node_types in (
                (IMPORT, rules.imports.split()),
                (CLOSE, rules.tails.split()),
                (LEAD, rules.leads.split()),
                (COMMENT, rules.comments.split()),
                (DEFINITION, rules.readers),
            )
            for node_type in node_types
        }
        sequences, opaque = rules.sequences.split(), rules.opaque.split()
        numbers = range(language.node_kind_count)
        kinds = {number: language.node_kind_for_id(number) or "" for number in numbers}
        named = {number: kind for number, kind in kinds.items() if language.node_kind_is_named(number)}
        self.roles = {number: CLOSE if kind in CLOSERS else OPEN for number, kind in kinds.items()}
        self.roles |= {number: roles.get(kind, OTHER) for number, kind in named.items()}
        self.roles[ERROR_KIND] = OTHER
        self.sequences = {ERROR_KIND, *(number for number, kind in named.items() if kind in sequences)}
        self.opaque = {number for number, kind in named.items() if kind in opaque}
        readers, leads_if = rules.readers, rules.leads_if
        self.readers = {number: readers[kind] for number, kind in named.items() if kind in readers}
        self.leads_if = {number: leads_if[kind] for number, kind in named.items() if kind in leads_if}


def child_at(node: Node, index: int) -> Node | None:
    """Return the child with this number, named or not, or None."""
    return node.child(index) if index < node.child_count else None


def child_of_type(node: Node, *types: str) -> Node | None:
    """Return the first named child of one of these types."""
    return next((child for child in node.named_children if child.type in types), None)


def by_field(kind: str, name: str = "name", test_mark: re.Pattern[bytes] | None = None) -> Reader:
    """Return a reader of definitions whose name is the child in a field.

    A definition is a test if `test_mark` occurs between its lead and its name.
    """

    def read(at: Candidate) -> Definition | None:
        child = at.node.child_by_field_name(name)
        if child is None:
            return None
        is_test = test_mark is not None and test_mark.search(at.source, at.lead, child.start_byte) is not None
        return at.define(kind, at.text(child), is_test)

    return read


def by_type(kind: str, *types: str) -> Reader:
    """Return a reader of definitions whose name is the first child of one of these types."""
    return lambda at: at.define(kind, at.text(child_of_type(at.node, *types)))


def wrapper(_at: Candidate) -> Definition:
    """Return WRAPPER, for a node that only contains definitions."""
    return WRAPPER


def release_comments(comments: str, headers: str) -> Callable[[list[Node], bytes], list[Node]]:
    """Return an `expand` for grammars in which a node contains the comment that documents its successor.

    It expands the `headers` (packages, imports) and every node that ends with a block comment.
    """
    header_types, comment_types = headers.split(), comments.split()

    def expand(children: list[Node], source: bytes) -> list[Node]:
        expanded: list[Node] = []
        for child in children:
            expanded.append(child)
            if child.type in header_types or source.endswith(b"*/", child.start_byte, child.end_byte):
                expanded += _last_comments(child, comment_types)
        return expanded

    return expand


def _last_comments(node: Node, comments: Sequence[str]) -> list[Node]:
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
