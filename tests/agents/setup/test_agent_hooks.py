"""Tests of agents' hooks: they index in the background, print a hint once, and never block an agent."""

from __future__ import annotations

import json
import os
import subprocess
import time
from pathlib import Path

import pytest
from configurations import SCRIPT

from ctx.agents.setup import exploration
from ctx.agents.setup.exploration import BROAD, OTHER, SEARCHED, Exploration, classify
from ctx.git.repository import open_repository
from ctx.maintenance.hooks.registration import program


def event(name: str, **more: object) -> str:
    return json.dumps({"session_id": "s-1", "hook_event_name": name, **more})


def tool(name: str, **arguments: object) -> str:
    return event("PreToolUse", tool_name=name, tool_input=arguments)


GREP = tool("Grep", pattern="session.*(renew|refresh)")
EXACT = tool("Grep", pattern="renew_session")


def test_session_hook_indexes_the_project_in_the_background(repo, git_ctx, tmp_path):
    repo.commit({"a.py": "def renew_session():\n    pass\n"})
    done = git_ctx("agent-hook", "claude", "session", cwd=tmp_path, said=json.dumps({"cwd": str(repo.path)}))
    assert done == (0, "", "")
    for _ in range(600):
        found = git_ctx("status", "--log", "--json-output").json
        if found["runs"]:
            break
        time.sleep(0.1)
    (run,) = found["runs"]
    assert (run["trigger"], run["outcome"]) == ("session", "done")
    assert git_ctx("status", "--json-output").json["catchUp"]["covered"]


@pytest.mark.parametrize(
    "said", ["", "{", "[]", '{"cwd": "/nowhere", "tool_input": 3}', '{"session_id": {}}', "\0"]
)
@pytest.mark.parametrize("what", ["session", "prompt", "tool", "unknown"])
def test_hook_exits_with_0_after_bad_input(tmp_path, git_ctx, said, what):
    (tmp_path / "no repository").mkdir()
    done = git_ctx("agent-hook", "codex", what, cwd=tmp_path / "no repository", said=said)
    assert (done.status, done.err) == (0, "")
    assert "additionalContext" not in done.out or json.loads(done.out)


def test_hint_is_printed_once_per_exploration_and_calls_are_not_blocked(git_ctx, repo):
    def hook(said: str, *words: str) -> str:
        done = git_ctx("agent-hook", "claude", *(words or ("tool",)), said=said)
        assert (done.status, done.err) == (0, "")
        return done.out

    assert [hook(GREP) for _ in range(2)] == ["", ""]
    assert hook(EXACT) == ""
    found = json.loads(hook(GREP, "tool", "mcp"))
    assert found.keys() == {"hookSpecificOutput"}
    assert found["hookSpecificOutput"].keys() == {"hookEventName", "additionalContext"}
    assert found["hookSpecificOutput"]["hookEventName"] == "PreToolUse"
    assert "code_search" in found["hookSpecificOutput"]["additionalContext"]
    assert [hook(GREP) for _ in range(4)] == [""] * 4
    # The next question of the user begins a new exploration; a search by MCP ends it.
    first = json.loads(hook(event("UserPromptSubmit"), "prompt"))
    assert "git ctx search" in first["hookSpecificOutput"]["additionalContext"]
    assert hook(event("UserPromptSubmit"), "prompt") == ""
    assert hook(GREP) == ""
    assert hook(tool("mcp__git-ctx__code_search", text="x")) == ""
    assert [hook(GREP) for _ in range(4)] == [""] * 4


@pytest.mark.parametrize(
    ("name", "arguments", "kind"),
    [
        ("mcp__git-ctx__code_search", {"text": "x"}, SEARCHED),
        ("mcp_git-ctx_find_related", {}, SEARCHED),
        ("Bash", {"command": 'git ctx search "where"'}, SEARCHED),
        ("Bash", {"command": "cd src && git ctx -C . related a.py:3"}, SEARCHED),
        ("Bash", {"command": ["git", "ctx", "history", "x"]}, SEARCHED),
        ("Grep", {"pattern": "renew_session"}, OTHER),
        ("Grep", {"pattern": r"Session\.renew\b"}, OTHER),
        ("Grep", {"pattern": "renew|refresh"}, BROAD),
        ("grep_search", {"pattern": "renew the session"}, BROAD),
        ("Glob", {"pattern": "**/*.py"}, BROAD),
        ("Glob", {"pattern": "**/session.py"}, OTHER),
        ("Bash", {"command": "rg -n renew_session src"}, OTHER),
        ("Bash", {"command": "git grep -n 'renew.*session'"}, BROAD),
        ("Bash", {"command": "grep -rn 'a b' ."}, BROAD),
        ("Bash", {"command": "find . -name session.py"}, OTHER),
        ("Bash", {"command": "find . -name '*.py'"}, BROAD),
        ("Bash", {"command": "ls -laR src"}, BROAD),
        ("Bash", {"command": "ls -la src"}, OTHER),
        ("Bash", {"command": "grep 'unclosed"}, OTHER),
        ("Bash", {"command": ""}, OTHER),
        ("Read", {"file_path": "a.py"}, OTHER),
        ("Bash", {}, OTHER),
    ],
)
def test_kinds_of_searches(name, arguments, kind):
    assert classify(name, arguments) == kind


