"""Read-only repositories: searching works, and indexing reports the reason why it does not."""

from __future__ import annotations

import ctypes
import json
import os
import resource
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from projects import QUERIES, project
from repositories import Repo
from ways import Run, ask, program

import ctx
from ctx.errors import StoreUnusable

FEW = (QUERIES[0], QUERIES[2])


def without_privileges() -> None:
    """Drop the capability of root to write everywhere (capabilities(7), CAP_DAC_OVERRIDE)."""
    if os.geteuid() == 0:
        drop, override = 24, 1
        if ctypes.CDLL(None).prctl(drop, override, 0, 0, 0):
            raise OSError("not allowed to give up a capability")


def may_be_shut_out(tmp_path: Path) -> bool:
    """Return True if a child can be denied writing in a directory."""
    shut = tmp_path / "shut"
    shut.mkdir()
    shut.chmod(0o555)
    code = f"open({os.fspath(shut / 'file')!r}, 'w')"
    try:
        done = subprocess.run(
            [sys.executable, "-c", code], preexec_fn=without_privileges, stderr=subprocess.DEVNULL
        )
    except (subprocess.SubprocessError, OSError, AttributeError):
        return False
    return done.returncode != 0


def with_room(size: int) -> Callable[[], None]:
    """Limit the size of files, which acts like a full disk for larger ones."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))

    return limit


def outcome(repo: Repo, **more: object) -> tuple[Run, Run]:
    """Return the results of a search and of an indexing run."""
    return (
        program("search", FEW[0], "-z", cwd=repo.path, **more),  # type: ignore[arg-type]
        program("index", cwd=repo.path, **more),  # type: ignore[arg-type]
    )


@pytest.mark.parametrize(
    ("place", "files"),
    [("file", 30), ("full", 30), ("nearly full", 30), ("read-only", 260), ("nearly full", 260)],
    ids=["file", "full", "nearly full", "read-only, many files", "nearly full, many files"],
)
def test_searching_works_read_only_and_indexing_reports_why_not(
    make_repo: Callable[..., Repo], tmp_path: Path, place: str, files: int
) -> None:
    repo = make_repo()
    repo.commit(project(41, files))
    expected = program("search", FEW[0], "-z", cwd=repo.path).out
    shutil.rmtree(repo.path / ".git/ctx")
    git = repo.path / ".git"
    if place == "file":
        (git / "ctx").write_text("in the way")
        searched, indexed = outcome(repo)
    elif place == "read-only":
        if not may_be_shut_out(tmp_path):
            pytest.skip("nothing keeps this user from writing")
        git.chmod(0o555)
        searched, indexed = outcome(repo, preexec_fn=without_privileges)
        git.chmod(0o755)
    else:
        searched, indexed = outcome(repo, preexec_fn=with_room(0 if place == "full" else 1500))
    assert (searched.status, searched.out, searched.err) == (0, expected, "")
    assert indexed.status == 128
    assert str(git / "ctx") in indexed.err
    assert "run the command again" in indexed.err
    if place != "file":
        assert not (git / "ctx/snapshots").exists() or not list((git / "ctx/snapshots").glob("*/trees/*/*"))
        # A worker that is ended because another one failed may leave a scrap, which is swept later.
        assert files > 200 or not list((git / "ctx").glob("tmp/*"))
    else:
        (git / "ctx").unlink()
    again = program("index", cwd=repo.path)
    assert (again.status, again.err) == (0, "")
    assert program("search", FEW[0], "-z", cwd=repo.path).out == expected


def test_a_read_only_index_is_still_read(make_repo: Callable[..., Repo], tmp_path: Path) -> None:
    if not may_be_shut_out(tmp_path):
        pytest.skip("nothing keeps this user from writing")
    repo = make_repo()
    repo.commit(project(42, 40))
    expected = program("search", FEW[0], "-z", cwd=repo.path).out
    store = repo.path / ".git/ctx"
    for folder in (store, *(path for path in store.rglob("*") if path.is_dir())):
        folder.chmod(0o555)
    assert program("search", FEW[0], "-z", cwd=repo.path, preexec_fn=without_privileges).out == expected
    for file in store.rglob("objects/*/*/*"):
        file.write_bytes(b"")
    run = program("search", FEW[0], "-z", cwd=repo.path, preexec_fn=without_privileges)
    assert (run.status, run.out, run.err) == (0, expected, "")


def test_a_pack_that_cannot_be_stored_is_printed(make_repo: Callable[..., Repo], tmp_path: Path) -> None:
    if not may_be_shut_out(tmp_path):
        pytest.skip("nothing keeps this user from writing")
    repo = make_repo()
    repo.commit(project(45, 30))
    git = repo.path / ".git"
    command = ("pack", "--task", "renew the session of a user", "--budget-tokens", "1500")
    expected = program(*command, "--stdout", cwd=repo.path)
    assert (expected.status, expected.err) == (0, "")
    shutil.rmtree(git / "ctx")
    git.chmod(0o555)
    runs = {
        options: program(*command, *options, cwd=repo.path, preexec_fn=without_privileges)
        for options in ((), ("--stdout",), ("--json",))
    }
    listed = program("pack", "--list", cwd=repo.path, preexec_fn=without_privileges)
    git.chmod(0o755)
    for run in runs.values():
        assert run.status == 0
        assert run.err.startswith("warning: the pack is not stored: the index in ")
    assert runs[()].out == runs["--stdout",].out == expected.out
    assert json.loads(runs["--json",].out)["task"] == "renew the session of a user"
    assert listed.status == 0


def test_a_library_user_indexes_again_after_a_search_in_memory(make_repo: Callable[..., Repo]) -> None:
    repo = make_repo()
    repo.commit(project(43, 20))
    (repo.path / ".git/ctx").write_text("in the way")
    with ctx.open(repo.path) as index:
        assert index.search(FEW[0]).hits
        with pytest.raises(StoreUnusable):
            index.index()
        (repo.path / ".git/ctx").unlink()
        assert index.index().total_clusters
    with ctx.open(repo.path) as index:
        assert index.session.snapshots.tree(repo.id("HEAD^{tree}")) is not None
    assert ask(repo.path, FEW, [()])


def test_removing_removes_any_file(make_repo: Callable[..., Repo]) -> None:
    repo = make_repo()
    repo.commit(project(44, 20))
    (repo.path / ".git/ctx").write_text("in the way")
    assert program("remove-index", cwd=repo.path).status == 0
    assert not (repo.path / ".git/ctx").exists()
    assert program("index", cwd=repo.path).status == 0
    assert program("remove-index", cwd=repo.path).status == 0
    assert not (repo.path / ".git/ctx").exists()
    assert program("remove-index", cwd=repo.path).status == 0
