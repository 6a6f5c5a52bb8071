"""YAML, TOML, JSON, INI and similar: a chunk is a key with its value; also SQL and style sheets."""

from __future__ import annotations

import re

from ctx.chunking.rules import WRAPPER, Candidate, Definition, Reader, Rules, wrapper


def _entry(at: Candidate, name: str) -> Definition | None:
    return at.define("entry", name.strip("\"' "))


def _keyed(at: Candidate) -> Definition | None:
    return _entry(at, at.field("key"))


def _first_child(*types: str) -> Reader:
    def read(at: Candidate) -> Definition | None:
        for child in at.node.named_children[:2]:
            if child.type in types:
                return _entry(at, at.text(child).strip("[]"))
        return None

    return read


def _outermost(at: Candidate) -> Definition | None:
    return WRAPPER if at.scope == "module" else None


YAML = Rules(
    definitions={wrapper: "document", _keyed: "block_mapping_pair flow_pair"},
    sequences="stream document block_mapping block_sequence flow_mapping flow_sequence",
    opaque="block_scalar double_quote_scalar single_quote_scalar plain_scalar",
)

JSON = Rules(
    definitions={_outermost: "object array", _keyed: "pair"},
    sequences="document object array",
    opaque="string",
)

TOML = Rules(
    definitions={_first_child("bare_key", "dotted_key", "quoted_key"): "table table_array_element pair"},
    sequences="document table table_array_element array inline_table",
    opaque="string",
)

INI = Rules(
    definitions={_first_child("section_name"): "section", _first_child("setting_name"): "setting"},
    sequences="document section",
)

PROPERTIES = Rules(definitions={_first_child("key"): "property"}, sequences="file")

_TARGET = re.compile(rb"([^\n:=]{1,120}?)\s*:")


def _target(at: Candidate) -> Definition | None:
    match = _TARGET.match(at.source, at.node.start_byte)
    return _entry(at, match.group(1).decode("utf-8", "replace")) if match else None


MAKE = Rules(
    definitions={_target: "rule", "constant": "variable_assignment define_directive"},
    sequences="makefile conditional else_directive recipe",
    imports="include_directive",
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


def _sql_statement(at: Candidate) -> Definition | None:
    match = _CREATE.match(at.source, at.node.start_byte)
    if match is None:
        return None
    name = match.group(2).decode("utf-8", "replace").replace('"', "").replace("`", "").strip("[]")
    kind = _CREATE_KINDS.get(match.group(1).decode().lower(), "struct")
    return Definition(kind, name, (name.rpartition(".")[2],))


SQL = Rules(
    definitions={_sql_statement: "statement"},
    sequences="program block list column_definitions",
    comments="comment marginalia",
    opaque="literal",
)


def _style(at: Candidate) -> Definition | None:
    """Return the definition of a rule, named by its selectors, or of an at-rule, named by its prelude."""
    start, end = at.node.start_byte, at.node.end_byte
    raw = at.source[start : min(end, start + 200)]
    name = " ".join(raw.partition(b"{")[0].decode("utf-8", "replace").split())[:100]
    return Definition("block", name, (), separator=" > ") if name else None


def _mixin(at: Candidate) -> Definition | None:
    return at.define("function", at.field("name")) or _style(at)


CSS = SCSS = Rules(
    definitions={
        _style: "rule_set media_statement supports_statement keyframes_statement at_rule",
        _mixin: "mixin_statement function_statement",
    },
    sequences="stylesheet block keyframe_block_list",
    comments="comment js_comment single_line_comment",
    imports="import_statement use_statement forward_statement charset_statement",
)
