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


FILES: dict[str | bytes, str | bytes] = {
    "src/session.py": '''"""Sessions of users."""

import time


class SessionStore:
    """Keeps the sessions that are open."""

    def __init__(self, lifetime: float) -> None:
        self.lifetime = lifetime
        self.sessions = {}

    def renew_session(self, token: str) -> None:
        """Push the expiry of a session into the future."""
        self.sessions[token] = time.time() + self.lifetime

    def forget_expired(self) -> int:
        """Drop every session whose time is over, and say how many."""
        now = time.time()
        over = [token for token, end in self.sessions.items() if end < now]
        for token in over:
            del self.sessions[token]
        return len(over)
''',
    "src/retry.go": """package retry

import "time"

// Backoff calls f until it succeeds, and waits twice as long after each failure.
func Backoff(f func() error, first time.Duration) error {
	wait := first
	for i := 0; i < 5; i++ {
		if err := f(); err == nil {
			return nil
		}
		time.Sleep(wait)
		wait *= 2
	}
	return f()
}
""",
    "lib/colour.js": """// Mixes two colours.
export function mixColours(left, right) {
  return left.map((part, i) => (part + right[i]) / 2);
}
""",
    "lib/copy/colour.js": """// Mixes two colours.
export function mixColours(left, right) {
  return left.map((part, i) => (part + right[i]) / 2);
}
""",
    "docs/guide.md": "# Guide\n\nHow to install it.\n\n## Billing\n\nInvoices are sent once a month.\n",
    "logo.png": b"\x89PNG\r\n\x1a\n\x00\x00\x00\x00",
}
"""A small project; the two colour.js are one blob."""


class Project:
    """A repository for one test, with ids and answers of git as text."""

    def __init__(self, repo: Any) -> None:
        self.repo = repo
        self.path: Path = repo.path

    def git(self, *arguments: str) -> str:
        """Run git here and return what it printed."""
        said: bytes = self.repo.git(*arguments)
        return said.decode()

    def commit(self, files: dict[str | bytes, str | bytes]) -> str:
        """Write files, commit all there is, and return the id of the commit."""
        made: bytes = self.repo.commit(files)
        return made.hex()


@pytest.fixture
def project(make_repo: Callable[..., Any]) -> Project:
    """A repository with FILES in one commit on `main`, in a directory with a space in its name."""
    made = Project(make_repo("a project"))
    made.commit(dict(FILES))
    return made
