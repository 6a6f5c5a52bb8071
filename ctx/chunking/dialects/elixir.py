"""Elixir: definitions are calls, documentation and specs are attributes before them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ctx.chunking.rules import IMPORTS, Definition, Place, Rules
from ctx.chunking.wordlists import words

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
_IMPORTS = frozenset({b"use", b"import", b"alias", b"require"})
_LEADS = re.compile(rb"@(?:doc|spec|impl|deprecated|typedoc|tag|describetag|dialyzer|since|callback_doc)\b")
_ATTRIBUTE = re.compile(rb"@(type|typep|opaque|callback|macrocallback|\w+)\s+([a-z_]\w*)?")


def _call(node: Node, at: Place) -> Definition | None:
    match = _CALL.match(at.source, node.start_byte, node.end_byte)
    if match is None:
        return None
    word, text, module, name = match.groups()
    if word in _IMPORTS:
        return IMPORTS
    if text is not None and word in (b"test", b"describe", b"property", b"feature"):
        shown = text.decode("utf-8", "replace")
        return Definition("test", shown, (shown,), word == b"describe", True, " > ")
    kind = _KINDS.get(word)
    if kind is None:
        return None
    found = (module or name or b"").decode("utf-8", "replace")
    if kind in ("module", "interface", "impl"):
        found = re.sub(r"\s*,\s*for:\s*", " for ", found)
        return Definition(kind, found, (found,) if kind != "impl" else (), members=True) if found else None
    return Definition(kind, found, (found,)) if found else None


def _attribute(node: Node, at: Place) -> Definition | None:
    match = _ATTRIBUTE.match(at.source, node.start_byte, node.end_byte)
    if match is None or _is_lead(node, at.source) or _is_module_documentation(node, at.source):
        return None
    word = match.group(1).decode()
    if word in ("type", "typep", "opaque", "callback", "macrocallback"):
        name = (match.group(2) or b"").decode()
        return Definition("type" if word[0] in "to" else "function", name, (name,)) if name else None
    return Definition("constant", word, (word,))


def _is_lead(node: Node, source: bytes) -> bool:
    return _LEADS.match(source, node.start_byte) is not None


def _is_module_documentation(node: Node, source: bytes) -> bool:
    return source.startswith((b"@moduledoc", b"@shortdoc"), node.start_byte)


ELIXIR = Rules(
    definitions={"call": _call, "unary_operator": _attribute},
    sequences=words(
        "source do_block body stab_clause list map map_content keywords else_block anonymous_function"
    ),
    opaque=words("string sigil charlist"),
    leads_if={"unary_operator": _is_lead},
    docstrings=_is_module_documentation,
    clauses=True,
)
