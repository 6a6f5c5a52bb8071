"""Resolution of import statements to files of the tree, by the rules of each language."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

from ctx.search.dependencies.files import Files
from ctx.search.dependencies.resolving.target import NOWHERE, Target
from ctx.search.dependencies.types import Import

Resolve = Callable[[Files, str, Import], Target]
"""Resolve an import of the file at a path."""

_MODULES = {
    "python": "python",
    "javascript": "javascript",
    "typescript": "javascript",
    "tsx": "javascript",
    "java": "jvm",
    "kotlin": "jvm",
    "csharp": "csharp",
    "php": "php",
    "go": "golang",
    "rust": "rust",
}


def resolver_of(language: str) -> Resolve | None:
    """Return the resolver of a language, or None if it is not supported."""
    if language not in _MODULES:
        return None
    resolve: Resolve = import_module(f"ctx.search.dependencies.resolving.{_MODULES[language]}").resolve
    return resolve


__all__ = ["NOWHERE", "Resolve", "Target", "resolver_of"]
