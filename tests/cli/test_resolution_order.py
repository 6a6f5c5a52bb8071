"""The rules that choose the tree of a command, in the order that docs/design.md gives, one test for each."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from repositories import Repo
from small_project import GitCtx

NAMES = ("default", "current", "setting", "branch", "revision")


@pytest.fixture
def repository(make_repo: Callable[..., Repo]) -> Repo:
    """A repository in which each rule could choose another tree: every one applies, from the second on."""
    repo = make_repo()
    for number, name in enumerate(NAMES):
        repo.commit({"name.py": f"def name_of():\n    return '{name}'\n", f"{number}.txt": name})
        repo.git("branch", name)
    repo.git("checkout", "-q", "current")
    repo.git("branch", "-f", "main", "default")
    repo.git("config", "ctx.revision", "setting")
    return repo


@pytest.fixture
def bare(repository: Repo, tmp_path: Path) -> Repo:
    """A bare clone of it whose HEAD names a branch without a commit."""
    subprocess.run(["git", "clone", "-q", "--bare", str(repository.path), tmp_path / "bare"], check=True)
    clone = Repo(tmp_path / "bare")
    clone.git("symbolic-ref", "HEAD", "refs/heads/unborn")
    return clone


def chosen(git_ctx: GitCtx, repo: Repo, *options: str) -> tuple[str, str, str]:
    """The rule, the name, and which tree it is, as the text of the file says."""
    run = git_ctx("search", "--json-output", "name_of", *options, cwd=repo.path)
    assert run.status == 0, run.err
    answer: Any = run.json
    assert answer["revision"] == answer["commit"] == repo.git("rev-parse", answer["commit"]).decode()
    content: str = answer["results"][0]["content"]
    return answer["resolvedBy"], answer["revisionName"], content.split("'")[1]


def test_a_revision_comes_first(git_ctx: GitCtx, repository: Repo) -> None:
    assert chosen(git_ctx, repository, "--revision", "revision") == ("revision", "revision", "revision")
    assert chosen(git_ctx, repository, "--revision", "HEAD") == ("revision", "HEAD", "current")
    refused = git_ctx("search", "x", "--revision", "revision", "--branch", "branch", cwd=repository.path)
    assert refused.status == 129
    absent = git_ctx("search", "x", "--revision", "absent", cwd=repository.path)
    assert absent.status not in (0, 1)


def test_a_branch_comes_second_and_is_never_a_tag(git_ctx: GitCtx, repository: Repo) -> None:
    repository.git("tag", "branch", "revision")
    assert chosen(git_ctx, repository, "--branch", "branch") == ("branch", "branch", "branch")
    repository.git("tag", "only-a-tag", "revision")
    assert git_ctx("search", "x", "--branch", "only-a-tag", cwd=repository.path).status not in (0, 1)


def test_the_setting_comes_third(git_ctx: GitCtx, repository: Repo) -> None:
    assert chosen(git_ctx, repository) == ("ctx.revision", "setting", "setting")
    assert chosen(git_ctx, repository, "--work-tree") == ("HEAD", "current", "current")
    repository.git("config", "ctx.revision", "absent")
    refused = git_ctx("search", "x", cwd=repository.path)
    assert refused.status not in (0, 1)
    assert "git config --unset ctx.revision" in refused.err


def test_head_comes_fourth(git_ctx: GitCtx, repository: Repo) -> None:
    repository.git("config", "--unset", "ctx.revision")
    assert chosen(git_ctx, repository) == ("HEAD", "current", "current")
    repository.git("checkout", "-q", "--detach", "branch")
    assert chosen(git_ctx, repository) == ("HEAD", "HEAD", "branch")
    repository.write({"name.py": "def name_of():\n    return 'on disk'\n"})
    assert chosen(git_ctx, repository) == ("HEAD", "HEAD", "on disk")


def test_the_default_branch_comes_fifth(git_ctx: GitCtx, bare: Repo) -> None:
    assert chosen(git_ctx, bare) == ("default branch", "main", "default")
    bare.git("config", "init.defaultBranch", "branch")
    assert chosen(git_ctx, bare) == ("default branch", "branch", "branch")


def test_the_latest_snapshot_comes_sixth(git_ctx: GitCtx, bare: Repo) -> None:
    for name in ("current", "revision", "branch"):
        assert git_ctx("index", name, cwd=bare.path).status == 0
    bare.git("branch", "-D", "main")
    rule, name, text = chosen(git_ctx, bare)
    assert (rule, text) == ("latest snapshot", "revision")
    assert name == bare.git("rev-parse", "revision").decode()


def test_nothing_comes_after_that(git_ctx: GitCtx, bare: Repo) -> None:
    bare.git("branch", "-D", "main")
    refused = git_ctx("search", "x", cwd=bare.path)
    assert refused.status not in (0, 1)
    assert "no commit yet" in refused.err


def test_a_branch_of_a_remote_is_found_by_its_short_name(git_ctx, project):
    project.git("branch", "topic")
    project.git("update-ref", "refs/remotes/origin/shared/topic", "HEAD")
    project.git("update-ref", "refs/remotes/origin/HEAD", "HEAD")
    found = git_ctx("search", "--json", "--branch", "shared/topic", "renew", cwd=project.path).json
    assert found["revisionName"] == "origin/shared/topic"
    assert git_ctx("search", "--branch", "topic", "renew", cwd=project.path).status == 0
    project.git("update-ref", "refs/remotes/fork/shared/topic", "HEAD")
    run = git_ctx("search", "--branch", "shared/topic", "renew", cwd=project.path)
    assert run.status == 128
    assert "fork/shared/topic, origin/shared/topic" in run.err
    for name in ("nothing", "*", "-x", "a b", "refs/remotes/x"):
        assert git_ctx("search", f"--branch={name}", "renew", cwd=project.path).status == 128
