"""Help, usage errors and streams, without a repository."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from ctx.cli import main as cli

COMMANDS = list(cli.COMMANDS)
HEAVY = (
    "numpy",
    "pygit2",
    "usearch",
    "zstandard",
    "msgpack",
    "tree_sitter",
    "rich",
    "pygments",
    "httpx",
    "platformdirs",
)
TAKE_REVISION = ("index", "plan", "pin", "evaluate", "verify")
"""Commands whose argument is a revision."""


def test_without_arguments_the_help_goes_to_stderr(git_ctx):
    run = git_ctx()
    assert (run.status, run.out) == (129, b"")
    assert all(command in run.err for command in COMMANDS)


@pytest.mark.parametrize("flag", ["-h", "--help"])
@pytest.mark.parametrize("command", [None, *COMMANDS])
def test_help_of_everything(git_ctx, command, flag):
    run = git_ctx(*filter(None, [command, flag]))
    assert (run.status, run.err) == (0, "")
    assert run.text.startswith(f"Usage: git ctx {command or ''}".rstrip())


@pytest.mark.parametrize("command", [None, *COMMANDS])
def test_help_loads_nothing_heavy(environment, tmp_path, command):
    arguments = [*filter(None, [command]), "-h"]
    program = (
        "import sys, ctx.cli.main\n"
        f"status = ctx.cli.main.main({arguments!r})\n"
        f"print(status, [name for name in {HEAVY!r} if name in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, env=environment, capture_output=True, text=True
    )
    assert done.stderr == "0 []\n"


def test_version(git_ctx):
    run = git_ctx("--version")
    version, commit, descriptor, channel = (line.split() for line in run.lines)
    assert run.status == 0
    assert version[0] == "git-ctx"
    assert commit[0] == "commit"
    assert commit[1] == "unknown" or len(commit[1].removesuffix("-dirty")) in (40, 64)
    assert descriptor[0] == "descriptor"
    assert descriptor[1].startswith("CODE_BLOCKS-")
    known = {"unknown": {"unknown"}}.get(commit[1], {"checkout", "modified"})
    assert channel[0] == "channel"
    assert channel[1] in known


@pytest.mark.skipif(
    not Path(sys.executable).with_name("git-ctx").exists(), reason="the package is not installed"
)
def test_installed_script_is_found_by_git(environment, tmp_path):
    path = f"{Path(sys.executable).parent}:{environment['PATH']}"
    done = subprocess.run(
        ["git", "ctx", "-h"], cwd=tmp_path, env={**environment, "PATH": path}, capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("Usage: git ctx ")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["serch", "x"], "No such command"),
        (["serch", "x"], "'search'"),
        (["search"], "The query is empty; say in words or in code what you look for."),
        (["search", ""], "The query is empty; say in words or in code what you look for."),
        (["search", "  ", "\t"], "The query is empty; say in words or in code what you look for."),
        (["search", "--", "src"], "The query is empty; say in words or in code what you look for."),
        (["search", "-"], "The query is empty; say in words or in code what you look for."),
        (
            ["search", "x", "--limit", "0"],
            "0 is not in the range 1<=x<=1000.",
        ),
        (
            ["search", "x", "-n", "1000000"],
            "1000000 is not in the range 1<=x<=1000.",
        ),
        (["search", "x", "--lmit", "3"], "--lmit"),
        (["search", "x", "--color", "blue"], "'blue' is not one of"),
        (
            ["search", "x", "--json-output", "-z"],
            "--json-output and -z exclude each other; give one of them.",
        ),
        (
            ["search", "x", "--revision", "a", "--branch", "b"],
            "A revision and --branch exclude each other; give one of them.",
        ),
        (["index", "a", "--branch", "b"], "A revision and --branch exclude each other; give one of them."),
        (["index", "a", "b"], "unexpected extra argument"),
        *(
            ([name, "a", "--revision", "b"], "REVISION and --revision exclude each other; give one of them.")
            for name in TAKE_REVISION
        ),
        (["index", "--jobs", "0"], "0 is not in the range x>=1."),
        (["status", "extra"], "unexpected extra argument"),
        (["-C"], "requires an argument"),
    ],
)
def test_wrong_usage_is_one_sentence_and_129(git_ctx, arguments, sentence):
    run = git_ctx(*arguments)
    assert run.status == 129
    message = run.err.splitlines()[0]
    assert message.startswith("error: ")
    assert sentence in message
    assert "See 'git ctx" in run.err
    assert "Traceback" not in run.err


def test_wrong_usage_in_json(git_ctx):
    run = git_ctx("search", "", "--json-output")
    assert run.status == 129
    assert run.json == {
        "type": "error",
        "message": "The query is empty; say in words or in code what you look for.",
        "exitCode": 129,
    }


def test_root_that_does_not_exist(git_ctx):
    for arguments in (["-C", "gone", "status"], ["status", "-C", "gone"], ["status", "--root", "gone"]):
        run = git_ctx(*arguments)
        assert (run.status, run.err) == (128, "fatal: cannot change to 'gone': No such file or directory\n")


def test_closed_and_full_streams(environment, tmp_path):
    command = f"{sys.executable} -m ctx -h"

    def shell(line: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["bash", "-c", line], cwd=tmp_path, env=environment, capture_output=True, text=True
        )

    assert shell(f"{command} | true; echo ${{PIPESTATUS[0]}}").stderr == ""
    assert shell(f"{command} >&-").returncode == 0
    assert shell(f"{command} 2>&- >/dev/null").returncode == 0
    if Path("/dev/full").exists():
        full = shell(f"{command} >/dev/full")
        assert full.returncode == 128
        assert full.stderr == "fatal: No space left on device; make room there and run the command again\n"
