"""A remote with a project, and a clone that has indexed and pushed it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from repositories import Repo
from teams import clone, files, git


@pytest.fixture
def remote(make_repo: Callable[..., Repo], tmp_path: Path) -> Path:
    """A bare repository with a project of sixty files in several nodes; object filters are enabled."""
    repo = make_repo("seed")
    repo.commit(files("src", "lib/deep", "docs"))
    repo.git("clone", "--quiet", "--bare", str(repo.path), str(tmp_path / "remote.git"))
    git(tmp_path / "remote.git", "config", "uploadpack.allowFilter", "true")
    return tmp_path / "remote.git"


@pytest.fixture
def ada(remote: Path, tmp_path: Path) -> Repo:
    """The clone that pushes."""
    return clone(remote, tmp_path / "ada")


@pytest.fixture
def bob(remote: Path, tmp_path: Path) -> Repo:
    """Another clone."""
    return clone(remote, tmp_path / "bob")
