"""Generic rules for a grammar, derived from the names of its node types.

Grammars follow common names: `function_definition`, `class_declaration`, `import_statement`, `block`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ctx.chunking.rules import Reader, Rules

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
_ROLES = {
    "comments": re.compile(r"(^|_)(comments?|doc|haddock|docstring|shebang)(_line|_block|_comment)?$"),
    "leads": re.compile(
        r"(^|_)(attributes?|annotations?|decorators?|pragma|modifiers?)(_list|_item|_declaration)?$"
    ),
    "imports": re.compile(
        r"(^|_)(import|include|using|require|preproc_include|open|imports|library_clause|use)"
        r"(s|_list|_statement|_declaration|_directive|_clause|_header|_from_statement|_item|_expression|_decl)?$"
    ),
    "tails": re.compile(r"^(end_tag|ETag|closing_tag|end_node|endif|end)$"),
    "opaque": re.compile(
        r"(^|_)(string|heredoc|raw_text|CharData|CData|text|regex|literal|template_string|here_doc|verbatim)"
        r"(_body|_literal)?$"
    ),
    "sequences": re.compile(
        r"(^|_)(body|block|list|program|module|file|unit|document|statements?|declarations|decls|members|items|"
        r"content|element|elements|array|object|map|table|section|stream|chunk|script|stylesheet|suite|fields|"
        r"bindings|values|cases|rules|variants)$"
        r"|^(source|compound_statement|template|fragment|element|translation_unit|top_level)"
    ),
    "definitions": re.compile(
        r"(definition|declaration|item|def|decl|statement|spec|implementation|binding)$|^(defun|create_)"
    ),
}
"""Pattern of the node types of each role; the first one that matches decides."""
_NAMES = re.compile(r"(^|_)(identifier|name|word|constant|symbol|variable|id|path)$")


def generic_rules(language: Language) -> Rules:
    """Return rules for any grammar."""
    roles = dict.fromkeys(_ROLES, "")
    definitions: dict[str | Reader, str] = {}
    for number in range(language.node_kind_count):
        name = language.node_kind_for_id(number)
        if name and language.node_kind_is_named(number) and not name.startswith("_"):
            role = next((role for role, pattern in _ROLES.items() if pattern.search(name)), None)
            if role is not None:
                roles[role] += name + " "
    for name in roles["definitions"].split():
        kind = next((kind for pattern, kind in KINDS if pattern.search(name)), None)
        if kind is not None:
            definitions[_named(kind)] = name
    return Rules(
        definitions=definitions,
        sequences=roles["sequences"],
        opaque=roles["opaque"],
        comments=roles["comments"],
        leads=roles["leads"],
        tails=roles["tails"],
        imports=roles["imports"],
    )


def _named(kind: str) -> Reader:
    return lambda at: at.define(kind, at.text(name_node(at.node)))


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
