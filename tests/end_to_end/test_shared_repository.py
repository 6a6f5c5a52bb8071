"""`core.sharedRepository`: files of the index have the permissions that git gives its own files."""

from __future__ import annotations

import os
import stat
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from repositories import Repo

from ctx.git.permissions import Permissions

MakeRepo = Callable[..., Repo]
Program = Callable[..., "subprocess.CompletedProcess[str]"]

VALUES = [
    "umask",
    "false",
    "group",
    "true",
    "1",
    "0",
    "all",
    "world",
    "everybody",
    "2",
    "0660",
    "0640",
    "0600",
    "0664",
]


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def entries(folder: Path) -> tuple[set[int], set[int]]:
    """Return the modes of all directories and files."""
    found = [folder, *folder.rglob("*")]
    return {mode(path) for path in found if path.is_dir()}, {mode(path) for path in found if path.is_file()}


@pytest.mark.parametrize("umask", [0o022, 0o077, 0o002])
@pytest.mark.parametrize("value", VALUES)
def test_mode_equals_that_of_git(make_repo: MakeRepo, value: str, umask: int) -> None:
    before = os.umask(umask)
    try:
        repo = make_repo()
        repo.git("config", "core.sharedRepository", value)
        repo.commit({"a.py": "x = 1\n"})
        repo.git("update-ref", "refs/heads/new/branch", "HEAD")
        ours = Permissions.parse(value)
        (repo.path / "folder").mkdir()
        (repo.path / "file").write_text("")
        for path, git in (("folder", "refs/heads/new"), ("file", "refs/heads/new/branch")):
            ours.give(str(repo.path / path))
            assert oct(mode(repo.path / path)) == oct(mode(repo.path / ".git" / git))
    finally:
        os.umask(before)


@pytest.mark.parametrize("value", ["umask", "group", "all", "0640"])
def test_all_files_of_the_store_are_shared(make_repo: MakeRepo, program: Program, value: str) -> None:
    before = os.umask(0o077)
    try:
        repo = make_repo()
        repo.git("config", "core.sharedRepository", value)
        repo.commit(
            {f"src{i % 4}/a{i}.py": f"def renew_session_{i}():\n    return {i}\n" for i in range(260)}
        )
        repo.git("update-ref", "refs/heads/new/branch", "HEAD")
        store = repo.path / ".git/ctx"
        for command in (["index", "-j", "2"], ["search", "renew"], ["pin", "HEAD"], ["hook-run"], ["gc"]):
            done = program(*command, cwd=repo.path)
            assert (done.returncode, done.stderr) == (0, "")
        until = time.monotonic() + 30
        while not (store / "log").exists() or list((store / "tmp").iterdir()):
            assert time.monotonic() < until
            time.sleep(0.05)
        folders, files = entries(store)
        assert folders == {mode(repo.path / ".git/refs/heads/new")}
        assert files == {mode(repo.path / ".git/refs/heads/new/branch")}
    finally:
        os.umask(before)


@pytest.mark.parametrize("value", [None, "umask", "no", "off", "0", "nonsense", "0444", "8"])
def test_invalid_value_means_the_umask(value: str | None) -> None:
    assert Permissions.parse(value) == Permissions()
    assert Permissions().mode(0o100600) == 0o100600


@pytest.mark.parametrize("value", ["group", "0640"])
def test_fetched_files_are_shared(make_repo: MakeRepo, program: Program, value: str) -> None:
    before = os.umask(0o077)
    try:
        repo, remote = make_repo(), make_repo("remote.git", "--bare")
        repo.git("config", "core.sharedRepository", value)
        repo.git("remote", "add", "origin", str(remote.path))
        repo.commit({"a.py": "def renew_session():\n    return 1\n"})
        repo.git("push", "--quiet", "origin", "main")
        assert program("push", cwd=repo.path).returncode == 0
        share = repo.path / ".git/ctx/share.git"
        own = entries(repo.path / ".git/objects")
        found = entries(share / "objects")
        assert found[0] <= own[0]
        assert found[1] <= own[1]
        assert mode(share) & 0o077 == mode(repo.path / ".git/ctx") & 0o077
    finally:
        os.umask(before)
