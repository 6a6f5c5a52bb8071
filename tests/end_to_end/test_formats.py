"""Repository formats that old versions of git or libgit2 do not know, and broken repositories."""

from __future__ import annotations

import os
import subprocess
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest
from repositories import Repo

import ctx
from ctx.errors import GitFailed, NotARepository
from ctx.types import COMMITTED

MakeRepo = Callable[..., Repo]
Program = Callable[..., "subprocess.CompletedProcess[str]"]

DATA = Path(__file__).resolve().parents[1] / "data"
RENEW = "def renew_session(user):\n    return user.session\n"
READS_REFTABLE = (2, 45)


@pytest.fixture
def reftable(tmp_path: Path) -> Path:
    with tarfile.open(DATA / "reftable.tar.gz") as archive:
        archive.extractall(tmp_path / "reftable", filter="data")
    return tmp_path / "reftable"


def test_reftable_is_read_where_git_can(reftable: Path, git_version: tuple[int, ...]) -> None:
    if git_version >= READS_REFTABLE:
        with ctx.open(reftable) as index:
            for revision in (None, "main", "v1", "v1^{tree}"):
                assert index.search("renew", overlay=COMMITTED, revision=revision).hits[0].path == "a.py"
            assert index.search("renew", branch="main", overlay=COMMITTED).hits
        return
    with pytest.raises(NotARepository, match=r"too old for the repository at .*refstorage.*newer git first"):
        ctx.open(reftable)


def test_unknown_repository_format(make_repo: MakeRepo, program: Program) -> None:
    repo = make_repo()
    repo.commit({"a.py": RENEW})
    repo.git("config", "core.repositoryFormatVersion", "1")
    repo.git("config", "extensions.fromTheFuture", "true")
    done = program("search", "renew", cwd=repo.path)
    assert done.returncode == 128
    assert "fromthefuture" in done.stderr
    assert "newer git first" in done.stderr


@pytest.mark.parametrize("options", [[], ["--object-format=sha256"]], ids=["sha1", "sha256"])
@pytest.mark.parametrize("kind", ["split", "sparse", "version 4"])
def test_every_index_format(make_repo: MakeRepo, options: list[str], kind: str) -> None:
    repo = make_repo("repo", *options)
    files = {
        f"part{i}/deep/a{j}.py": f"def renew_{i}_{j}():\n    return {i}\n" for i in range(5) for j in range(5)
    }
    repo.commit({**files, "a.py": RENEW})
    if kind == "split":
        repo.git("update-index", "--split-index")
    elif kind == "sparse":
        repo.git("sparse-checkout", "init", "--cone", "--sparse-index")
        repo.git("sparse-checkout", "set", "part1")
    else:
        repo.git("update-index", "--index-version=4")
    before = {path: path.read_bytes() for path in (repo.path / ".git").glob("*index*")}
    repo.write({"part1/deep/new.py": "def splice_hawser():\n    pass\n", "part1/deep/a0.py": None})
    with ctx.open(repo.path) as index:
        found = {hit.path for hit in index.search("renew splice hawser", limit=100).hits}
    assert "part1/deep/new.py" in found
    assert "part1/deep/a0.py" not in found
    assert "part4/deep/a4.py" in found  # not on disk where the checkout is sparse, but in the tree
    assert {path: path.read_bytes() for path in (repo.path / ".git").glob("*index*")} == before


def test_names_differing_in_case_and_deep_trees(make_repo: MakeRepo) -> None:
    repo = make_repo()
    deep = "/".join(["d"] * 300) + "/deep.py"
    blobs = {}
    for name in ("README.py", "readme.py", "Readme.py", deep):
        text = f"def renew_{len(blobs)}():\n    return {len(blobs)}\n".encode()
        blobs[name] = repo.git("hash-object", "-w", "--stdin", stdin=text).decode()
    lines = "".join(f"100644 {oid}\t{name}\n" for name, oid in blobs.items())
    repo.git("update-index", "--add", "--index-info", stdin=lines.encode())
    tree = repo.git("write-tree").decode()
    with ctx.open(repo.path) as index:
        found = {hit.path for hit in index.search("renew", revision=tree, limit=50).hits}
    assert found == set(blobs)


def test_orphan_branch_falls_back_to_the_default_branch(make_repo: MakeRepo) -> None:
    repo = make_repo()
    repo.commit({"a.py": RENEW})
    repo.git("checkout", "-q", "--orphan", "fresh")
    with ctx.open(repo.path) as index:
        answer = index.search("renew")
    assert (answer.revision, answer.resolved_by) == ("main", "default branch")
    assert answer.hits


