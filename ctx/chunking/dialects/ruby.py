"""Ruby: `A::B#method`, `A::B.method`, RSpec and Minitest blocks."""

from __future__ import annotations

import re

from ctx.chunking.rules import IMPORTS, Candidate, Definition, Rules, test_case, wrapper

_REQUIRE = re.compile(rb"(?:require|require_relative|load|autoload)\b")
_TEST = re.compile(
    rb"(?:RSpec\.)?(describe|context|shared_examples|shared_context|feature|it|test|specify|scenario|should|example)"
    rb"\s*\(?\s*(?:\"((?:[^\"\\\n]|\\.){1,300})\"|'((?:[^'\\\n]|\\.){1,300})'|([A-Z][\w:]*))"
)
_GROUPS = (b"describe", b"context", b"shared_examples", b"shared_context", b"feature")
_VISIBILITY = re.compile(rb"(?:private|protected|public|module_function|private_class_method)\b")


def _call(at: Candidate) -> Definition | None:
    source, start = at.source, at.node.start_byte
    if _REQUIRE.match(source, start):
        return IMPORTS
    match = _TEST.match(source, start, at.node.end_byte)
    if match is None or at.node.child_by_field_name("block") is None:
        return None
    return test_case((match[2] or match[3] or match[4]).decode("utf-8", "replace"), match[1] in _GROUPS)


def _method(at: Candidate) -> Definition | None:
    name = at.field("name")
    if not name:
        return None
    if name.startswith("test_"):
        return Definition("test", name, (name,), is_test=True, separator="#")
    kind = "method" if at.scope in ("class", "module") else "function"
    return Definition(kind, name, (name,), separator="#")


def _singleton_method(at: Candidate) -> Definition | None:
    name = at.field("name")
    return Definition("method", name, (name,), separator=".") if name else None


def _constant(at: Candidate) -> Definition | None:
    left = at.node.child_by_field_name("left")
    if left is None or left.type != "constant":
        return None
    name = at.text(left)
    return Definition("constant", name, (name,))


RUBY = Rules(
    definitions={
        "class": "class",
        "module": "module",
        _method: "method",
        _singleton_method: "singleton_method",
        wrapper: "singleton_class",
        _constant: "assignment",
        _call: "call",
    },
    sequences="program body_statement block_body then else begin array hash do",
    opaque="string heredoc_body heredoc_beginning chained_string",
    leads_if={"identifier": _VISIBILITY},
    separator="::",
)
