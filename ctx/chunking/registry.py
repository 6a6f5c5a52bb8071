"""Which rules a language is chunked by."""

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
"""Language -> the module below `ctx.chunking.dialects` that holds its rules, under its name in upper case."""


def rules_of(language: str, compiled: Language) -> Rules:
    """The language's own rules, or those read off the names in its grammar."""
    module = MODULES.get(language)
    if module is None:
        from ctx.chunking.generic import generic_rules  # a tenth of all that one commit needs loaded

        return generic_rules(compiled)
    rules: Rules = getattr(import_module(f"ctx.chunking.dialects.{module}"), language.upper())
    return rules
