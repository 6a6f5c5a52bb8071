"""Environment of git processes."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from repositories import Repo

import ctx
from ctx.git import process

_SETTINGS = {"GIT_CONFIG_PARAMETERS", "GIT_CONFIG_COUNT"}


def test_all_variables_of_one_repository_are_known() -> None:
    listed = subprocess.run(
        ["git", "rev-parse", "--local-env-vars"], capture_output=True, text=True, check=True
    )
    assert set(listed.stdout.split()) - _SETTINGS <= set(process.OF_ONE_REPOSITORY)


def test_removed_variables_get_the_read_only_values(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in process.OF_ONE_REPOSITORY:
        monkeypatch.setenv(name, "/nowhere")
    monkeypatch.setenv("GIT_CONFIG_COUNT", "0")
    found = process.environment(dict.fromkeys(process.OF_ONE_REPOSITORY))
    assert found.keys() & set(process.OF_ONE_REPOSITORY) == {"GIT_NO_REPLACE_OBJECTS"}
    assert (found["GIT_NO_REPLACE_OBJECTS"], found["GIT_CONFIG_COUNT"]) == ("1", "0")
    assert process.environment({"GIT_DIR": "here"})["GIT_DIR"] == "here"


def test_sharing_from_a_hook_ignores_its_environment(
    make_repo: Callable[..., Repo], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Use the environment of a hook of `git -c … commit -a`: another index, a quarantine, settings."""
    repo = make_repo()
    repo.commit({"a.py": "def renew(session):\n    return session\n"})
    repo.git("clone", "--quiet", "--bare", ".", str(tmp_path / "remote.git"))
    repo.git("remote", "add", "origin", "elsewhere:remote.git")
    monkeypatch.setenv("GIT_DIR", str(repo.path / ".git"))
    monkeypatch.setenv("GIT_WORK_TREE", str(repo.path))
    monkeypatch.setenv("GIT_OBJECT_DIRECTORY", str(repo.path / ".git/objects"))
    for name in ("GIT_INDEX_FILE", "GIT_QUARANTINE_PATH", "GIT_REPLACE_REF_BASE", "GIT_SHALLOW_FILE"):
        monkeypatch.setenv(name, str(tmp_path / "nothing"))
    monkeypatch.setenv("GIT_NAMESPACE", "foreign")
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
    monkeypatch.setenv("GIT_CONFIG_KEY_0", f"url.{tmp_path.as_uri()}/.insteadOf")
    monkeypatch.setenv("GIT_CONFIG_VALUE_0", "elsewhere:")
    from ctx.share.push import PushOptions, push

    with ctx.open(repo.path) as index:
        assert push(index.session, None, PushOptions(("main",))).snapshots == 1
    refs = subprocess.run(
        ["git", f"--git-dir={tmp_path / 'remote.git'}", "for-each-ref", "--format=%(refname)"],
        env=process.without(),
        capture_output=True,
        text=True,
        check=True,
    )
    assert "refs/notes/ctx" in refs.stdout.split()
