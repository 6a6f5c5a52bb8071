"""Opening repositories of every layout, and reading names and settings."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from repositories import Repo

from ctx.errors import CtxError, NotARepository, NothingCommitted, UnknownRevision
from ctx.git.location import locate
from ctx.git.process import OF_ONE_REPOSITORY
from ctx.git.repository import Repository, open_repository

MakeRepo = Callable[..., Repo]


@pytest.fixture
def opened(repo: Repo) -> Repository:
    return open_repository(repo.path)


def test_directory_below_the_root(repo: Repo) -> None:
    repo.commit({"src/deep/a.py": "a"})
    found = open_repository(repo.path / "src" / "deep")
    assert found.work_tree == str(repo.path)
    assert found.prefix == b"src/deep/"
    assert (found.git_dir, found.common_dir) == (str(repo.path / ".git"),) * 2
    assert not found.is_bare
    assert open_repository(repo.path / "src" / "deep" / "a.py").prefix == b"src/deep/"


def test_bare(make_repo: MakeRepo) -> None:
    found = open_repository(make_repo("bare.git", "--bare").path)
    assert (found.is_bare, found.work_tree, found.prefix) == (True, None, b"")


def test_linked_worktree_shares_the_common_directory(repo: Repo, tmp_path: Path) -> None:
    commit = repo.commit({"a": "1"})
    repo.git("worktree", "add", "-q", "-b", "other", str(tmp_path / "linked"))
    linked = open_repository(tmp_path / "linked")
    assert (tmp_path / "linked" / ".git").is_file()
    assert linked.common_dir == str(repo.path / ".git")
    assert linked.git_dir == str(repo.path / ".git" / "worktrees" / "linked")
    assert linked.head() == ("refs/heads/other", commit)
    assert open_repository(linked.git_dir).head() == ("refs/heads/other", commit)


def test_separate_git_directory(make_repo: MakeRepo, tmp_path: Path) -> None:
    made = make_repo("repo", f"--separate-git-dir={tmp_path / 'elsewhere'}")
    assert open_repository(made.path).git_dir == str(tmp_path / "elsewhere")


def test_git_dir_in_the_environment(repo: Repo, make_repo: MakeRepo, monkeypatch: pytest.MonkeyPatch) -> None:
    other = make_repo("other")
    commit = other.commit({"a": "1"})
    monkeypatch.setenv("GIT_DIR", str(other.path / ".git"))
    found = open_repository(repo.path)
    assert found.git_dir == str(other.path / ".git")
    assert found.resolve_tree("HEAD").commit == commit


def test_newline_in_the_directory_name(make_repo: MakeRepo) -> None:
    made = make_repo("two\nlines")
    (made.path / "sub").mkdir()
    found = open_repository(made.path / "sub")
    assert (found.work_tree, found.prefix) == (str(made.path), b"sub/")
    assert found.git_dir == str(made.path / ".git")


def test_inside_the_git_directory(repo: Repo) -> None:
    found = open_repository(repo.path / ".git")
    assert (found.git_dir, found.work_tree, found.is_bare) == (str(repo.path / ".git"), None, False)


def test_not_a_repository(tmp_path: Path) -> None:
    with pytest.raises(NotARepository, match="lies in no git repository; go into one, pass -C"):
        open_repository(tmp_path)
    with pytest.raises(NotARepository, match="there is no directory"):
        open_repository(tmp_path / "absent")


def test_untrusted_owner_is_refused_with_the_message_of_git(
    repo: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1")
    with pytest.raises(NotARepository, match=r"dubious ownership(.|\n)*safe\.directory"):
        open_repository(repo.path)


def test_no_git_on_the_path(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(CtxError, match="git was not found on the PATH"):
        open_repository(repo.path)


@pytest.mark.parametrize(
    ("revision", "expected"),
    [
        ("HEAD", "HEAD"),
        ("@", "HEAD"),
        ("main", "main"),
        ("HEAD~1", "main~1"),
        (":/first", "main~1"),
        ("HEAD^{/first}", "main~1"),
        ("light", "main"),
        ("heavy", "main~1"),
        ("stash@{0}", "stash"),
        ("main@{1}", "main~1"),
        ("refs/tags/nested", "main~1"),
    ],
)
def test_revisions(repo: Repo, revision: str, expected: str) -> None:
    repo.commit({"a": "1"}, "first")
    repo.git("tag", "-a", "-m", "annotated", "heavy")
    repo.git("tag", "-a", "-m", "a tag of a tag", "nested", "heavy")
    repo.commit({"a": "2"}, "second")
    repo.git("tag", "light")
    repo.write({"a": "3"})
    repo.git("stash")
    found = open_repository(repo.path).resolve_tree(revision)
    assert (found.commit, found.tree) == (repo.id(f"{expected}^{{commit}}"), repo.id(f"{expected}^{{tree}}"))
    assert found.revision == revision
    short = open_repository(repo.path).resolve_tree(repo.id(expected).hex()[:12])
    assert short.commit == found.commit


def test_trees_as_revisions(repo: Repo, opened: Repository) -> None:
    repo.commit({"dir/a": "1"})
    tree = repo.id("HEAD:dir")
    repo.git("tag", "-a", "-m", "of a tree", "frozen", tree.hex())
    for revision in (tree.hex(), "HEAD:dir", "main:dir", "frozen"):
        assert opened.resolve_tree(revision) == (tree, None, revision, "revision")


@pytest.mark.parametrize(
    "revision",
    ["absent", "", "HEAD:a", "HEAD\nHEAD", "--all", "HEAD..HEAD", "f" * 40, "main~7", "\udcff", "a b"],
)
def test_no_such_revision(repo: Repo, opened: Repository, revision: str) -> None:
    repo.commit({"a": "1"})
    with pytest.raises(UnknownRevision):  # tests/git/test_revisions.py has the messages
        opened.resolve_tree(revision)
    assert opened.resolve_tree("HEAD").tree  # the process still answers


def test_unborn_and_detached(repo: Repo, opened: Repository) -> None:
    assert opened.head() == ("refs/heads/main", None)
    with pytest.raises(NothingCommitted, match="no commit yet"):
        opened.resolve_tree("HEAD")
    assert list(opened.references()) == []
    assert opened.default_branch() is None
    commit = repo.commit({"a": "1"})
    repo.git("checkout", "-q", "--detach")
    assert opened.head() == (None, commit)
    assert opened.current_branch() is None


def test_references_are_peeled_to_commits(repo: Repo, opened: Repository) -> None:
    commit = repo.commit({"a": "1"})
    repo.git("tag", "-a", "-m", "m", "heavy")
    repo.git("tag", "-a", "-m", "m", "of-a-tree", "HEAD^{tree}")
    repo.git("tag", "of-a-blob", "HEAD:a")
    repo.git("branch", "caf\xe9".encode("latin-1"))
    (repo.path / ".git" / "refs" / "heads" / "broken").write_text("1" * 40 + "\n")
    expected = {(name, commit) for name in (b"refs/heads/main", b"refs/heads/caf\xe9", b"refs/tags/heavy")}
    assert set(opened.references()) == expected
    repo.git("pack-refs", "--all")
    assert set(opened.references()) == expected
    assert opened.resolve_tree("heavy").commit == commit


def test_open_repository_sees_changes(repo: Repo, opened: Repository) -> None:
    first = repo.commit({"a": "1"})
    assert opened.resolve_tree("HEAD").commit == first
    second = repo.commit({"a": "2"})
    assert opened.resolve_tree("HEAD").commit == second
    repo.git("gc", "-q", "--prune=now")
    third = repo.commit({"a": "3"})
    repo.git("pack-refs", "--all")
    repo.git("repack", "-adq")
    assert opened.resolve_tree("main").commit == third
    assert opened.read_blob(repo.id("HEAD:a")) == b"3"


def test_default_branch(repo: Repo, make_repo: MakeRepo, tmp_path: Path) -> None:
    repo.commit({"a": "1"})
    repo.branch("master")
    assert open_repository(repo.path).default_branch() == "refs/heads/main"
    repo.git("config", "init.defaultBranch", "master")
    assert open_repository(repo.path).default_branch() == "refs/heads/master"
    subprocess.run(["git", "clone", "-q", str(repo.path), str(tmp_path / "clone")], check=True)
    clone = Repo(tmp_path / "clone")
    assert open_repository(clone.path).default_branch() == "refs/remotes/origin/master"
    clone.git("remote", "rename", "origin", "upstream")
    assert open_repository(clone.path).default_branch() == "refs/remotes/upstream/master"


def test_ancestors(repo: Repo, opened: Repository, tmp_path: Path) -> None:
    ids = [repo.commit({"a": str(number)}) for number in range(5)]
    trees = [repo.id(f"{commit.hex()}^{{tree}}") for commit in ids]
    assert list(opened.ancestors(ids[-1], 3)) == list(zip(ids, trees, strict=True))[:1:-1]
    subprocess.run(
        ["git", "clone", "-q", "--depth=2", repo.path.as_uri(), str(tmp_path / "shallow")], check=True
    )
    shallow = open_repository(tmp_path / "shallow")
    assert [commit for commit, _ in shallow.ancestors(ids[-1], 9)] == ids[:-3:-1]
    assert shallow.commit_info(ids[-2]).parents == (ids[-3],)
    with pytest.raises(UnknownRevision):
        shallow.resolve_tree("HEAD~2")


def test_entries_that_are_not_files(repo: Repo, make_repo: MakeRepo, opened: Repository) -> None:
    inner = make_repo("inner")
    pinned = inner.commit({"x": "1"})
    repo.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(inner.path), "sub")
    os.symlink("a", repo.path / "link")
    repo.write({"a": "1", "run.sh": "#!/bin/sh\n"})
    (repo.path / "run.sh").chmod(0o755)
    repo.commit()
    entries = {entry.name: entry for entry in opened.tree_entries(opened.resolve_tree("HEAD").tree)}
    assert entries[b"sub"][1:] == (0o160000, pinned)
    assert entries[b"link"].mode == 0o120000
    assert entries[b"run.sh"].mode == 0o100755


def test_settings(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    with open(repo.path / ".git" / "config", "a") as stream:
        stream.write(
            '[Ctx]\n\tOn\n\toff = no\n\ttwo = 1\n\tTwo = 2\n\todd = perhaps\n[remote "Up"]\n\turl = x\n'
        )
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
    monkeypatch.setenv("GIT_CONFIG_KEY_0", "ctx.given")
    monkeypatch.setenv("GIT_CONFIG_VALUE_0", "with\nnewline")
    found = open_repository(repo.path)
    assert found.settings.get("ctx.two") == found.settings.get("CTX.TWO") == "2"
    assert found.settings.get_all("ctx.two") == ["1", "2"]
    assert found.settings.get("ctx.given") == "with\nnewline"
    assert found.settings.get("remote.Up.url") == "x"
    assert found.settings.get("remote.up.url") is found.settings.get("ctx.absent") is None
    assert found.settings.remotes == ["Up"]
    assert found.settings.get_bool("ctx.on", False)
    assert not found.settings.get_bool("ctx.off", False)
    assert found.settings.get_bool("ctx.two", False)
    assert found.settings.get_bool("ctx.absent", True)
    with pytest.raises(CtxError, match=r"ctx\.odd is 'perhaps'"):
        found.settings.get_bool("ctx.odd", False)


def test_odd_commits(repo: Repo, opened: Repository) -> None:
    tree = repo.git("write-tree").decode()
    head = f"tree {tree}\nauthor J\xf6rg <j@x> 1 -0330\ncommitter nobody\nencoding latin-1\n"
    head += "\n\n\n caf\xe9 \nau lait\n\nbody"
    oid = repo.git(
        "hash-object", "-t", "commit", "-w", "--literally", "--stdin", stdin=head.encode("latin-1")
    )
    info = opened.commit_info(bytes.fromhex(oid.decode()))
    assert (info.author_name, info.author_time, info.committer_time) == ("J\xf6rg", 1, 0)
    assert info.subject == "caf\xe9 au lait"


def test_heads_are_those_of_the_located_repository(
    make_repo: MakeRepo, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other = make_repo("one"), make_repo("other")
    commit = one.commit({"a": "1"})
    other.commit({"a": "2"})
    location = locate(str(one.path), OF_ONE_REPOSITORY)
    monkeypatch.setenv("GIT_DIR", str(other.path / ".git"))
    with Repository(location) as repository:
        assert repository.tips() == {commit}
