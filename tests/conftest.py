"""Real git repositories for the tests: the user's settings are shut out, dates are fixed, nothing is shared.

`make_repo()` gives a new, empty repository below the test's own directory; everything that a test does to
it is done by the git on the PATH. Ids of commits are the same in every run.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

Files = Mapping["str | bytes", "str | bytes | None"]
FIRST_SECOND = 1_600_000_000
"""The date of the first commit of a test; each later one is an hour younger."""


class Repo:
    """One repository on disk and the git commands that a test needs again and again."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.clock = FIRST_SECOND

    def git(self, *args: str | bytes, stdin: bytes | None = None, check: bool = True) -> bytes:
        """Run git in the repository; its standard output, without the last newline."""
        date = f"{self.clock} +0200"
        done = subprocess.run(
            ["git", *args],
            cwd=self.path,
            input=stdin,
            stdin=subprocess.DEVNULL if stdin is None else None,
            capture_output=True,
            env={**os.environ, "GIT_AUTHOR_DATE": date, "GIT_COMMITTER_DATE": date},
        )
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


@pytest.fixture(autouse=True)
def isolated(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """No setting of the user or of a surrounding git reaches a test, and none of a test reaches the user."""
    for name in [name for name in os.environ if name.startswith(("GIT_", "XDG_", "CTX_"))]:
        monkeypatch.delenv(name)
    home = tmp_path_factory.mktemp("home")
    monkeypatch.setenv("HOME", str(home))
    for name in ("CONFIG", "CACHE", "DATA", "STATE"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(home / name.lower()))
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    monkeypatch.setenv("GIT_ATTR_NOSYSTEM", "1")
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path_factory.getbasetemp()))
    for who in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{who}_NAME", "Ada Tester")
        monkeypatch.setenv(f"GIT_{who}_EMAIL", "ada@example.org")


@pytest.fixture
def make_repo(tmp_path: Path) -> Callable[..., Repo]:
    """A function that makes a new repository: `make_repo("name", "--bare", "--object-format=sha256")`."""

    def make(name: str = "repo", *init_options: str) -> Repo:
        path = tmp_path / name
        subprocess.run(
            ["git", "-c", "init.defaultBranch=main", "init", "--quiet", *init_options, str(path)], check=True
        )
        return Repo(path)

    return make


@pytest.fixture
def repo(make_repo: Callable[..., Repo]) -> Repo:
    """One empty repository."""
    return make_repo()


@pytest.fixture(scope="session")
def git_version() -> tuple[int, ...]:
    """The version of the git under test, for what older ones cannot make."""
    assert shutil.which("git"), "the tests need git on the PATH"
    words = subprocess.run(["git", "version"], capture_output=True, text=True, check=True).stdout.split()
    return tuple(int(part) for part in words[2].split(".")[:2])