def test_no_hint_if_the_state_cannot_be_stored(git_ctx, repo, monkeypatch, tmp_path):
    shared = Path(os.environ["XDG_RUNTIME_DIR"]) / "git-ctx-agents"
    shared.mkdir(mode=0o700)
    shared.chmod(0o777)
    for _ in range(4):
        assert git_ctx("agent-hook", "claude", "tool", said=GREP).out == ""
    assert not any(shared.iterdir())
    shared.rmdir()
    shared.symlink_to(tmp_path)
    for _ in range(4):
        assert git_ctx("agent-hook", "claude", "tool", said=GREP).out == ""


def test_state_is_private_and_removed_after_a_day(tmp_path, monkeypatch):
    directory = exploration.runtime_directory()
    assert exploration.keep("claude", "one/../session", Exploration(True, 2))
    assert exploration.load("claude", "one/../session") == Exploration(True, 2)
    assert exploration.load("codex", "one/../session") == Exploration()
    (file,) = Path(directory).iterdir()
    assert b"session" not in file.read_bytes()
    old = time.time() - 90000
    os.utime(file, (old, old))
    assert exploration.keep("claude", "other", Exploration())
    assert file not in list(Path(directory).iterdir())
    (file,) = Path(directory).iterdir()
    for damaged in (b"{", b'{"x": 1}', b'{"broad": "many"}', b"[]"):
        file.write_bytes(damaged)
        assert exploration.load("claude", "other") == Exploration()


def sandboxed() -> list[str]:
    """Return a command prefix without network and without root's right to ignore file modes."""
    words = ["unshare", "--net"]
    if os.geteuid() == 0:
        words += ["setpriv", "--bounding-set=-dac_override,-dac_read_search,-fowner"]
    try:
        if subprocess.run([*words, "true"], capture_output=True).returncode == 0:
            return words
    except FileNotFoundError:
        pass
    if os.geteuid() == 0:
        pytest.skip("root may write everywhere here")
    return []


def test_commands_that_read_work_in_a_read_only_sandbox(repo, git_ctx):
    """Imitates the sandbox of Codex: a read-only git directory and work tree, and no network."""
    source = 'def renew_session():\n    """Renew an expired session."""\n    return session.renew()\n'
    files = {"a.py": source, "b.py": source.replace("renew_session", "renew_session_again")}
    repo.commit(files, "Renew sessions that have expired")
    every = [repo.path, *repo.path.rglob("*")]
    modes = {path: path.stat().st_mode for path in every}
    before = {path: path.stat().st_mtime_ns for path in every}
    words = sandboxed()
    for path in reversed(every):
        path.chmod(modes[path] & ~0o222)
    try:
        runs = [
            subprocess.run([*words, SCRIPT, *arguments], cwd=repo.path, capture_output=True, text=True)
            for arguments in (
                ["search", "where is an expired session renewed"],
                ["related", "a.py:1"],
                ["history", "renew expired sessions"],
                ["plan"],
                ["status"],
                ["agent-hook", "codex", "session"],
                ["setup-agent", "--agent", "codex", "--yes"],
            )
        ]
    finally:
        for path in every:
            path.chmod(modes[path])
    assert [run.returncode for run in runs] == [0, 0, 0, 0, 0, 0, 1]
    expected = ("a.py:1", "b.py:1", "Renew sessions", "", "", "", "read-only")
    for run, words_in_it in zip(runs, expected, strict=True):
        assert words_in_it in run.stdout
    assert {path: path.stat().st_mtime_ns for path in every} == before


def test_the_program_for_hooks_is_absolute(repo):
    assert os.path.isabs(program())
    with open_repository(repo.path) as repository:
        assert repository.work_tree is not None
