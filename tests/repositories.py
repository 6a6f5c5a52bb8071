"""A real git repository for a test, and the git commands that tests need again and again.

Everything is done by the git on the PATH, with fixed names and dates, so ids are the same in every run.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

Files = Mapping["str | bytes", "str | bytes | None"]
FIRST_SECOND = 1_600_000_000
"""The date of the first commit of a test; each later one is an hour younger."""


class Repo:
    """One repository on disk and the git commands that a test needs again and again."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.clock = FIRST_SECOND

    def run(self, *args: str | bytes, stdin: bytes | None = None) -> subprocess.CompletedProcess[bytes]:
        """Run git in the repository, whatever comes of it."""
        date = f"{self.clock} +0200"
        return subprocess.run(
            ["git", *args],
            cwd=self.path,
            input=stdin,
            stdin=subprocess.DEVNULL if stdin is None else None,
            capture_output=True,
            env={**os.environ, "GIT_AUTHOR_DATE": date, "GIT_COMMITTER_DATE": date},
        )

    def git(self, *args: str | bytes, stdin: bytes | None = None, check: bool = True) -> bytes:
        """Run git in the repository; its standard output, without the last newline."""
        done = self.run(*args, stdin=stdin)
        if check and done.returncode:
            raise AssertionError(f"git {args!r} ended with {done.returncode}: {done.stderr.decode()}")
        return done.stdout.removesuffix(b"\n")

    def id(self, revision: str = "HEAD") -> bytes:
        """The raw object id that a revision names."""
        return bytes.fromhex(self.git("rev-parse", "--verify", revision).decode())

    def write(self, files: Files) -> None:
        """Write files into the work tree; None removes one."""
        for name, content in files.items():
            full = os.path.join(os.fsencode(self.path), os.fsencode(name))
            if content is None:
                os.unlink(full)
                continue
            os.makedirs(os.path.dirname(full), exist_ok=True)
            with open(full, "wb") as stream:
                stream.write(content.encode() if isinstance(content, str) else content)

    def commit(self, files: Files | None = None, message: str = "change") -> bytes:
        """Write the files, commit everything, and give the raw id of the commit."""
        self.write(files or {})
        self.git("add", "--all", "--force")
        self.git("commit", "--quiet", "--allow-empty", "--message", message)
        self.clock += 3600
        return self.id()

    def branch(self, name: str, start: str = "HEAD") -> None:
        """Make a branch and switch to it."""
        self.git("checkout", "--quiet", "-b", name, start)

    def delete_object(self, oid: bytes) -> None:
        """Take one loose object away, as a damaged disk or an unfinished copy would."""
        name = oid.hex()
        (self.path / ".git" / "objects" / name[:2] / name[2:]).unlink()
