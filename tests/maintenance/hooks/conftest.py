"""Repositories whose hooks start the real program, or a script that records how it was started."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from recorder import Calls, put_settings, put_shims
from repositories import Repo
from waiting import BOUND, ROOT, SCRIPT


class Done(NamedTuple):
    """Result of a process."""

    status: int
    out: str
    err: str

    @property
    def json_lines(self) -> list[Any]:
        return [json.loads(line) for line in self.out.splitlines()]


@pytest.fixture(autouse=True)
def this_checkout(isolated: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let hooks start the git-ctx of this checkout; no other one is on the PATH."""
    if not SCRIPT.exists():
        pytest.skip("git-ctx is not installed as a program")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.delenv("PYTHONWARNINGS", raising=False)
    kept = [place for place in os.environ["PATH"].split(":") if not (Path(place) / "git-ctx").exists()]
    monkeypatch.setenv("PATH", ":".join(kept))
    monkeypatch.setenv("GIT_EDITOR", "true")


@pytest.fixture
def git_ctx(repo: Repo) -> Callable[..., Done]:
    """Run the installed program in the repository, or in `cwd`."""

    def run(*arguments: str, cwd: Path | None = None, env: dict[str, str] | None = None) -> Done:
        done = subprocess.run(
            [SCRIPT, *arguments],
            cwd=cwd or repo.path,
            env={**os.environ, **(env or {})},
            capture_output=True,
            text=True,
            timeout=2 * BOUND,
        )
        return Done(done.returncode, done.stdout, done.stderr)

    return run


@pytest.fixture
def calls(tmp_path: Path) -> Calls:
    """Return a program that records its calls, in a directory with an awkward name."""
    return Calls(tmp_path / 'it\'s a "program" $HOME')


@pytest.fixture(params=["files", "config"])
def hooked(request: pytest.FixtureRequest, repo: Repo, calls: Calls, git_version: tuple[int, ...]) -> Repo:
    """Return a repository with one commit, whose hooks call the recorder."""
    repo.commit({"a.txt": "one\n"})
    if request.param == "config":
        if git_version < (2, 54):
            pytest.skip("git before 2.54 takes no hooks from its configuration")
        put_settings(repo, calls.program)
    else:
        put_shims(repo, calls.program)
    return repo
