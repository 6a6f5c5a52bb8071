"""Which rules a language is chunked by."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from ctx.chunking.generic import generic_rules
from ctx.chunking.rules import Rules

if TYPE_CHECKING:
    from tree_sitter import Language

MODULES = {
    "csharp": "csharp",
    "go": "golang",
    "java": "jvm",
    "javascript": "javascript",
    "kotlin": "jvm",
    "php": "php",
    "python": "python",
    "rust": "rust",
    "tsx": "javascript",
    "typescript": "javascript",
}
"""Language -> the module below `ctx.chunking.dialects` that holds its rules, under its name in upper case."""


def rules_of(language: str, compiled: Language) -> Rules:
    """The language's own rules, or those read off the names in its grammar."""
    module = MODULES.get(language)
    if module is None:
        return generic_rules(compiled)
    rules: Rules = getattr(import_module(f"ctx.chunking.dialects.{module}"), language.upper())
    return rules
