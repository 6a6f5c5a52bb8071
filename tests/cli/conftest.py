"""Runs the real program as a user does: another process, a directory, a command line."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import forking
import pytest
from small_project import FILES, GitCtx, Project, Run

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def environment(isolated: None) -> dict[str, str]:
    """The variables of a user with an empty home, who runs this checkout and no installed copy."""
    kept = dict(os.environ)
    for name in ("NO_COLOR", "CLICOLOR_FORCE", "FORCE_COLOR", "PYTHONWARNINGS"):
        kept.pop(name, None)
    return {**kept, "PYTHONPATH": str(ROOT), "TERM": "xterm-256color", "COLUMNS": "100", "TZ": "UTC"}


@pytest.fixture
def git_ctx(environment: dict[str, str], tmp_path: Path) -> GitCtx:
    """Call `git-ctx` with arguments, in `cwd`, with `stdin` and more environment variables."""

    def run(
        *arguments: str | bytes | Path,
        cwd: Path | None = None,
        stdin: bytes = b"",
        env: dict[str, str] | None = None,
    ) -> Run:
        done = forking.run(
            [os.fsencode(word) for word in arguments],
            cwd=cwd or tmp_path,
            stdin=stdin,
            env={**environment, **(env or {})},
        )
        return Run(done.returncode, done.stdout, done.stderr.decode("utf-8", "replace"))

    return run


@pytest.fixture
def project(make_repo: Callable[..., Any]) -> Project:
    """A repository with FILES in one commit on `main`, in a directory with a space in its name."""
    made = Project(make_repo("a project"))
    made.commit(dict(FILES))
    return made
