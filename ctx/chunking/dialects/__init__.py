"""Rules of single languages: tables of node types, and readers of names that are not in a field."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tree_sitter import Language

    from ctx.chunking.rules import Rules

_MODULES = {
    language: module
    for module, languages in {
        "csharp": "csharp",
        "data": "css ini json make properties scss sql toml yaml",
        "elixir": "elixir",
        "go": "go",
        "haskell": "haskell",
        "javascript": "javascript tsx typescript",
        "jvm": "java kotlin",
        "lua": "lua luau",
        "native": "arduino c cpp cuda glsl hlsl ispc",
        "php": "php",
        "python": "python",
        "ruby": "ruby",
        "rust": "rust",
        "scala": "scala",
        "swift": "swift",
        "zig": "zig",
    }.items()
    for language in languages.split()
}
"""Module in this package of each language; its rules have the name of the language in capitals."""


def rules_of(language: str, compiled: Language) -> Rules:
    """Return the rules of a language, or generic ones derived from its grammar."""
    module = _MODULES.get(language)
    if module is None:
        from ctx.chunking.generic import generic_rules  # a tenth of the import time for one commit

        return generic_rules(compiled)
    rules: Rules = getattr(import_module(f"{__name__}.{module}"), language.upper())
    return rules
