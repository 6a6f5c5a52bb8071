"""A small project for the tests of commands, and what a run of the program leaves."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple


class Run(NamedTuple):
    """Exit status and output of a process."""

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
