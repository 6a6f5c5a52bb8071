"""Real git repositories for the tests: the user's settings are shut out, dates are fixed, nothing is shared.

`make_repo()` gives a new, empty repository below the test's own directory; everything that a test does to
it is done by the git on the PATH.
"""

from __future__ import annotations

import atexit
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

import hypothesis
import pytest
from repositories import Repo

# A busy machine is no fault of what is tested, and nothing is timed here.
hypothesis.settings.register_profile(
    "busy", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow]
)
hypothesis.settings.load_profile("busy")


# Where nothing compiled may be kept beside the sources, every process would compile the package again.
if os.environ.pop("PYTHONDONTWRITEBYTECODE", None):
    os.environ["PYTHONPYCACHEPREFIX"] = tempfile.mkdtemp(prefix="git-ctx-compiled-")
    atexit.register(shutil.rmtree, os.environ["PYTHONPYCACHEPREFIX"], ignore_errors=True)


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
