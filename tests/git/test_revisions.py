"""Revisions resolve as in git; errors state the reason and the remedy."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from repositories import Repo

import ctx
from ctx.errors import UnknownRevision
from ctx.git.repository import open_repository
from ctx.types import COMMITTED

STEPS = 6


@pytest.fixture
def project(make_repo: Callable[..., Repo], tmp_path: Path) -> Repo:
    """A clone with a few commits, tags, a merge and a stash; `src` is a directory."""
    origin = make_repo("origin")
    for step in range(STEPS):
        origin.commit({"src/step.py": f"def step():\n    return {step}\n"}, f"step {step}")
    origin.branch("side", "HEAD~2")
    origin.commit({"side.py": "side = 1\n"}, "on the side")
    origin.git("checkout", "-q", "main")
    origin.git("merge", "-q", "--no-ff", "-m", "joined", "side")
    origin.git("tag", "light", "HEAD~1")
    origin.git("tag", "-a", "-m", "a tag", "heavy", "HEAD~2")
    origin.git("tag", "-a", "-m", "a tag of a tag", "heavier", "heavy")
    subprocess.run(["git", "clone", "-q", str(origin.path), str(tmp_path / "clone")], check=True)
    clone = Repo(tmp_path / "clone")
    clone.write({"src/step.py": "def stashed():\n    return 1\n"})
    clone.git("stash")
    return clone


NAMES = [
    "HEAD",
    "@",
    "main",
    "refs/heads/main",
    "heads/main",
    "origin",
    "origin/main",
    "origin/side",
    "light",
    "heavy",
    "heavier",
    "heavier^{}",
    "HEAD~3",
    "HEAD^2",
    "main^2~1",
    "main^{tree}",
    "HEAD:src",
    "HEAD~4:",
    "stash",
    "stash@{0}",
    "stash^2",
    "main@{0}",
    "main@{upstream}",
    "@{u}",
    ":/step 2",
    ":/on the side",
    "HEAD^{/step 4}",
    "main@{2 hours ago}",
]


def tree_of(repo: Repo, name: str) -> bytes:
    return repo.id(f"{repo.id(name).hex()}^{{tree}}")


@pytest.mark.parametrize("name", NAMES)
def test_name_resolves_to_the_tree_of_git(project: Repo, name: str) -> None:
    found = open_repository(project.path).resolve_tree(name)
    assert found.tree == tree_of(project, name)
    peeled = project.git("rev-parse", f"{project.id(name).hex()}^{{}}").decode()
    is_commit = project.git("cat-file", "-t", peeled) == b"commit"
    assert found.commit == (bytes.fromhex(peeled) if is_commit else None)


def test_ids_and_abbreviations(project: Repo) -> None:
    repository = open_repository(project.path)
    for revision in ("main~2", "main~2^{tree}"):
        oid = project.id(revision)
        for digits in (40, 12, 7):
            assert repository.resolve_tree(oid.hex()[:digits]).tree == project.id("main~2^{tree}")
    described = project.git("describe", "--tags", "main").decode()
    assert repository.resolve_tree(described).commit == project.id("main")


def test_bare_repository(project: Repo, tmp_path: Path) -> None:
    subprocess.run(["git", "clone", "-q", "--bare", str(project.path), str(tmp_path / "bare")], check=True)
    with ctx.open(tmp_path / "bare") as index:
        for name in ("main~3", "heavy", ":/step 1", "main:src", project.id("main~4").hex()[:9]):
            answer = index.search("step", revision=name)
            assert answer.tree == tree_of(project, name).hex()
            assert answer.revision == name
            assert answer.hits


def test_hits_have_the_text_of_the_revision(project: Repo) -> None:
    with ctx.open(project.path) as index:
        for step in range(STEPS):
            (hit,) = index.search("step", revision=f":/step {step}").hits[:1]
            assert f"return {step}" in (hit.text or "")
        (hit,) = index.search("stashed", revision="stash@{0}").hits[:1]
        assert hit.symbol == "stashed"
        assert index.search("stashed", overlay=COMMITTED).hits[0].symbol != "stashed"


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("absent", "names no commit and no tree"),
        ("", "names no commit and no tree"),
        ("--all", "names no commit and no tree"),
        ("^main", "names no commit and no tree"),
        ("HEAD:src/step.py", "names a file"),
        ("HEAD:nowhere", "path 'nowhere' does not exist in 'HEAD'"),
        (f"main~{STEPS + 3}", "goes beyond the history of 'main'"),
        ("main~1^2", "goes beyond the history of 'main'"),
        ("main@{99}", "only has"),
        ("side@{upstream}", "no such branch"),
        (":/nobody said this", "names no commit"),
        ("main..side", "is a range; search what differs in it with --in main..side"),
        ("main\n", "is not a revision"),
        ("f" * 40, "is not in this clone"),
    ],
)
def test_unknown_revision_states_the_reason(project: Repo, name: str, words: str) -> None:
    with pytest.raises(UnknownRevision) as error:
        open_repository(project.path).resolve_tree(name)
    assert words in str(error.value)


def test_ambiguous_abbreviation_lists_the_candidates(repo: Repo) -> None:
    repo.commit({"a": "1"})
    seen: dict[str, bytes] = {}
    for number in range(1000):
        oid = repo.git("hash-object", "-w", "--stdin", stdin=b"%d" % number).decode()
        if oid[:4] in seen:
            break
        seen[oid[:4]] = oid.encode()
    with pytest.raises(UnknownRevision, match="is ambiguous") as error:
        open_repository(repo.path).resolve_tree(oid[:4])
    for one in (oid, seen[oid[:4]].decode()):
        assert f"blob {one[:7]}" in str(error.value)


def test_boundary_of_a_shallow_clone(project: Repo, tmp_path: Path) -> None:
    subprocess.run(
        ["git", "clone", "-q", "--depth=2", f"file://{project.path}", str(tmp_path / "shallow")], check=True
    )
    repository = open_repository(tmp_path / "shallow")
    assert repository.resolve_tree("HEAD~1").commit == project.id("main~1")
    with pytest.raises(UnknownRevision, match=r"beyond the end of this shallow clone.*--deepen"):
        repository.resolve_tree("HEAD~4")


def test_tag_and_branch_with_the_same_name(project: Repo) -> None:
    """Git takes the tag; the answer states it."""
    project.git("branch", "light", "main~3")
    with ctx.open(project.path) as index:
        asked = index.resolve("light")
        assert asked.commit == project.id("refs/tags/light")
        assert asked.revision == "tags/light"
        assert index.resolve("heads/light").commit == project.id("main~3")
        assert index.resolve("light~1").revision == "light~1"