def test_shallow_clone_has_only_its_commits(make_repo: MakeRepo, tmp_path: Path, program: Program) -> None:
    repo = make_repo()
    for number in range(3):
        repo.commit({"a.py": RENEW + f"x = {number}\n"})
    place = tmp_path / "shallow"
    subprocess.run(["git", "clone", "-q", "--depth=1", repo.path.as_uri(), str(place)], check=True)
    with ctx.open(place) as index:
        assert index.search("renew").hits
        assert index.index().skipped == "ALREADY_INDEXED"
    assert program("gc", cwd=place).returncode == 0


def test_untrusted_owner_is_refused_with_the_remedy_of_git(make_repo: MakeRepo, program: Program) -> None:
    repo = make_repo()
    repo.commit({"a.py": RENEW})
    done = program("search", "renew", cwd=repo.path, env={"GIT_TEST_ASSUME_DIFFERENT_OWNER": "1"})
    assert done.returncode == 128
    assert "safe.directory" in done.stderr


# -- broken repositories


@pytest.mark.parametrize(
    "content", [b"", b"garbage", b"DIRC\0\0\0\2\0\0\0\1", None], ids=["empty", "text", "cut", "version"]
)
def test_corrupt_git_index_is_reported_and_kept(
    make_repo: MakeRepo, program: Program, content: bytes | None
) -> None:
    repo = make_repo()
    repo.commit({"a.py": RENEW})
    place = repo.path / ".git/index"
    if content is None:
        whole = bytearray(place.read_bytes())
        whole[7] = 66
        content = bytes(whole)
    place.write_bytes(content)
    done = program("search", "renew", cwd=repo.path)
    assert done.returncode == 128
    assert "index" in done.stderr
    assert "`git reset`" in done.stderr
    assert "--no-overlay" in done.stderr
    assert program("search", "renew", "--no-overlay", cwd=repo.path).returncode == 0
    assert program("index", cwd=repo.path).returncode == 0
    assert place.read_bytes() == content
    place.unlink()
    repo.git("reset", "--quiet")
    assert program("search", "renew", cwd=repo.path).returncode == 0


def test_huge_attribute_file_is_reported_and_ignored(make_repo: MakeRepo, program: Program) -> None:
    repo = make_repo()
    repo.commit({"a.py": RENEW, ".gitattributes": "*.py linguist-generated\n" * 450_000})
    assert (repo.path / ".gitattributes").stat().st_size > 10_000_000
    done = program("index", cwd=repo.path)
    assert done.returncode == 0
    assert "the rules of .gitattributes are not applied: the file is larger than" in done.stderr
    done = program("search", "renew", cwd=repo.path)
    assert done.stdout.startswith("a.py:1-2:renew_session")


def test_links_with_cycles_or_outside_targets(make_repo: MakeRepo, tmp_path: Path) -> None:
    repo = make_repo()
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/secret.py").write_text("def renew_secret():\n    pass\n")
    repo.commit({"a.py": RENEW})
    for name, target in (
        ("loop", "loop"),
        ("here", "."),
        ("one", "two"),
        ("two", "one"),
        ("out", "../outside"),
    ):
        os.symlink(target, repo.path / name)
    with ctx.open(repo.path) as index:
        for overlay in (None, COMMITTED):
            assert {hit.path for hit in index.search("renew", overlay=overlay, limit=50).hits} == {"a.py"}
            repo.git("add", "-A")
            repo.git("commit", "-q", "--allow-empty", "-m", "links")
        assert index.search("renew").coverage.skipped == {"symlink": 5}


def test_locked_git_index_does_not_matter(make_repo: MakeRepo) -> None:
    repo = make_repo()
    repo.commit({"a.py": RENEW})
    (repo.path / ".git/index.lock").write_text("")
    repo.write({"b.py": "def splice_hawser():\n    pass\n"})
    with ctx.open(repo.path) as index:
        assert index.search("splice_hawser").hits[0].path == "b.py"
    assert (repo.path / ".git/index.lock").exists()


def test_message_of_a_broken_index_names_only_the_index(make_repo: MakeRepo) -> None:
    repo = make_repo()
    repo.commit({"a.py": RENEW})
    repo.write({"a.py": "x = 1\n"})
    repo.git("config", "filter.broken.clean", "false")
    repo.git("config", "filter.broken.required", "true")
    repo.write({".gitattributes": "*.py filter=broken\n"})
    with ctx.open(repo.path) as index, pytest.raises(GitFailed) as caught:
        index.search("renew")
    assert "git reset" not in str(caught.value)
