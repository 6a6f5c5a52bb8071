"""Ruby: `A::B#method`, `A::B.method`, RSpec and Minitest blocks."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ctx.chunking.rules import IMPORTS, WRAPPER, Definition, Place, Rules, by_field, field_text, text_of
from ctx.chunking.wordlists import words

if TYPE_CHECKING:
    from tree_sitter import Node

_REQUIRE = re.compile(rb"(?:require|require_relative|load|autoload)\b")
_TEST = re.compile(
    rb"(?:RSpec\.)?(describe|context|shared_examples|shared_context|feature|it|test|specify|scenario|should|example)"
    rb"\s*\(?\s*(?:\"((?:[^\"\\\n]|\\.){1,300})\"|'((?:[^'\\\n]|\\.){1,300})'|([A-Z][\w:]*))"
)
_GROUPS = frozenset({b"describe", b"context", b"shared_examples", b"shared_context", b"feature"})
_VISIBILITY = re.compile(rb"(?:private|protected|public|module_function|private_class_method)\b")


def _call(node: Node, at: Place) -> Definition | None:
    source, start = at.source, node.start_byte
    if _REQUIRE.match(source, start):
        return IMPORTS
    if node.child_by_field_name("block") is None:
        return None
    match = _TEST.match(source, start, node.end_byte)
    if match is None:
        return None
    name = (match.group(2) or match.group(3) or match.group(4)).decode("utf-8", "replace")
    return Definition("test", name, (name,), match.group(1) in _GROUPS, True, " > ")


def _method(node: Node, at: Place) -> Definition | None:
    name = field_text(node, at.source, "name")
    if not name:
        return None
    if name.startswith("test_"):
        return Definition("test", name, (name,), is_test=True, separator="#")
    kind = "method" if at.scope in ("class", "module") else "function"
    return Definition(kind, name, (name,), separator="#")


def _singleton_method(node: Node, at: Place) -> Definition | None:
    name = field_text(node, at.source, "name")
    return Definition("method", name, (name,), separator=".") if name else None


def _singleton_class(_node: Node, _at: Place) -> Definition:
    return WRAPPER


def _constant(node: Node, at: Place) -> Definition | None:
    left = node.child_by_field_name("left")
    if left is None or left.type != "constant":
        return None
    name = text_of(left, at.source)
    return Definition("constant", name, (name,))


def _is_visibility(node: Node, source: bytes) -> bool:
    return _VISIBILITY.match(source, node.start_byte) is not None


RUBY = Rules(
    definitions={
        "class": by_field("class"),
        "module": by_field("module"),
        "method": _method,
        "singleton_method": _singleton_method,
        "singleton_class": _singleton_class,
        "assignment": _constant,
        "call": _call,
    },
    sequences=words("program body_statement block_body then else begin array hash do"),
    opaque=words("string heredoc_body heredoc_beginning chained_string"),
    leads_if={"identifier": _is_visibility},
    separator="::",
)
