"""What is built carries the hooks of the checkout."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

import pytest
from waiting import ROOT

from ctx.maintenance.hooks import shims


def test_a_built_package_has_the_same_bytes(tmp_path):
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
