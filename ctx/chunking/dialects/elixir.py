"""Elixir: definitions are calls, documentation and specs are attributes before them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ctx.chunking.rules import IMPORTS, Candidate, Definition, Rules, test_case

if TYPE_CHECKING:
    from tree_sitter import Node

_CALL = re.compile(
    rb"(\w+)\s*\(?\s*(?:\"((?:[^\"\\\n]|\\.){1,300})\"|([A-Z][\w.]*(?:\s*,\s*for:\s*[A-Z][\w.]*)?)|([a-z_]\w*[?!]?))?"
)
_KINDS = {
    b"def": "function",
    b"defp": "function",
    b"defmacro": "macro",
    b"defmacrop": "macro",
    b"defguard": "macro",
    b"defguardp": "macro",
    b"defdelegate": "function",
    b"defmodule": "module",
    b"defprotocol": "interface",
    b"defimpl": "impl",
}
_IMPORTS = (b"use", b"import", b"alias", b"require")
_TESTS = (b"test", b"describe", b"property", b"feature")
_LEADS = re.compile(rb"@(?:doc|spec|impl|deprecated|typedoc|tag|describetag|dialyzer|since|callback_doc)\b")
_ATTRIBUTE = re.compile(rb"@(type|typep|opaque|callback|macrocallback|\w+)\s+([a-z_]\w*)?")


def _call(at: Candidate) -> Definition | None:
    match = _CALL.match(at.source, at.node.start_byte, at.node.end_byte)
    if match is None:
        return None
    word, text, module, plain = match.groups()
    if word in _IMPORTS:
        return IMPORTS
    if text is not None and word in _TESTS:
        return test_case(text.decode("utf-8", "replace"), word == b"describe")
    kind = _KINDS.get(word)
    name = (module or plain or b"").decode("utf-8", "replace")
    if kind is None or not name:
        return None
    if kind in ("module", "interface", "impl"):
        name = re.sub(r"\s*,\s*for:\s*", " for ", name)
        return Definition(kind, name, (name,) if kind != "impl" else (), members=True)
    return Definition(kind, name, (name,))


def _attribute(at: Candidate) -> Definition | None:
    source, start = at.source, at.node.start_byte
    match = _ATTRIBUTE.match(source, start, at.node.end_byte)
    if match is None or _LEADS.match(source, start) or _is_module_documentation(at.node, source):
        return None
    word = match.group(1).decode()
    if word in ("type", "typep", "opaque", "callback", "macrocallback"):
        name = (match.group(2) or b"").decode()
        return Definition("type" if word[0] in "to" else "function", name, (name,)) if name else None
    return Definition("constant", word, (word,))


def _is_module_documentation(node: Node, source: bytes) -> bool:
    return source.startswith((b"@moduledoc", b"@shortdoc"), node.start_byte)


ELIXIR = Rules(
    definitions={_call: "call", _attribute: "unary_operator"},
    sequences="source do_block body stab_clause list map map_content keywords else_block anonymous_function",
    opaque="string sigil charlist",
    leads_if={"unary_operator": _LEADS},
    docstrings=_is_module_documentation,
    clauses=True,
)
