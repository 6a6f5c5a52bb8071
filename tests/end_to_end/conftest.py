"""Run the real program in a repository, and count what a search embedded and reused."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import forking
import pytest

ROOT = Path(__file__).resolve().parents[2]

Program = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def program(isolated: None) -> Program:
    """Call `git-ctx` with arguments in a directory."""

    def run(*arguments: str, cwd: Path, **more: Any) -> subprocess.CompletedProcess[str]:
        env = {**os.environ, "PYTHONPATH": str(ROOT), **more.pop("env", {})}
        if not more:
            return forking.run_for_text(arguments, cwd=cwd, env=env)
        return subprocess.run(
            [sys.executable, "-m", "ctx", *arguments],
            cwd=cwd,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            errors="surrogateescape",
            env=env,
            **more,
        )

    return run
