"""Extraction of import statements and identifiers from one file by tree-sitter queries."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING, NamedTuple, cast

from ctx.search.dependencies import statements
from ctx.search.dependencies.files import Files
from ctx.search.dependencies.resolving import csharp, golang, javascript, jvm, php, python, rust
from ctx.search.dependencies.statements import line_of, text_of
from ctx.search.dependencies.types import Import, Target, Uses

if TYPE_CHECKING:
    from tree_sitter import Node, Query
    from tree_sitter_language_pack import SupportedLanguage

    from ctx.chunking.grammars import Parse

_MOST_NAMES = 4000
"""Maximum number of distinct identifiers of one file; files with more are data tables."""
_SHORTEST = 3
"""Minimum length of an identifier, in bytes."""


class Language(NamedTuple):
    """Reader and resolver of a language's imports, and the query for import statements and identifiers.

    Captures: `import` is a statement, `package` the package or namespace of the file, `member` an identifier
    after a dot, `name` any other identifier.
    """

    read: Callable[[Node, bytes], Iterator[Import]]
    resolve: Callable[[Files, str, Import], Target]
    query: str


_JS = """
(import_statement) @import
(export_statement source: (string)) @import
(call_expression function: [(import) (identifier)] arguments: (arguments . (string))) @import
(property_identifier) @member
(identifier) @name
"""
_TS = _JS + "(type_identifier) @name\n"

LANGUAGES = {
    "python": Language(
        statements.python,
        python.resolve,
        """
        (import_statement) @import
        (import_from_statement) @import
        (attribute attribute: (identifier) @member)
        (identifier) @name
        """,
    ),
    "javascript": Language(statements.javascript, javascript.resolve, _JS),
    "typescript": Language(statements.javascript, javascript.resolve, _TS),
    "tsx": Language(statements.javascript, javascript.resolve, _TS),
    "java": Language(
        statements.java,
        jvm.resolve,
        """
        (import_declaration) @import
        (package_declaration [(scoped_identifier) (identifier)] @package)
        (method_invocation name: (identifier) @member)
        (field_access field: (identifier) @member)
        (type_identifier) @name
        (identifier) @name
        """,
    ),
    "kotlin": Language(
        statements.kotlin,
        jvm.resolve,
        """
        (import_header) @import
        (package_header (identifier) @package)
        (navigation_suffix (simple_identifier) @member)
        (type_identifier) @name
        (simple_identifier) @name
        """,
    ),
    "csharp": Language(
        statements.csharp,
        csharp.resolve,
        """
        (using_directive) @import
        (namespace_declaration name: (_) @package)
        (file_scoped_namespace_declaration name: (_) @package)
        (member_access_expression name: (identifier) @member)
        (identifier) @name
        """,
    ),
    "php": Language(
        statements.php,
        php.resolve,
        """
        (namespace_use_declaration) @import
        (require_once_expression) @import
        (require_expression) @import
        (include_once_expression) @import
        (include_expression) @import
        (namespace_definition name: (namespace_name) @package)
        (member_call_expression name: (name) @member)
        (scoped_call_expression name: (name) @member)
        (name) @name
        """,
    ),
    "go": Language(
        statements.golang,
        golang.resolve,
        """
        (import_spec) @import
        (package_clause (package_identifier) @package)
        (selector_expression field: (field_identifier) @member)
        (qualified_type name: (type_identifier) @member)
        (type_identifier) @name
        (identifier) @name
        """,
    ),
    "rust": Language(
        statements.rust,
        rust.resolve,
        """
        (use_declaration) @import
        (mod_item) @import
        (field_identifier) @member
        (scoped_identifier name: (identifier) @member)
        (scoped_type_identifier name: (type_identifier) @member)
        (type_identifier) @name
        (identifier) @name
        """,
    ),
}
"""Supported languages."""


@cache
def _query(language: str) -> Query:
    from tree_sitter import Query
    from tree_sitter_language_pack import get_language

    return Query(get_language(cast("SupportedLanguage", language)), LANGUAGES[language].query)


def read_uses(source: bytes, language: str, parse: Parse | None = None) -> Uses | None:
    """Return the uses of a file (UTF-8), or None if the language is unsupported or the parser gave up.

    `parse` replaces the parser, for callers that cache parses.
    """
    if language not in LANGUAGES:
        return None
    from tree_sitter import QueryCursor

    from ctx.chunking import grammars

    parsed = (parse or grammars.parse)(source, language)
    if parsed is None:
        return None
    found = QueryCursor(_query(language)).captures(parsed[0].root_node)
    nodes, packages = (
        sorted(found.get(kind, ()), key=lambda node: node.start_byte) for kind in ("import", "package")
    )
    imports: list[Import] = []
    excluded = [(node.start_byte, node.end_byte) for node in packages]
    for node in nodes:
        imported = list(LANGUAGES[language].read(node, source))
        if imported:
            imports += imported
            excluded.append((node.start_byte, node.end_byte))
    excluded.sort()
    members = _first_lines(found.get("member", ()), source, excluded)
    names = _first_lines(found.get("name", ()), source, excluded)
    return Uses(tuple(imports), names, members, text_of(packages[0], source) if packages else "")


def _first_lines(nodes: Sequence[Node], source: bytes, excluded: list[tuple[int, int]]) -> dict[str, int]:
    """Return the first line of each identifier that is outside of the byte ranges `excluded`."""
    starts = [start for start, _ in excluded]
    first: dict[bytes, int] = {}
    for node in nodes:
        start, end = node.start_byte, node.end_byte
        if end - start < _SHORTEST:
            continue
        before = bisect_right(starts, start) - 1
        if before >= 0 and start < excluded[before][1]:
            continue
        line = line_of(node)
        text = source[start:end]
        if first.get(text, line) >= line:
            first[text] = line
    ordered = sorted(first.items(), key=lambda one: (one[1], one[0]))[:_MOST_NAMES]
    return {text.decode("utf-8", "replace"): line for text, line in ordered}
