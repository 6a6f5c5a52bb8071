"""The layout of `ctx/`: few packages, no circles, and an architecture page that names what exists."""

from __future__ import annotations

import ast
import re
from graphlib import TopologicalSorter
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGES, LOOSE_MODULES, LINES = 16, 8, 44_000
"""Most packages and loose modules in `ctx/`, and most lines."""


def modules() -> dict[str, Path]:
    """Return the files of `ctx/` by the names of their modules."""
    files = (ROOT / "ctx").rglob("*.py")
    return {
        ".".join(file.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): file
        for file in files
    }


def imports(file: Path, known: dict[str, Path]) -> set[str]:
    """Return the modules of `ctx/` that a file imports anywhere, for type checking too."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            names = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= names & known.keys() or {node.module}
    return found & known.keys()


def test_the_size_of_the_package() -> None:
    files = modules().values()
    assert (
        len({file.relative_to(ROOT).parts[1] for file in files if len(file.relative_to(ROOT).parts) > 2})
        <= PACKAGES
    )
    assert sum(file.parent == ROOT / "ctx" for file in files) <= LOOSE_MODULES
    assert sum(len(file.read_text(encoding="utf-8").splitlines()) for file in files) <= LINES


def test_no_modules_import_each_other_in_a_circle() -> None:
    known = modules()
    graph = {name: imports(file, known) - {name} for name, file in known.items()}
    TopologicalSorter(graph).prepare()  # raises CycleError with the circle


def test_the_architecture_names_files_that_exist() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    known = {file.relative_to(ROOT).as_posix() for file in modules().values()}
    for name in re.findall(r"`([\w/]+\.py)`", text):
        assert (ROOT / name).exists() or any(one.endswith(f"/{name}") for one in known), name
