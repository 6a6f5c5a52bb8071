"""Runs started by git commands, and their number: real git, and a program that records its calls."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from recorder import put_shims
from repositories import Repo
from waiting import BOUND

from ctx.maintenance.hooks import shims

ZEROS = "0" * 40
SHELLS = [
    shell
    for shell in (["sh"], ["dash"], ["bash", "--posix"], ["busybox", "sh"], ["ksh"])
    if shutil.which(shell[0])
]


def arguments(calls: list[dict[str, list[str]]]) -> list[str]:
    """Return the arguments of each call, without ids."""
    return [" ".join(word for word in call["arguments"][0].split() if len(word) < 40) for call in calls]


NO_HOOKS = ("-c", "core.hooksPath=/dev/null", "-c", "hook.ctx.enabled=false")


def chain(repo: Repo, branch: str, count: int) -> None:
    """Make a branch with some commits, without hooks."""
    repo.git(*NO_HOOKS, "checkout", "-q", "-b", branch)
    for number in range(count):
        repo.write({f"{branch}{number}.txt": f"{number}\n"})
        repo.git("add", ".")
        repo.git(*NO_HOOKS, "commit", "-q", "-m", f"{branch} {number}")


def switch(repo: Repo, branch: str) -> None:
    """Switch to a branch without hooks."""
    repo.git(*NO_HOOKS, "checkout", "-q", branch)


def test_commit_and_amend(hooked, calls):
    hooked.write({"b.txt": "two\n"})
    hooked.git("add", ".")
    (call,) = calls.git(hooked, "commit", "-q", "-m", "two")
    assert call["arguments"] == ["hook-run"]
    assert call["head"] == [hooked.id().hex()]
    assert len(calls.git(hooked, "commit", "-q", "--amend", "-m", "two again")) == 1


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_nothing_stays_open(hooked, calls):
    opened = " ".join(f"{number}<." for number in range(3, 10))
    (call,) = calls.during(hooked, ["bash", "-c", f"exec {opened}; git commit -q --allow-empty -m two"])
    # The pipe is that of the list itself.
    opened = [line for line in call["open"] if "pipe:" not in line]
    assert opened == [f"{number} /dev/null" for number in range(3)]


def test_a_reader_of_the_output_is_not_kept_waiting(hooked, calls):
    gate = calls.directory / "gate"
    os.mkfifo(gate)
    calls.program.write_text('#!/bin/sh\nread -r _ <"$(dirname "$0")/gate"\n')
    # The output of git ends although what the hook started still waits.
    done = subprocess.run(
        ["bash", "-c", "git commit -q --allow-empty -m x 2>&1 | cat"],
        cwd=hooked.path,
        timeout=BOUND,
        capture_output=True,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    gate.write_text("go on\n")


def test_checkouts(hooked, calls):
    assert arguments(calls.git(hooked, "checkout", "-q", "-b", "topic")) == ["hook-run 1"]
    assert arguments(calls.git(hooked, "switch", "-q", "main")) == ["hook-run 1"]
    hooked.write({"a.txt": "changed\n"})
    assert calls.git(hooked, "checkout", "-q", "--", "a.txt") == []
    assert calls.git(hooked, "restore", "--source=HEAD", "a.txt") == []


def test_merge(hooked, calls):
    chain(hooked, "topic", 2)
    switch(hooked, "main")
    assert arguments(calls.git(hooked, "merge", "-q", "--ff-only", "topic")) == ["hook-run 0"]
    chain(hooked, "other", 1)
    switch(hooked, "main")
    chain(hooked, "third", 1)
    assert arguments(calls.git(hooked, "merge", "-q", "-m", "both", "other")) == ["hook-run 0"]
    switch(hooked, "main")
    assert arguments(calls.git(hooked, "merge", "-q", "--squash", "third")) == ["hook-run 1"]


@pytest.mark.parametrize("backend", ["--merge", "--interactive"])
def test_rebase_of_twenty_commits_starts_one_run(hooked, calls, backend):
    chain(hooked, "topic", 20)
    switch(hooked, "main")
    chain(hooked, "base", 1)
    switch(hooked, "topic")
    (call,) = calls.git(hooked, "rebase", "-q", backend, "base")
    assert call["arguments"] == ["hook-run rebase"]
    assert call["head"] == [hooked.id().hex()]
    assert hooked.git("rev-list", "--count", "base..topic") == b"20"


def test_rebase_that_stops_starts_a_run_at_its_end(hooked, calls):
    hooked.branch("topic")
    calls.take()
    switch(hooked, "main")
    for branch in ("main", "topic"):
        switch(hooked, branch)
        calls.git(hooked, "commit", "-q", "--allow-empty", "-m", "empty")
        hooked.write({"a.txt": f"{branch}\n"})
        calls.git(hooked, "commit", "-q", "-a", "-m", branch)
    stop = "git rebase -q main >/dev/null 2>&1 || true"
    assert arguments(calls.during(hooked, ["sh", "-c", stop])) == []
    hooked.write({"a.txt": "both\n"})
    hooked.git("add", ".")
    assert calls.git(hooked, "commit", "-q", "-m", "by hand") == []
    assert arguments(calls.git(hooked, "rebase", "--continue")) == ["hook-run rebase"]


@pytest.mark.parametrize("command", [["cherry-pick"], ["revert", "--no-edit"]])
def test_several_picks_start_one_run(hooked, calls, command):
    chain(hooked, "topic", 5)
    hooked.git("tag", "tip")
    if command == ["cherry-pick"]:
        switch(hooked, "main")
    assert len(calls.git(hooked, *command, "tip~3..tip")) == 1
    assert len(calls.git(hooked, *command, "tip~4")) == 1


def test_linked_work_tree(hooked, calls, tmp_path):
    tree = tmp_path / 'linked "tree"\nwith a line'
    (added,) = calls.git(hooked, "worktree", "add", "-q", str(tree), "-b", "linked")
    assert added["arguments"][0].split()[1] == ZEROS
    (tree / "a.txt").write_text("changed\n")
    (call,) = calls.git(hooked, "commit", "-q", "-a", "-m", "linked", cwd=tree)
    assert call["head"] == [hooked.id("linked").hex()]
    assert call["head"] != [hooked.id("main").hex()]
    chain(hooked, "base", 1)
    (call,) = calls.git(hooked, "rebase", "-q", "base", cwd=tree)
    assert call["arguments"] == ["hook-run rebase"]
    assert call["head"] == [hooked.id("linked").hex()]


def test_git_dir_and_settings_of_the_command_line(hooked, calls, tmp_path):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    env = {
        "GIT_DIR": str(hooked.path / ".git"),
        "GIT_WORK_TREE": str(elsewhere),
        "GIT_INDEX_FILE": str(tmp_path / "index"),
    }
    (elsewhere / "new.txt").write_text("new\n")
    calls.git(hooked, "add", ".", cwd=elsewhere, env=env)
    (call,) = calls.git(
        hooked, "-c", "my.setting=it's mine", "commit", "-q", "-m", "elsewhere", cwd=elsewhere, env=env
    )
    assert call["head"] == [hooked.id().hex()]
    assert call["setting"] == ["it's mine"]


def test_clone_with_a_template(repo, calls, tmp_path):
    repo.commit({"a.txt": "one\n"})
    put_shims(repo, calls.program)
    template = tmp_path / "template"
    shutil.copytree(repo.path / ".git" / "hooks", template / "hooks")
    env = {"PATH": f"{calls.directory}:{os.environ['PATH']}"}
    clone = tmp_path / "clone"
    (call,) = calls.during(repo, ["git", "clone", "-q", f"--template={template}", ".", str(clone)], env=env)
    assert call["arguments"][0].split()[1] == ZEROS


def test_program_that_was_removed_or_moved(hooked, calls, tmp_path):
    gone = tmp_path / "gone"
    hooked.git("config", "ctx.program", str(gone))
    done = hooked.run("commit", "--allow-empty", "-q", "-m", "gone")
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    env = {"PATH": f"{calls.directory}:{os.environ['PATH']}"}
    assert len(calls.git(hooked, "commit", "--allow-empty", "-q", "-m", "moved", env=env)) == 1
    hooked.git("config", "--unset", "ctx.program")
    assert len(calls.git(hooked, "commit", "--allow-empty", "-q", "-m", "never set", env=env)) == 1


@pytest.mark.parametrize("program", ["/bin/false", "/dev/null", ".", "$(false)"])
def test_status_of_checkout_is_gits_own(hooked, program):
    hooked.git("config", "ctx.program", program)
    done = hooked.run("checkout", "-q", "-b", "topic")
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert hooked.run("checkout", "-q", "nothing").returncode == 1


@pytest.mark.parametrize("shell", SHELLS, ids=lambda shell: " ".join(shell))
@pytest.mark.parametrize("options", ["", "-eu"])
@pytest.mark.parametrize(
    ("given", "count"),
    [
        ([], 1),
        (["0"], 1),
        (["1"], 1),
        (["amend"], 0),
        (["rebase"], 1),
        ([ZEROS, "1" * 40, "1"], 1),
        ([ZEROS, "1" * 40, "0"], 0),
    ],
)
def test_every_shell(repo, calls, shell, options, given, count):
    repo.commit({"a.txt": "one\n"})
    put_shims(repo, calls.program)
    words = [*shell, *filter(None, [options]), ".git/hooks/post-commit", *given]
    assert len(calls.during(repo, words)) == count


@pytest.mark.parametrize(
    ("files", "given", "count"),
    [
        (["rebase-merge/x"], [], 0),
        (["rebase-apply/x"], [], 0),
        (["rebase-merge/x"], ["rebase"], 1),
        (["sequencer/todo"], [], 0),
        (["sequencer/head"], [], 1),
    ],
)
def test_states_of_a_sequence(repo, calls, files, given, count):
    repo.commit({"a.txt": "one\n"})
    put_shims(repo, calls.program)
    repo.write({f".git/{name}": "pick 1\npick 2\n" for name in files})
    assert len(calls.during(repo, ["sh", ".git/hooks/post-commit", *given])) == count
    if "sequencer/todo" in files:
        repo.write({".git/sequencer/todo": "pick 2\n"})
        assert len(calls.during(repo, ["sh", ".git/hooks/post-commit"])) == 1


def test_an_awkward_repository(make_repo, calls):
    repo = make_repo('it\'s "a"\n$repository `x`')
    repo.commit({"a.txt": "one\n"})
    put_shims(repo, calls.program)
    (call,) = calls.git(repo, "commit", "-q", "--allow-empty", "-m", "two")
    assert call["head"] == [repo.id().hex()]


def test_the_shims_are_one_text_of_few_lines():
    texts = {shims.shim(event) for event in shims.EVENTS}
    (text,) = texts
    assert text.startswith(b"#!/bin/sh\n")
    assert text.count(b"\n") < 30
    here = Path(__file__).resolve().parents[3] / "hooks"
    assert {path.name for path in here.iterdir()} == set(shims.EVENTS)
    assert all(os.access(path, os.X_OK) for path in here.iterdir())
    assert shims.is_ours(text)


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_the_program_ignores_a_hangup(repo, calls):
    repo.commit({"a.txt": "one\n"})
    put_shims(repo, calls.program)
    calls.program.write_text('#!/bin/sh\ncp /proc/$$/status "$(dirname "$0")/status"\n')
    calls.git(repo, "commit", "-q", "--allow-empty", "-m", "x")
    (line,) = [
        line for line in (calls.directory / "status").read_text().splitlines() if line.startswith("SigIgn")
    ]
    assert int(line.split()[1], 16) & 1
