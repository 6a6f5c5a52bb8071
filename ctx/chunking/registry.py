"""The chunking rules of each language."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from ctx.chunking.rules import Rules

if TYPE_CHECKING:
    from tree_sitter import Language

MODULES = {
    "arduino": "native",
    "c": "native",
    "cpp": "native",
    "csharp": "csharp",
    "css": "data",
    "cuda": "native",
    "elixir": "elixir",
    "glsl": "native",
    "go": "golang",
    "haskell": "haskell",
    "hlsl": "native",
    "ini": "data",
    "ispc": "native",
    "java": "jvm",
    "javascript": "javascript",
    "json": "data",
    "kotlin": "jvm",
    "lua": "lua",
    "luau": "lua",
    "make": "data",
    "php": "php",
    "properties": "data",
    "python": "python",
    "ruby": "ruby",
    "rust": "rust",
    "scala": "scala",
    "scss": "data",
    "sql": "data",
    "swift": "swift",
    "toml": "data",
    "tsx": "javascript",
    "typescript": "javascript",
    "yaml": "data",
    "zig": "zig",
}
"""Module in `ctx.chunking.dialects` of each language; its rules have the name of the language in capitals."""


def rules_of(language: str, compiled: Language) -> Rules:
    """Return the rules of a language, or generic ones derived from its grammar."""
    module = MODULES.get(language)
    if module is None:
        from ctx.chunking.generic import generic_rules  # a tenth of the import time for one commit

        return generic_rules(compiled)
    rules: Rules = getattr(import_module(f"ctx.chunking.dialects.{module}"), language.upper())
    return rules
