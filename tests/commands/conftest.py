"""Runs the real program as a user does: another process, a directory, a command line."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

ROOT = Path(__file__).resolve().parents[2]


class Run(NamedTuple):
    """What a process left."""

    status: int
    out: bytes
    err: str

    @property
    def text(self) -> str:
        return self.out.decode()

    @property
    def lines(self) -> list[str]:
        return self.text.splitlines()

    @property
    def json(self) -> Any:
        """The one JSON object that was printed."""
        return json.loads(self.out)

    @property
    def json_lines(self) -> list[Any]:
        return [json.loads(line) for line in self.out.splitlines()]


GitCtx = Callable[..., Run]


@pytest.fixture(scope="session")
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """A user with an empty home, and this checkout before an installed copy."""
    home = tmp_path_factory.mktemp("home")
    kept = {
        name: value for name, value in os.environ.items() if not name.startswith(("GIT_", "XDG_", "COV_"))
    }
    for name in ("NO_COLOR", "CLICOLOR_FORCE", "FORCE_COLOR", "PYTHONWARNINGS"):
        kept.pop(name, None)
    return {
        **kept,
        "HOME": str(home),
        "GIT_CONFIG_NOSYSTEM": "1",
        "PYTHONPATH": str(ROOT),
        "TERM": "xterm-256color",
        "COLUMNS": "100",
        "TZ": "UTC",
    }


@pytest.fixture
def git_ctx(environment: dict[str, str], tmp_path: Path) -> GitCtx:
    """Call `git-ctx` with arguments, in `cwd`, with `stdin` and more environment variables."""

    def run(
        *arguments: str | bytes | Path,
        cwd: Path | None = None,
        stdin: bytes = b"",
        env: dict[str, str] | None = None,
    ) -> Run:
        done = subprocess.run(
            [sys.executable, "-m", "ctx", *map(os.fsencode, arguments)],
            cwd=cwd or tmp_path,
            input=stdin,
            capture_output=True,
            env={**environment, **(env or {})},
            timeout=120,
        )
        return Run(done.returncode, done.stdout, done.stderr.decode("utf-8", "replace"))

    return run
