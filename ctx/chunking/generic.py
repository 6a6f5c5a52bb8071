"""Generic rules for a grammar, derived from the names of its node types.

Grammars follow common names: `function_definition`, `class_declaration`, `import_statement`, `block`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ctx.chunking.rules import Define, Definition, Place, Rules, defined, text_of

if TYPE_CHECKING:
    from tree_sitter import Language, Node

_DEFINES = (
    r"_?(definition|declaration|item|def|decl|statement|spec|signature|implementation|declarator|clause)?$"
)

KINDS: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(r"(^|_)(" + words + ")" + _DEFINES), kind)
    for words, kind in (
        ("function|func|fun|procedure|subroutine|proc|sub|fn|routine|defun|task|rpc|entry_point", "function"),
        ("method|constructor|destructor|initializer|getter|setter|accessor", "method"),
        ("class|contract|library|component|entity|actor|role|record_class", "class"),
        ("interface|protocol", "interface"),
        ("struct|structure|record|message|union|service", "struct"),
        ("enum|enumeration", "enum"),
        ("trait|mixin|typeclass|concept", "trait"),
        ("impl|instance|extension", "impl"),
        ("object", "object"),
        ("module|namespace|package_body|unit|architecture", "module"),
        ("typedef|type_alias|type|newtype|data_type|datatype|alias|type_synonym|typealias", "type"),
        ("const|constant|global_variable|static", "constant"),
        ("macro|define|preproc_def|preproc_function_def", "macro"),
        ("property|field", "field"),
        ("test", "test"),
        ("create_table|create_view|create_index|create_type|create_trigger|create_schema", "struct"),
        ("create_function|create_procedure", "function"),
    )
)
_DEFINING = re.compile(
    r"(definition|declaration|item|def|decl|statement|spec|implementation|binding)$|^(defun|create_)"
)
_OPAQUE = re.compile(
    r"(^|_)(string|heredoc|raw_text|CharData|CData|text|regex|literal|template_string|here_doc|verbatim)(_body|_literal)?$"
)
_SEQUENCE = re.compile(
    r"(^|_)(body|block|list|program|module|file|unit|document|statements?|declarations|decls|members|items|content|element|"
    r"elements|array|object|map|table|section|stream|chunk|script|stylesheet|suite|fields|bindings|values|"
    r"cases|rules|variants)$|^(source|compound_statement|template|fragment|element|translation_unit|top_level)"
)
_IMPORTS = re.compile(
    r"(^|_)(import|include|using|require|preproc_include|open|imports|library_clause|use)"
    r"(s|_list|_statement|_declaration|_directive|_clause|_header|_from_statement|_item|_expression|_decl)?$"
)
_COMMENTS = re.compile(r"(^|_)(comments?|doc|haddock|docstring|shebang)(_line|_block|_comment)?$")
_LEADS = re.compile(
    r"(^|_)(attributes?|annotations?|decorators?|pragma|modifiers?)(_list|_item|_declaration)?$"
)
_TAILS = re.compile(r"^(end_tag|ETag|closing_tag|end_node|endif|end)$")
_NAMES = re.compile(r"(^|_)(identifier|name|word|constant|symbol|variable|id|path)$")


def generic_rules(language: Language) -> Rules:
    """Return rules for any grammar."""
    definitions: dict[str, Define] = {}
    comments: set[str] = set()
    leads: set[str] = set()
    tails: set[str] = set()
    imports: set[str] = set()
    sequences: set[str] = set()
    opaque: set[str] = set()
    for number in range(language.node_kind_count):
        name = language.node_kind_for_id(number)
        if not name or not language.node_kind_is_named(number) or name.startswith("_"):
            continue
        if _COMMENTS.search(name):
            comments.add(name)
        elif _LEADS.search(name):
            leads.add(name)
        elif _IMPORTS.search(name):
            imports.add(name)
        elif _TAILS.search(name):
            tails.add(name)
        elif _OPAQUE.search(name):
            opaque.add(name)
        elif _SEQUENCE.search(name):
            sequences.add(name)
        elif _DEFINING.search(name):
            kind = next((kind for pattern, kind in KINDS if pattern.search(name)), None)
            if kind is not None:
                definitions[name] = _named(kind)
    return Rules(
        definitions=definitions,
        sequences=frozenset(sequences),
        opaque=frozenset(opaque),
        comments=frozenset(comments),
        leads=frozenset(leads),
        tails=frozenset(tails),
        imports=frozenset(imports),
    )


def _named(kind: str) -> Define:
    def define(node: Node, at: Place) -> Definition | None:
        found = name_node(node)
        return None if found is None else defined(kind, at, text_of(found, at.source))

    return define


def name_node(node: Node) -> Node | None:
    """Return the node that names a definition.

    Its `name` field, the end of its declarators, or its first identifier.
    """
    for _ in range(8):
        inner = node.child_by_field_name("name") or node.child_by_field_name("declarator")
        if inner is None:
            break
        node = inner
    else:
        return node
    if node.child_count == 0 or _NAMES.search(node.type):
        return node
    return next((child for child in node.named_children if _NAMES.search(child.type)), None)
