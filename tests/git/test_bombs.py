"""Objects too large to process: trees that repeat themselves, and huge blobs."""

from __future__ import annotations

import json
import os
from collections.abc import Callable

import pytest
from repositories import Repo
from ways import program

import ctx
from ctx.agents.mcp.reading import read_lines
from ctx.errors import CtxError, GitFailed, UnknownRevision
from ctx.git.repository import open_repository
from ctx.indexing.tree_walk import MOST_ENTRIES, TreeReader, check_size
from ctx.search.citations import look_up, paths_of

SOURCE = "def exploded():\n    return 1\n"


def bomb(repo: Repo, levels: int, wide: int = 10) -> str:
    """A tree of `wide` equal subtrees, each of as many, and so on; files at the bottom."""
    blob = repo.git("hash-object", "-w", "--stdin", stdin=SOURCE.encode()).decode()
    tree = repo.git(
        "mktree", stdin=b"".join(b"100644 blob %s\tf%d.py\n" % (blob.encode(), i) for i in range(wide))
    )
    for _ in range(levels - 1):
        tree = repo.git("mktree", stdin=b"".join(b"040000 tree %s\td%d\n" % (tree, i) for i in range(wide)))
    return tree.decode()


@pytest.mark.parametrize("command", ["search", "index", "status", "pack"])
def test_tree_bomb_is_refused(make_repo: Callable[..., Repo], command: str) -> None:
    repo = make_repo()
    repo.git("update-ref", "HEAD", repo.git("commit-tree", "-m", "bomb", bomb(repo, 10)).decode())
    words = {"search": ("exploded",), "pack": ("--stdout", "--task", "exploded")}.get(command, ())
    done = program(command, *words, cwd=repo.path)
    assert done.status == 128
    assert "holds the same directories again and again" in done.err
    assert f"{MOST_ENTRIES:,}" in done.err


def test_subtree_of_a_tree_bomb_is_searched(make_repo: Callable[..., Repo]) -> None:
    repo = make_repo()
    repo.git("update-ref", "HEAD", repo.git("commit-tree", "-m", "bomb", bomb(repo, 10)).decode())
    below = "HEAD:" + "/".join(["d0"] * 8)
    done = program("search", "--json-output", "--revision", below, "exploded", cwd=repo.path)
    assert done.status == 0, done.err
    assert json.loads(done.out)["results"][0]["result"]["sourcePosition"]["relativePath"].endswith(".py")


def test_large_tree_and_few_repetitions_are_walked(make_repo: Callable[..., Repo]) -> None:
    repo = make_repo()
    tree = bytes.fromhex(bomb(repo, 4))
    opened = open_repository(repo.path)
    root = TreeReader(opened, "descriptor").root(tree)
    files, open_ = 0, [root]
    while open_:
        content = open_.pop().read()
        open_ += content.nodes
        files += sum(len(cluster.members) for cluster in content.clusters)
    assert files == 10**4
    check_size(opened, tree)


def test_chain_of_trees_is_counted_without_recursion(make_repo: Callable[..., Repo]) -> None:
    repo = make_repo()
    with pytest.raises(CtxError, match="again and again"):
        check_size(open_repository(repo.path), bytes.fromhex(bomb(repo, 24, wide=2)))


def test_citation_in_a_tree_bomb_has_no_paths(make_repo: Callable[..., Repo]) -> None:
    repo = make_repo()
    repo.git("update-ref", "HEAD", repo.git("commit-tree", "-m", "bomb", bomb(repo, 10)).decode())
    blob = repo.git("hash-object", "--stdin", stdin=SOURCE.encode()).decode()
    with ctx.open(repo.path) as index:
        cited = look_up(index.session, f"{blob}:1-1")
        assert (cited.text, cited.paths) == ("def exploded():", ())
        with pytest.raises(GitFailed, match="too many"):
            paths_of(index.repository, repo.id("HEAD^{tree}"), bytes.fromhex(blob))


@pytest.fixture
def large(make_repo: Callable[..., Repo]) -> Repo:
    """A repository with a text of two megabytes beside a small one."""
    repo = make_repo()
    repo.commit({"large.txt": "a line of text\n" * 150_000, "a.py": SOURCE})
    return repo


def test_large_blob_is_not_read(large: Repo) -> None:
    blob = large.id("HEAD:large.txt").hex()
    with ctx.open(large.path) as index:
        for given in ({"path": "large.txt", "revision": "HEAD"}, {"citation": f"{blob}:1-2"}):
            with pytest.raises(CtxError, match=f"2,250,000 bytes.*git cat-file blob {blob}"):
                read_lines(index, given)
        with pytest.raises(CtxError, match="larger than 1,048,576 bytes"):
            read_lines(index, {"path": "large.txt"})
        assert read_lines(index, {"path": "a.py", "revision": "HEAD"}).text.count("\n") == 2
    done = program("show", f"{blob}:1-2", cwd=large.path)
    assert done.status == 128
    assert "2,250,000 bytes, and at most 1,048,576 are shown" in done.err


@pytest.mark.parametrize("name", ["HEAD:large.txt", ":large.txt", ":0:large.txt"])
def test_revision_naming_a_file_is_refused_by_its_header(large: Repo, name: str) -> None:
    opened = open_repository(large.path)
    for revision in (name, large.id("HEAD:large.txt").hex()):
        with pytest.raises(UnknownRevision, match="names a file"):
            opened.resolve_tree(revision)
    assert opened.objects._contents._process is None  # type: ignore[attr-defined]  # nothing was read
    assert opened.resolve_tree("HEAD:").tree == large.id("HEAD^{tree}")
    assert os.path.isdir(opened.git_dir)
