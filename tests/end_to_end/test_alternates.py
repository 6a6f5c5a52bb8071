"""A repository with alternates reads the index of the other repository, and never writes there."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from repositories import Repo

import ctx
from ctx.git.alternates import alternates
from ctx.git.location import locate, with_alternate
from ctx.git.objects import Libgit2Objects
from ctx.types import Answer

MakeRepo = Callable[..., Repo]


def source(name: str) -> str:
    return f'def {name}(value):\n    """Renews {name} for the session of a user."""\n    return value\n'


@pytest.fixture
def original(make_repo: MakeRepo) -> Repo:
    """A repository of several clusters, indexed and searched."""
    repo = make_repo("original")
    repo.commit({f"src/part{i % 3}/file{i}.py": source(f"renew_{i}") for i in range(60)})
    ask(repo)
    return repo


@pytest.fixture
def borrower(original: Repo, tmp_path: Path) -> Repo:
    subprocess.run(
        ["git", "clone", "-q", "--shared", str(original.path), str(tmp_path / "borrower")], check=True
    )
    return Repo(tmp_path / "borrower")


def ask(repo: Repo) -> Answer:
    with ctx.open(repo.path) as index:
        return index.search("renew the session", limit=20)


def state(folder: Path) -> dict[str, tuple[int, bytes]]:
    """Return all files below a directory with their times."""
    return {
        str(path.relative_to(folder)): (path.stat().st_mtime_ns, path.read_bytes())
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def test_shared_clone_is_searched_without_indexing(original: Repo, borrower: Repo) -> None:
    before = state(original.path / ".git/ctx")
    with ctx.open(borrower.path) as index:
        assert index.session.indexer.missing(index.resolve().tree) == []
        assert index.index().skipped == "ALREADY_INDEXED"
        assert index.status().alternates == [str(original.path / ".git/ctx")]
        assert index.status().head.covered
    hits = ask(borrower).hits
    assert not (borrower.path / ".git/ctx").exists()
    assert state(original.path / ".git/ctx") == before
    assert hits == ask(original).hits


def test_only_missing_data_is_built_and_kept_here(original: Repo, borrower: Repo) -> None:
    before = state(original.path / ".git/ctx")
    borrower.commit({"src/part0/new.py": source("renew_new")})
    with ctx.open(borrower.path) as index:
        report = index.index()
    assert report.processed_new_clusters < report.total_clusters
    assert report.embedded_chunks <= 2
    assert state(original.path / ".git/ctx") == before
    answer = ask(borrower)
    shutil.rmtree(borrower.path / ".git/ctx")
    shutil.rmtree(original.path / ".git/ctx")
    assert answer.hits == ask(borrower).hits


def test_data_removed_from_the_alternate_is_rebuilt(original: Repo, borrower: Repo) -> None:
    borrower.commit({"src/part0/new.py": source("renew_new")})
    expected = ask(borrower).hits
    shutil.rmtree(original.path / ".git/ctx/objects")
    assert ask(borrower).hits == expected
    shutil.rmtree(original.path / ".git/ctx")
    assert ask(borrower).hits == expected


def test_data_of_the_alternate_is_verified(original: Repo, borrower: Repo) -> None:
    expected = ask(original).hits
    shutil.rmtree(original.path / ".git/ctx/views")
    for path in (original.path / ".git/ctx").rglob("*/*/??/*"):
        data = path.read_bytes()
        path.write_bytes(data[:-3] + bytes([data[-3] ^ 1]) + data[-2:])
    assert ask(borrower).hits == expected
    assert ask(borrower).coverage.complete


def test_store_of_an_untrusted_alternate_is_not_read(original: Repo, borrower: Repo) -> None:
    if os.geteuid():
        pytest.skip("only root can give a directory away")
    for path in (original.path, original.path / ".git"):
        os.chown(path, 1, 1)
    with ctx.open(borrower.path) as index:
        assert index.session.store.alternates == []
        assert index.search("renew the session").hits


@pytest.mark.parametrize("layout", ["2\n", ""])
def test_store_of_another_layout_is_not_read(original: Repo, borrower: Repo, layout: str) -> None:
    (original.path / ".git/ctx/version").write_text(layout)
    with ctx.open(borrower.path) as index:
        assert index.session.store.alternates == []
        assert index.index().embedded_chunks


def test_gc_and_fsck_do_not_change_the_alternate(
    original: Repo, borrower: Repo, program: Callable[..., subprocess.CompletedProcess[str]]
) -> None:
    borrower.commit({"src/part0/new.py": source("renew_new")})
    expected = ask(borrower).hits
    before = state(original.path / ".git/ctx")
    for command in (
        ["fsck", "--full"],
        ["gc", "--grace", "now"],
        ["fsck"],
        ["status"],
        ["remove-index", "-y"],
    ):
        done = program(*command, cwd=borrower.path)
        assert (done.returncode, done.stderr) == (0, "")
    assert state(original.path / ".git/ctx") == before
    assert ask(borrower).hits == expected


def test_environment_of_a_hook_is_ignored_for_alternates(
    original: Repo, borrower: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_DIR", str(borrower.path / ".git"))
    with ctx.open(borrower.path) as index:
        assert index.session.store.alternates == [str(original.path / ".git/ctx")]


@pytest.mark.parametrize("name", ["plain", "a:b", '"quoted"', "with\nnewline", "caf\udce9", "#comment"])
def test_alternates_are_found_as_by_git(make_repo: MakeRepo, name: str) -> None:
    far = make_repo("far")
    far.commit({"a": "far"})
    near = make_repo(name)
    near.commit({"b": "near"})
    (near.path / ".git/objects/info/alternates").write_text("# whose\n../../../far/.git/objects\n")
    own = make_repo("own")
    listed = str(near.path / ".git/objects")
    quoted = '"' + listed.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'
    (own.path / ".git/objects/info/alternates").write_bytes(os.fsencode(quoted + "\n"))
    expected = [str(near.path / ".git/objects"), str(far.path / ".git/objects")]
    assert alternates(str(own.path / ".git/objects")) == expected
    assert alternates(str(make_repo("other").path / ".git/objects"), with_alternate("", listed)) == expected
    for oid in (far.id("HEAD:a"), near.id("HEAD:b")):
        assert own.git("cat-file", "blob", oid.hex())  # git agrees
        place = locate(str(own.path))
        assert Libgit2Objects(place, alternates(place.objects)).read(oid).kind == "blob"


def test_link_to_an_object_directory_has_no_index(original: Repo, tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", str(tmp_path / "own")], check=True)
    (tmp_path / "alias").symlink_to(original.path / ".git/objects")
    (tmp_path / "own/.git/objects/info/alternates").write_text(f"{tmp_path / 'alias'}\n")
    with ctx.open(tmp_path / "own") as index:
        assert index.repository.alternates == [str(tmp_path / "alias")]
        assert index.session.store.alternates == []
        assert index.index(original.id().hex()).embedded_chunks


def test_alternates_with_cycles_and_missing_directories(make_repo: MakeRepo) -> None:
    one, other = make_repo("one"), make_repo("other")
    places = [str(repo.path / ".git/objects") for repo in (one, other)]
    (one.path / ".git/objects/info/alternates").write_text(f"{places[1]}\n/nowhere\n{places[0]}\n\n")
    (other.path / ".git/objects/info/alternates").write_text(f"{places[0]}\n")
    assert alternates(places[0]) == [places[1]]
    (one.path / ".git/objects/info/alternates").write_bytes(b'"unclosed\n\xff\n')
    assert alternates(places[0]) == []
