"""YAML, TOML, JSON, INI and similar: a chunk is a key with its value; also SQL and style sheets."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ctx.chunking.rules import WRAPPER, Define, Definition, Place, Rules, field_text, text_of, wrapper
from ctx.chunking.wordlists import words

if TYPE_CHECKING:
    from tree_sitter import Node


def _entry(name: str) -> Definition | None:
    name = name.strip("\"' ")
    return Definition("entry", name, (name,)) if name else None


def _keyed(node: Node, at: Place) -> Definition | None:
    return _entry(field_text(node, at.source, "key"))


def _first_child(*types: str) -> Define:
    def define(node: Node, at: Place) -> Definition | None:
        for child in node.named_children[:2]:
            if child.type in types:
                return _entry(text_of(child, at.source).strip("[]"))
        return None

    return define


def _outermost(_node: Node, at: Place) -> Definition | None:
    return WRAPPER if at.scope == "module" else None


YAML = Rules(
    definitions={"document": wrapper, "block_mapping_pair": _keyed, "flow_pair": _keyed},
    sequences=words("stream document block_mapping block_sequence flow_mapping flow_sequence"),
    opaque=words("block_scalar double_quote_scalar single_quote_scalar plain_scalar"),
)

JSON = Rules(
    definitions={"object": _outermost, "array": _outermost, "pair": _keyed},
    sequences=words("document object array"),
    opaque=words("string"),
)

TOML = Rules(
    definitions={
        "table": _first_child("bare_key", "dotted_key", "quoted_key"),
        "table_array_element": _first_child("bare_key", "dotted_key", "quoted_key"),
        "pair": _first_child("bare_key", "dotted_key", "quoted_key"),
    },
    sequences=words("document table table_array_element array inline_table"),
    opaque=words("string"),
)

INI = Rules(
    definitions={"section": _first_child("section_name"), "setting": _first_child("setting_name")},
    sequences=words("document section"),
)

PROPERTIES = Rules(definitions={"property": _first_child("key")}, sequences=words("file"))

_TARGET = re.compile(rb"([^\n:=]{1,120}?)\s*:")


def _target(node: Node, at: Place) -> Definition | None:
    match = _TARGET.match(at.source, node.start_byte)
    return _entry(match.group(1).decode("utf-8", "replace")) if match else None


def _variable(node: Node, at: Place) -> Definition | None:
    name = field_text(node, at.source, "name")
    return Definition("constant", name, (name,)) if name else None


MAKE = Rules(
    definitions={
        "rule": _target,
        "variable_assignment": _variable,
        "define_directive": _variable,
    },
    sequences=words("makefile conditional else_directive recipe"),
    imports=words("include_directive"),
)

_CREATE = re.compile(
    rb"\s*create\s+(?:or\s+replace\s+)?(?:global\s+|local\s+|temp\s+|temporary\s+|unlogged\s+|unique\s+|materialized\s+)*"
    rb"(\w+)\s+(?:if\s+not\s+exists\s+|concurrently\s+)*([\w.\"`\[\]]+)",
    re.IGNORECASE,
)
_CREATE_KINDS = {
    "function": "function",
    "procedure": "function",
    "type": "type",
    "domain": "type",
    "trigger": "function",
}


def _sql_statement(node: Node, at: Place) -> Definition | None:
    match = _CREATE.match(at.source, node.start_byte)
    if match is None:
        return None
    name = match.group(2).decode("utf-8", "replace").replace('"', "").replace("`", "").strip("[]")
    kind = _CREATE_KINDS.get(match.group(1).decode().lower(), "struct")
    return Definition(kind, name, (name.rpartition(".")[2],))


SQL = Rules(
    definitions={"statement": _sql_statement},
    sequences=words("program block list column_definitions"),
    comments=words("comment marginalia"),
    opaque=words("literal"),
)


def _style(node: Node, at: Place) -> Definition | None:
    """Return the definition of a rule, named by its selectors, or of an at-rule, named by its prelude."""
    raw = at.source[node.start_byte : min(node.end_byte, node.start_byte + 200)]
    name = " ".join(raw.partition(b"{")[0].decode("utf-8", "replace").split())[:100]
    return Definition("block", name, (), separator=" > ") if name else None


def _mixin(node: Node, at: Place) -> Definition | None:
    name = field_text(node, at.source, "name")
    return Definition("function", name, (name,)) if name else _style(node, at)


CSS = Rules(
    definitions={
        "rule_set": _style,
        "media_statement": _style,
        "supports_statement": _style,
        "keyframes_statement": _style,
        "at_rule": _style,
        "mixin_statement": _mixin,
        "function_statement": _mixin,
    },
    sequences=words("stylesheet block keyframe_block_list"),
    comments=words("comment js_comment single_line_comment"),
    imports=words("import_statement use_statement forward_statement charset_statement"),
)
SCSS = CSS
