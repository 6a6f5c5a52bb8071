"""Fixtures: a home without agents, and the program."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import forking
import pytest
from configurations import SCRIPT


class Done(NamedTuple):
    """Output and exit status of a command."""

    status: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


@pytest.fixture(autouse=True)
def no_agents(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Hide the agents of this machine, and store nothing outside of the test."""
    monkeypatch.setenv("PATH", os.pathsep.join((os.path.dirname(SCRIPT), "/usr/bin", "/bin")))
    for name in ("CODEX_HOME", "CLAUDE_CONFIG_DIR"):
        monkeypatch.delenv(name, raising=False)
    runtime = tmp_path_factory.mktemp("runtime")
    runtime.chmod(0o700)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(runtime))


@pytest.fixture
def git_ctx(repo) -> Callable[..., Done]:
    """Run the real program in the repository: `git_ctx("setup-agent", "--yes")`."""

    def run(*arguments: str, cwd: Path | None = None, said: str = "", program: str | None = None) -> Done:
        if program is None:
            env = {**os.environ, "PYTHONPATH": str(forking.ROOT)}
            done = forking.run_for_text(arguments, cwd=cwd or repo.path, env=env, stdin=said)
        else:
            done = subprocess.run(
                [program, *arguments], cwd=cwd or repo.path, input=said, capture_output=True, text=True
            )
        return Done(done.returncode, done.stdout, done.stderr)

    return run
