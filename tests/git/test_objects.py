"""Reading objects with git and libgit2: both formats, missing, damaged, promised, in alternates."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from repositories import Repo

from ctx.errors import Damaged
from ctx.git.location import locate
from ctx.git.objects import CatFileObjects, Libgit2Objects, Objects
from ctx.git.repository import Repository, open_repository

MakeRepo = Callable[..., Repo]


@pytest.fixture
def opened(repo: Repo) -> Repository:
    return open_repository(repo.path)


@pytest.fixture(params=["sha1", "sha256"])
def either(request: pytest.FixtureRequest, make_repo: MakeRepo) -> Repo:
    """A repository of each object format."""
    return make_repo("repo", f"--object-format={request.param}")


def test_objects_of_both_formats(either: Repo) -> None:
    commit = either.commit(
        {"a.py": "print()\n", "dir/b": b"\0\xff", b"dir/\xe9": "latin"}, "First\nline\n\nbody"
    )
    with open_repository(either.path) as found:
        assert found.id_size == len(commit)
        resolved = found.resolve_tree("HEAD")
        assert resolved.commit == commit
        assert resolved.tree == either.id("HEAD^{tree}")
        entries = {entry.name: entry for entry in found.tree_entries(resolved.tree)}
        assert {name: entry.mode for name, entry in entries.items()} == {b"a.py": 0o100644, b"dir": 0o040000}
        inner = {entry.name: entry.oid for entry in found.tree_entries(entries[b"dir"].oid)}
        assert inner.keys() == {b"b", b"\xe9"}
        assert found.read_blob(inner[b"b"]) == b"\0\xff"
        assert found.blob_size(entries[b"a.py"].oid) == 8
        absent = b"\1" * found.id_size
        assert found.blob_sizes([inner[b"b"], absent, resolved.tree]) == [2, None, None]
        assert list(found.read_blobs([absent, inner[b"b"]] * 40)) == [None, b"\0\xff"] * 40
        for read in (found.read_blob, found.blob_size, found.tree_entries, found.commit_info):
            with pytest.raises(KeyError):
                read(absent)
        info = found.commit_info(commit)
        assert info.subject == "First line"
        assert (info.author_name, info.author_time, info.committer_offset) == (
            "Ada Tester",
            1_600_000_000,
            120,
        )
        assert (info.tree, info.parents) == (resolved.tree, ())


def test_replace_refs_are_not_followed(repo: Repo, opened: Repository) -> None:
    first = repo.commit({"a": "1"})
    second = repo.commit({"a": "2"})
    repo.git("replace", second.hex(), first.hex())
    assert opened.resolve_tree("HEAD").tree != repo.id(f"{first.hex()}^{{tree}}")
    assert [commit for commit, _ in opened.ancestors(second, 9)] == [second, first]


def test_alternates(repo: Repo, tmp_path: Path) -> None:
    repo.commit({"a": "1"})
    subprocess.run(["git", "clone", "-q", "--shared", str(repo.path), str(tmp_path / "borrower")], check=True)
    borrower = open_repository(tmp_path / "borrower")
    assert borrower.read_blob(repo.id("HEAD:a")) == b"1"


@pytest.mark.parametrize("kind", [CatFileObjects, Libgit2Objects])
def test_missing_and_damaged_objects(repo: Repo, kind: type[Objects]) -> None:
    repo.commit({"a": "one", "b": "two", "c": "three"})
    lost, broken, whole = (repo.id(f"HEAD:{name}") for name in "abc")
    repo.delete_object(lost)
    name = broken.hex()
    path = repo.path / ".git" / "objects" / name[:2] / name[2:]
    path.chmod(0o644)
    path.write_bytes(b"no zlib stream")
    objects = _objects(repo, kind)
    assert [found and found.data for found in objects.read_many([lost, whole, broken, whole])] == [
        None,
        b"three",
        None,
        b"three",
    ]
    assert [header and header.size for header in objects.headers([broken, whole, lost])] == [None, 5, None]
    for oid in (lost, broken):
        with pytest.raises(KeyError):
            objects.read(oid)
    assert objects.find(b"HEAD:c") == (whole, "blob", 5, b"three")
    assert objects.find(b"HEAD:a") is None
    assert objects.find(b"nothing") is None
    objects.close()


@pytest.mark.parametrize("kind", [CatFileObjects, Libgit2Objects])
def test_empty_tree_always_exists(repo: Repo, kind: type[Objects]) -> None:
    empty = bytes.fromhex("4b825dc642cb6eb9a060e54bf8d69288fbee4904")
    objects = _objects(repo, kind)
    assert objects.read(empty) == (empty, "tree", 0, b"")
    objects.close()


def _objects(repo: Repo, kind: type[Objects]) -> Objects:
    if kind is Libgit2Objects:
        return Libgit2Objects(locate(str(repo.path)))
    return CatFileObjects(locate(str(repo.path)))


def test_partial_clone_is_read_without_fetching(repo: Repo, tmp_path: Path) -> None:
    repo.commit({"a": "1", "dir/b": "2"}, "first")
    repo.commit({"a": "11"}, "second")
    repo.git("config", "uploadpack.allowFilter", "true")
    clone = tmp_path / "partial"
    command = ["git", "clone", "-q", "--no-checkout", "--filter=blob:none", repo.path.as_uri(), str(clone)]
    subprocess.run(command, check=True)
    with open_repository(clone) as found:
        assert isinstance(found.objects, Libgit2Objects)
        tree = found.resolve_tree("HEAD~1").tree
        entries = {entry.name: entry.oid for entry in found.tree_entries(tree)}
        with pytest.raises(KeyError):
            found.read_blob(entries[b"a"])
        assert found.blob_sizes([entries[b"a"]]) == [None]
        assert [name for name, _ in found.references()] == [
            b"refs/heads/main",
            b"refs/remotes/origin/HEAD",
            b"refs/remotes/origin/main",
        ]
        # git cannot fetch either.
        fallback = CatFileObjects(locate(str(clone)))
        assert [read and read.kind for read in fallback.read_many([entries[b"a"], tree])] == [None, "tree"]
        fallback.close()
    objects = subprocess.run(
        ["git", "-C", str(clone), "cat-file", "--batch-all-objects", "--batch-check=%(objecttype)"],
        capture_output=True,
        check=True,
    )
    assert b"blob" not in objects.stdout


def test_forked_child_starts_its_own_process(repo: Repo, opened: Repository) -> None:
    repo.commit({"a": "1", "b": "2"})
    assert opened.read_blob(repo.id("HEAD:a")) == b"1"
    child = os.fork()
    if child == 0:
        os._exit(0 if opened.read_blob(repo.id("HEAD:b")) == b"2" else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert opened.read_blob(repo.id("HEAD:b")) == b"2"
    opened.close()


def test_malformed_tree(repo: Repo, opened: Repository) -> None:
    oid = repo.git("hash-object", "-t", "tree", "-w", "--literally", "--stdin", stdin=b"100644 a\0short")
    with pytest.raises(Damaged, match="git fsck"):
        opened.tree_entries(bytes.fromhex(oid.decode()))
    repo.commit({"a": "1"})
    with pytest.raises(Damaged, match="is a blob where a tree should be"):
        opened.tree_entries(repo.id("HEAD:a"))
