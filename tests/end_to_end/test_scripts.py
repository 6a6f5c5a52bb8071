"""The scripts of tests/benchmarks and tests/training import, and name only what the package has."""

from __future__ import annotations

import ast
import importlib
import runpy
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

TESTS = Path(__file__).parents[1]
SCRIPTS = sorted(file for part in ("benchmarks", "training") for file in (TESTS / part).rglob("*.py"))
OPTIONAL = {"lightgbm", "model2vec", "scipy", "semble", "tokenizers", "usearch"}
"""Packages that single scripts need and the project does not declare."""


@pytest.fixture
def import_path(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """The import path, restored afterwards together with the modules of the scripts.

    Scripts in different folders import siblings of the same name.
    """
    path = [str(TESTS / "training" / "ranking"), *sys.path]
    monkeypatch.setattr(sys, "path", path)
    before = set(sys.modules)
    yield path
    files = set(map(str, SCRIPTS))
    for name in set(sys.modules) - before:
        if getattr(sys.modules[name], "__file__", None) in files:
            del sys.modules[name]


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: str(script.relative_to(TESTS)))
def test_script_names_only_what_exists(script: Path, import_path: list[str]) -> None:
    import_path.insert(0, str(script.parent))
    try:
        names = runpy.run_path(str(script), run_name="imported")
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] not in OPTIONAL:
            raise
        pytest.skip(f"needs {error.name}")
    tree = ast.parse(script.read_text(encoding="utf-8"))
    assert [name for name in package_names(tree, names) if not exists(name)] == []


def package_names(tree: ast.AST, names: dict[str, object]) -> Iterator[str]:
    """Dotted names below `ctx` that a script imports anywhere, or uses as attributes of a module."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "ctx":
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Attribute):
            dotted, _, rest = ast.unparse(node).partition(".")
            module = names.get(dotted)
            is_name = all(part.isidentifier() for part in rest.split("."))
            if is_name and isinstance(module, ModuleType) and module.__name__.partition(".")[0] == "ctx":
                yield f"{module.__name__}.{rest}"


def exists(name: str) -> bool:
    """Return True if a dotted name can be imported, module by module, or read as an attribute."""
    found: object = importlib.import_module("ctx")
    known = "ctx"
    for part in name.split(".")[1:]:
        known += f".{part}"
        if not hasattr(found, part) and isinstance(found, ModuleType):
            try:
                importlib.import_module(known)
            except ModuleNotFoundError:
                return False
        if not hasattr(found, part):
            return False
        found = getattr(found, part)
    return True
