"""`git ctx init` and `git ctx deinit` in repositories with existing hooks."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from repositories import Repo
from waiting import SCRIPT

from ctx.maintenance.hooks import shims

EXISTING = {
    "post-commit": (b'#!/bin/sh\necho commit "$@" >>said\nexit 3\n', 0o755),
    "post-checkout": (b'#!/usr/bin/env bash\nset -euo pipefail\necho checkout "$#" >>said\nexec true', 0o775),
    "post-merge": (b'echo merge "$@" >>said\nwait\ncat >>said\n', 0o711),
    "pre-commit": (b"#!/bin/sh\nexit 0\n", 0o755),
}


@pytest.fixture(autouse=True)
def _files_only(git_version: tuple[int, ...]) -> None:
    if git_version >= (2, 54):
        pytest.skip("git 2.54 and newer takes its hooks from the configuration")


def state(directory: Path) -> dict[str, tuple[bytes, int]]:
    """Return the content and mode of each file below a directory, and the mode of each directory."""
    return {
        str(path.relative_to(directory)): (
            b"" if path.is_dir() else path.read_bytes(),
            stat.S_IMODE(path.lstat().st_mode),
        )
        for path in sorted(directory.rglob("*"))
    }


def hooks_of(repo: Repo) -> Path:
    return repo.path / ".git" / "hooks"


def put(path: Path, content: bytes, mode: int = 0o755) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    path.chmod(mode)


def actions(done) -> dict[str, str]:
    """Return the action for each hook by event."""
    return {hook["event"]: hook["action"] for hook in done.json_lines[0]["hooks"]}


def plan(git_ctx: Callable, *options: str, **where):
    done = git_ctx("init", "--no-index", "--json-output", *options, **where)
    assert (done.status, done.err) == (0, "")
    return done


def test_without_hooks(repo, git_ctx):
    before, config = state(hooks_of(repo)), (repo.path / ".git" / "config").read_bytes()
    done = plan(git_ctx)
    assert set(actions(done).values()) == {"install"}
    assert done.json_lines[0]["method"] == "files"
    for event in shims.EVENTS:
        assert (hooks_of(repo) / event).read_bytes() == shims.shim(event)
        assert os.access(hooks_of(repo) / event, os.X_OK)
    assert repo.git("config", "--local", "ctx.program") == os.fsencode(SCRIPT)
    installed = state(hooks_of(repo))
    assert set(actions(plan(git_ctx)).values()) == {"keep"}
    assert state(hooks_of(repo)) == installed
    done = git_ctx("deinit", "--json-output")
    assert done.status == 0
    assert {hook["action"] for hook in done.json_lines[0]["hooks"]} == {"remove"}
    assert state(hooks_of(repo)) == before
    assert (repo.path / ".git" / "config").read_bytes() == config
    again = git_ctx("deinit")
    assert (again.status, again.out) == (0, "no hooks of git-ctx are installed here\n")


def test_dry_runs_change_nothing(repo, git_ctx):
    before = state(repo.path / ".git")
    done = git_ctx("init", "--dry-run")
    assert (done.status, done.err) == (0, "")
    assert done.out.splitlines()[0] == "nothing was changed; this is what would be done:"
    assert state(repo.path / ".git") == before
    plan(git_ctx)
    before = state(repo.path / ".git")
    assert git_ctx("deinit", "--dry-run").status == 0
    assert state(repo.path / ".git") == before


def test_existing_hooks_still_run(repo, git_ctx):
    for name, (content, mode) in EXISTING.items():
        put(hooks_of(repo) / name, content, mode)
    before = state(hooks_of(repo))
    repo.commit({"a.txt": "one\n"})
    (repo.path / "said").unlink()
    done = plan(git_ctx)
    assert actions(done) == {
        "post-commit": "insert", "post-checkout": "insert", "post-merge": "insert", "post-rewrite": "install",
    }  # fmt: skip
    repo.git("config", "ctx.program", "/bin/false")
    for name, (_, mode) in EXISTING.items():
        assert stat.S_IMODE((hooks_of(repo) / name).stat().st_mode) == mode
    assert repo.run("commit", "--allow-empty", "-q", "-m", "x").returncode == 0
    assert repo.run("checkout", "-q", "-b", "topic").returncode == 0
    repo.git("commit", "--allow-empty", "-q", "-m", "y")
    repo.git("checkout", "-q", "main")
    repo.git("merge", "-q", "topic")
    said = (repo.path / "said").read_text().splitlines()
    assert said == ["commit", "checkout 3", "commit", "checkout 3", "merge 0"]
    assert git_ctx("deinit").status == 0
    assert state(hooks_of(repo)) == before


def test_status_arguments_and_input_of_the_rest(repo, git_ctx):
    repo.commit({"a.txt": "one\n"})
    rest = b'#!/bin/sh -eu\necho "$? $# ${GIT_INDEX_FILE-none}"\ncat\nexit 7\n'
    put(hooks_of(repo) / "post-rewrite", rest)
    plan(git_ctx)
    repo.git("config", "ctx.program", "/bin/false")
    for arguments in (["rebase"], ["amend"], [], ["a", "b", "0"]):
        done = subprocess.run(
            [hooks_of(repo) / "post-rewrite", *arguments],
            cwd=repo.path,
            input=b"old new\n",
            capture_output=True,
        )
        assert done.returncode == 7
        assert done.stdout == f"0 {len(arguments)} none\nold new\n".encode()
        assert done.stderr == b""


def test_hooks_that_cannot_be_changed(repo, git_ctx):
    put(hooks_of(repo) / "post-commit", b"#!/usr/bin/env python3\nprint(1)\n")
    put(hooks_of(repo) / "post-checkout", b"\x7fELF\0\0\0")
    put(hooks_of(repo) / "post-merge", b"#!/bin/sh\necho off\n", 0o644)
    put(repo.path / "scripts" / "rewrite", b"#!/bin/sh\n")
    (hooks_of(repo) / "post-rewrite").symlink_to(repo.path / "scripts" / "rewrite")
    before = state(repo.path)
    done = plan(git_ctx)
    hooks = {hook["event"]: hook for hook in done.json_lines[0]["hooks"]}
    assert {hook["action"] for hook in hooks.values()} == {"leave"}
    assert "python3" in hooks["post-commit"]["reason"]
    assert "binary" in hooks["post-checkout"]["reason"]
    assert "not executable" in hooks["post-merge"]["reason"]
    assert "link" in hooks["post-rewrite"]["reason"]
    assert all("hook-run" in hook["advice"] for hook in hooks.values())
    text = git_ctx("init", "--no-index").out
    assert text.count("left alone") == 4
    assert git_ctx("deinit").status == 0
    assert state(repo.path) == before


PRE_COMMIT = b"#!/usr/bin/env bash\n# File generated by pre-commit: https://pre-commit.com\nexec x\n"
LEFTHOOK = b'#!/bin/sh\ncall_lefthook()\n{\n:\n}\ncall_lefthook run "post-commit" "$@"\n'


@pytest.mark.parametrize(
    ("name", "content", "advice"),
    [
        ("pre-commit", PRE_COMMIT, "always_run: true"),
        ("lefthook", LEFTHOOK, "hook-run {0}"),
        ("husky", b"#!/bin/sh\n# husky\n# v4.3.8\n", ".husky/post-commit"),
    ],
)
def test_generated_hooks_are_left_alone(repo, git_ctx, name, content, advice):
    put(hooks_of(repo) / "post-commit", content)
    done = plan(git_ctx)
    hook = done.json_lines[0]["hooks"][0]
    assert (hook["action"], advice in hook["advice"], name in hook["reason"]) == ("leave", True, True)
    assert set(actions(done).values()) == {"leave", "install"}
    assert (hooks_of(repo) / "post-commit").read_bytes() == content
    assert actions(plan(git_ctx, "--force"))["post-commit"] == "insert"
    assert git_ctx("deinit").status == 0
    assert (hooks_of(repo) / "post-commit").read_bytes() == content


def test_husky_directory_is_left_alone(repo, git_ctx):
    repo.git("config", "core.hooksPath", ".husky/_")
    put(repo.path / ".husky" / "_" / "post-commit", b'#!/usr/bin/env sh\n. "${0%/*}/h"\n')
    before = state(repo.path / ".husky")
    done = plan(git_ctx)
    for hook in done.json_lines[0]["hooks"]:
        assert hook["action"] == "leave"
        assert "husky" in hook["reason"]
        assert hook["advice"].splitlines()[0] == f"add to {repo.path.resolve()}/.husky/{hook['event']}"
    assert state(repo.path / ".husky") == before
    assert repo.git("config", "ctx.program") == os.fsencode(SCRIPT)
    assert git_ctx("deinit").status == 0


@pytest.mark.parametrize("where", ["inside", "outside", "by link"])
def test_directories_of_others_are_left_alone(repo, git_ctx, tmp_path, where):
    directory = (repo.path if where == "inside" else tmp_path) / "shared hooks"
    put(directory / "post-commit", b"#!/bin/sh\n:\n")
    if where == "by link":
        shutil.rmtree(hooks_of(repo))
        hooks_of(repo).symlink_to(directory)
    else:
        repo.git("config", "core.hooksPath", "shared hooks" if where == "inside" else str(directory))
    before = state(directory)
    done = plan(git_ctx)
    assert set(actions(done).values()) == {"leave"}
    assert ("project" if where == "inside" else "other repositories") in done.json_lines[0]["hooks"][0][
        "reason"
    ]
    assert state(directory) == before
    done = plan(git_ctx, "--force")
    assert actions(done)["post-commit"] == "insert"
    assert actions(done)["post-merge"] == "install"
    assert git_ctx("deinit").status == 0
    assert state(directory) == before


def test_older_installation_is_updated(repo, git_ctx):
    older = b"# >>> git-ctx 0 >>>\n(git-ctx index &) </dev/null >/dev/null 2>&1\n# <<< git-ctx <<<\n"
    put(hooks_of(repo) / "post-commit", b"#!/bin/sh\n# Made by `git ctx init`.\n" + older)
    put(hooks_of(repo) / "post-merge", b"#!/bin/bash\n" + older + b"echo mine\n", 0o700)
    done = plan(git_ctx)
    assert actions(done)["post-commit"] == actions(done)["post-merge"] == "upgrade"
    assert (hooks_of(repo) / "post-commit").read_bytes() == shims.shim("post-commit")
    assert git_ctx("deinit").status == 0
    assert not (hooks_of(repo) / "post-commit").exists()
    assert (hooks_of(repo) / "post-merge").read_bytes() == b"#!/bin/bash\necho mine\n"


def test_lines_added_since_are_kept(repo, git_ctx):
    plan(git_ctx)
    with open(hooks_of(repo) / "post-commit", "ab") as file:
        file.write(b"echo mine\n")
    assert git_ctx("deinit").status == 0
    assert (hooks_of(repo) / "post-commit").read_bytes().endswith(b"echo mine\n")
    assert not shims.has_block((hooks_of(repo) / "post-commit").read_bytes())


def test_edited_marks_are_reported(repo, git_ctx):
    put(hooks_of(repo) / "post-commit", b"#!/bin/sh\n# >>> git-ctx 1 >>>\necho mine\n")
    assert actions(plan(git_ctx))["post-commit"] == "leave"
    done = git_ctx("deinit")
    assert "marks were edited" in done.out
    assert (hooks_of(repo) / "post-commit").read_bytes().endswith(b"echo mine\n")


def test_missing_hook_directory(make_repo, git_ctx, tmp_path):
    (tmp_path / "empty").mkdir()
    repo = make_repo("bare one", "--bare", f"--template={tmp_path / 'empty'}")
    before = state(repo.path)
    done = plan(git_ctx, cwd=repo.path)
    assert set(actions(done).values()) == {"install"}
    assert git_ctx("deinit", cwd=repo.path).status == 0
    assert list((repo.path / "hooks").iterdir()) == []
    kept = {name: one for name, one in state(repo.path).items() if not name.startswith(("ctx", "hooks"))}
    assert kept == before


def test_bare_repository_with_work_trees(make_repo, repo, git_ctx, tmp_path):
    repo.commit({"a.py": "def one(): pass\n"})
    bare = tmp_path / "bare.git"
    repo.git("clone", "-q", "--bare", ".", str(bare))
    done = git_ctx("init", "--json-output", cwd=bare)
    assert done.status == 0
    assert done.json_lines[-1]["type"] == "finished"
    Repo(bare).git("worktree", "add", "-q", str(tmp_path / "tree"))
    assert actions(plan(git_ctx, cwd=tmp_path / "tree")) == dict.fromkeys(shims.EVENTS, "keep")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_directory_without_permission(repo, git_ctx):
    put(hooks_of(repo) / "post-rewrite", b"#!/bin/sh\n")
    hooks_of(repo).chmod(0o555)
    before = state(repo.path / ".git")
    done = git_ctx("init", "--no-index")
    hooks_of(repo).chmod(0o755)
    assert done.status == 128
    assert "Permission denied" in done.err
    hooks_of(repo).chmod(0o555)
    assert state(repo.path / ".git") == before
    hooks_of(repo).chmod(0o755)


def test_a_hook_that_cannot_be_replaced_undoes_the_others(repo, git_ctx):
    (hooks_of(repo) / "post-rewrite").mkdir()
    before = state(repo.path / ".git")
    done = git_ctx("init", "--no-index")
    assert done.status == 128
    assert "post-rewrite" in done.err
    assert state(repo.path / ".git") == before


def test_before_the_first_commit(repo, git_ctx):
    done = git_ctx("init")
    assert (done.status, done.err) == (0, "")
    assert done.out.splitlines()[-1] == "nothing is committed yet; the first commit will be indexed"


def test_outside_a_repository(git_ctx, tmp_path):
    for command in ("init", "deinit"):
        done = git_ctx(command, cwd=tmp_path)
        assert done.status == 128
        assert "lies in no git repository" in done.err


def test_program_is_absolute_wherever_it_is_started_from(repo, git_ctx, tmp_path):
    relative = os.path.relpath(SCRIPT, tmp_path)
    subprocess.run(
        [relative, "-C", repo.path, "init", "--no-index"], cwd=tmp_path, check=True, capture_output=True
    )
    written = os.fsdecode(repo.git("config", "ctx.program"))
    assert os.path.isabs(written)
    assert os.path.samefile(written, SCRIPT)
