"""A built package contains the hooks of the checkout."""

from __future__ import annotations

import ast
import configparser
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from waiting import ROOT

from ctx.maintenance.hooks import shims


def test_a_built_package_has_the_same_hooks(tmp_path):
    pytest.importorskip("setuptools")
    source, built = tmp_path / "source", tmp_path / "built"
    for name in ("ctx", "hooks"):
        shutil.copytree(ROOT / name, source / name, ignore=shutil.ignore_patterns("__pycache__", "*.bin"))
    for name in ("setup.cfg", "pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    program = "import setuptools; setuptools.setup()"
    command = [sys.executable, "-W", "ignore", "-c", program, "-q", "build_py", "--build-lib", str(built)]
    subprocess.run(command, cwd=source, check=True, capture_output=True)
    for event in shims.EVENTS:
        assert (built / "ctx" / "hooks" / event).read_bytes() == (ROOT / "hooks" / event).read_bytes()
    where = (
        "from ctx.maintenance.hooks import shims; "
        "print(shims.__file__, shims.shim('post-merge').decode(), sep='\\n')"
    )
    environment = {**os.environ, "PYTHONPATH": str(built)}
    found = subprocess.run(
        [sys.executable, "-c", where], cwd=built, env=environment, capture_output=True, text=True, check=True
    )
    path, _, text = found.stdout.partition("\n")
    assert path.startswith(str(built))
    assert text == shims.shim("post-merge").decode() + "\n"


def test_imported_packages_are_declared():
    """A package that is installed only as a dependency of another may disappear with its next release."""
    config = configparser.ConfigParser()
    config.read(ROOT / "setup.cfg", encoding="utf-8")
    extras = config["options.extras_require"]
    always = declared(config["options"]["install_requires"])
    for_server = always | declared(extras["pack"]) | declared(extras["mcp"])
    counted: set[str] = set()
    for path in sorted((ROOT / "ctx").rglob("*.py")):
        found = imported(path)
        counted |= found
        allowed = for_server if "mcp" in path.relative_to(ROOT / "ctx").parts else always
        if path.name == "tokens.py":
            allowed = allowed | declared(extras["pack"])
        if path.name == "_stamp.py":
            allowed = allowed | {"setuptools"}  # runs in a build alone
        assert found <= allowed, (path, found - allowed)
    assert for_server == counted - {"setuptools"}, "declared and not imported"


def declared(text: str) -> set[str]:
    """Return the modules of requirements, one per line, except extras of this package."""
    names = [re.match(r"[A-Za-z0-9_-]+", line) for line in text.splitlines()]
    found = {name[0].replace("-", "_").lower() for name in names if name}
    return found - {"git_ctx"}


def imported(path: Path) -> set[str]:
    """Return the third-party packages that a file imports anywhere, except for type checking alone."""
    found = set()
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            node.body.clear()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {name.name.partition(".")[0] for name in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level:
            found.add(str(node.module).partition(".")[0])
    return found - sys.stdlib_module_names - {"ctx", "tomllib"}
