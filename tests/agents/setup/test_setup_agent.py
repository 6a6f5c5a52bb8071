"""Tests of `git ctx setup-agent` and `git ctx remove-agent` on realistic configuration files."""

from __future__ import annotations

import json
import os
import pty
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import forking
import pytest
from configurations import FILES, SCRIPT, lay, tree
from hypothesis import given, settings
from hypothesis import strategies as st
from set_ups import ALL, PROGRAM, set_up, take_out

from ctx.agents.setup import blocks, catalog, options
from ctx.agents.setup.jsonc import parse
from ctx.agents.setup.options import COMPONENTS, SetupOptions
from ctx.agents.setup.planning import carry_out, plan_setup
from ctx.agents.setup.record import Record

steps = st.lists(
    st.tuples(
        st.sampled_from(["set up", "remove", "edit"]),
        st.sets(st.sampled_from(list(catalog.AGENTS)), min_size=1),
        st.sets(st.sampled_from(COMPONENTS), min_size=1),
        st.tuples(st.booleans(), st.booleans(), st.sampled_from([PROGRAM, "/usr/bin/git-ctx"])),
    ),
    max_size=6,
)


def edited(content: bytes, name: str) -> bytes:
    """Edit a file as its user would, at the beginning, outside of the inserted entries."""
    text = content.decode()
    eol = "\r\n" if "\r\n" in text else "\n"
    if name.endswith((".json", ".jsonc")):
        place = parse(text).root.start + 1
        comma = "," if parse(text).root.inside else ""
        return f'{text[:place]} "edited": [1]{comma}{text[place:]}'.encode()
    mark = "\ufeff" if text.startswith("\ufeff") else ""
    return f"{mark}# edited{eol}{text.removeprefix(mark)}".encode()


@settings(max_examples=40)
@given(st.sets(st.sampled_from(sorted(FILES))), steps)
def test_removal_restores_every_byte_in_any_order(names, done):
    with tempfile.TemporaryDirectory() as place:
        root, directory = Path(place, "root"), Path(place, "state")
        root.mkdir()
        lay(root, [*names, *(["CLAUDE.md"] if "AGENTS.md" in names else [])])
        before = tree(root)
        record = Record(str(directory))
        changed: dict[str, bytes] = {}
        for kind, agents, components, (strong, minimal, program) in done:
            if kind == "set up":
                set_up(root, record, agents, components, strong, minimal, program)
            elif kind == "remove":
                take_out(root, record, agents)
            else:
                for name in sorted(names):
                    if FILES[name].strip() and name not in changed:
                        (root / name).write_bytes(edited((root / name).read_bytes(), name))
                        changed[name] = edited(FILES[name], name)
        assert take_out(root, record, list(catalog.AGENTS)).is_whole
        after = tree(root)
        for name, content in changed.items():
            assert after[name][0] == content
            before[name] = after[name] = None
        assert after == before
        assert not directory.exists()


@settings(max_examples=10)
@given(st.sets(st.sampled_from(sorted(FILES))), st.sets(st.sampled_from(list(catalog.AGENTS)), min_size=1))
def test_entries_are_recognised_and_removed_without_a_record(names, agents):
    with tempfile.TemporaryDirectory() as place:
        root = Path(place, "root")
        root.mkdir()
        lay(root, sorted(names))
        before = tree(root)
        plain = {name: parse(content.decode()).root.plain for name, content in _json(names).items()}
        set_up(root, Record(f"{place}/lost"), agents, COMPONENTS)
        assert take_out(root, Record(f"{place}/none"), list(catalog.AGENTS)).is_whole
        for name in names:
            if name in plain:
                found = parse((root / name).read_text()).root.plain
                assert _without_empty(found) == _without_empty(plain[name])
                assert parse((root / name).read_text()).comments == parse(FILES[name].decode()).comments
            elif FILES[name].strip():
                assert (root / name).read_bytes().rstrip(b"\r\n") == FILES[name].rstrip(b"\r\n")
        for path in root.rglob("*"):
            if path.is_file():
                assert str(path.relative_to(root)) in before
                assert b"git-ctx" not in path.read_bytes()


def _json(names):
    return {name: FILES[name] for name in names if name.endswith((".json", ".jsonc")) and FILES[name].strip()}


def _without_empty(value):
    if not isinstance(value, dict):
        return value
    found = {key: _without_empty(inner) for key, inner in value.items()}
    return {key: inner for key, inner in found.items() if inner not in ({}, [])}


def test_set_up_and_removal_by_command(repo, git_ctx):
    lay(repo.path)
    before = tree(repo.path)
    shown = git_ctx("setup-agent", *ALL, "--dry-run")
    assert (shown.status, tree(repo.path)) == (0, before)
    assert git_ctx("setup-agent", *ALL).status == 128
    assert "--yes" in git_ctx("setup-agent", *ALL).err
    assert tree(repo.path) == before
    done = git_ctx("setup-agent", *ALL, "--yes")
    assert (done.status, done.err) == (0, "")
    after = tree(repo.path)
    for name in {name for name in after if after[name] != before.get(name) and after[name] is not None}:
        assert f"{name}\n" in done.out or f"{name} (new)\n" in done.out
    assert git_ctx("setup-agent", *ALL, "--yes").out.endswith("nothing has to be changed\n")
    assert tree(repo.path) == after
    assert _entry(after[".vscode/mcp.json"][0], "servers")["command"] == "git-ctx"
    assert list(after).count("CLAUDE.md") == 1
    assert after["AGENTS.md"][0].count(b"git-ctx-instructions-start") == 1
    removed = git_ctx("remove-agent", "--yes")
    assert (removed.status, removed.err) == (0, "")
    assert tree(repo.path) == before
    assert not (repo.path / ".git" / "ctx" / "agents").exists()
    assert git_ctx("remove-agent").out == "nothing of git-ctx is set up here\n"


def _entry(content: bytes, *keys: str) -> dict[str, Any]:
    """Return the server of git-ctx in a configuration file."""
    found = parse(content.decode()).root.plain
    for key in (*keys, "git-ctx"):
        found = found[key]
    return found


def test_project_files_contain_no_path_of_this_machine(repo, git_ctx):
    git_ctx("setup-agent", *ALL, "--strong", "--yes")
    here = (os.path.dirname(SCRIPT).encode(), bytes(repo.path), os.environ["HOME"].encode())
    for name, kept in tree(repo.path).items():
        if isinstance(kept, tuple):
            assert not [path for path in here if path in kept[0]], name
    hooks = json.loads((repo.path / ".claude" / "settings.json").read_text())["hooks"]
    command = hooks["SessionStart"][0]["hooks"][0]["command"]
    for path, ran in ((os.path.dirname(SCRIPT) + ":/usr/bin:/bin", True), ("/usr/bin:/bin", False)):
        # An unknown word makes the hook do nothing; only the trace tells that the program was started.
        done = subprocess.run(
            ["sh", "-xc", command.replace(" session", " nothing")],
            cwd=repo.path,
            env={**os.environ, "PATH": path},
            input=b"{}",
            capture_output=True,
        )
        assert done.returncode == 0
        assert (b"+ git-ctx agent-hook claude nothing" in done.stderr) == ran


def test_note_if_the_program_is_not_on_the_path(repo, git_ctx, monkeypatch):
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    done = git_ctx("setup-agent", "--agent", "claude", "--yes", program=SCRIPT)
    assert done.status == 0
    assert (
        f"git-ctx is not on the PATH, so agents cannot start it: add {os.path.dirname(SCRIPT)}\n" in done.err
    )


def test_files_that_were_set_up_on_another_machine_are_repaired(make_repo, git_ctx, tmp_path):
    """A clone has configuration with the path of git-ctx on another machine; manual changes are reported."""
    there = make_repo("there")
    place = "/home/colleague/bin/git-ctx"
    set_up(there.path, Record(str(tmp_path / "his")), list(catalog.AGENTS), COMPONENTS, program=place)
    for name in (".mcp.json", ".junie/mcp/mcp.json"):
        text = (there.path / name).read_text().replace('"mcp"', f'"-C",\n"{there.path}", "mcp"')
        (there.path / name).write_text(text if "junie" in name else text.replace(place, SCRIPT))
    there.commit()
    before = tree(there.path)
    done = git_ctx("setup-agent", *ALL, "--strong", "--yes", "--json-output", cwd=there.path)
    assert done.status == 0, done.out
    updated = {
        os.path.relpath(step["path"], there.path) for step in done.json["steps"] if step["action"] == "update"
    }
    after = tree(there.path)
    assert updated == {name for name, kept in after.items() if kept != before[name]}
    assert {".codex/config.toml", ".cursor/mcp.json", ".vscode/mcp.json", ".claude/settings.json"} <= updated
    for name, kept in after.items():
        assert not isinstance(kept, tuple) or place.encode() not in kept[0], name
    assert _entry(after[".junie/mcp/mcp.json"][0], "mcpServers")["args"] == ["mcp"]
    # A program that is here is the user's choice.
    assert _entry(after[".mcp.json"][0], "mcpServers")["command"] == SCRIPT
    again = git_ctx("setup-agent", *ALL, "--strong", "--yes", cwd=there.path)
    assert again.out.endswith("nothing has to be changed\n")
    assert git_ctx("remove-agent", "--yes", cwd=there.path).status == 0
    assert tree(there.path) == before


def test_changed_entries_of_another_machine_are_reported(make_repo, git_ctx):
    there = make_repo("there")
    server = {"command": "/gone/git-ctx", "args": ["-C", "sub", "mcp"]}
    table = '[mcp_servers.git-ctx]\ncommand = "/gone/git-ctx"\nargs = ["mcp"]\n'
    there.write({".mcp.json": json.dumps({"mcpServers": {"git-ctx": server}}), ".codex/config.toml": table})
    before = tree(there.path)
    done = git_ctx("setup-agent", "--agent", "claude", "--agent", "codex", "--mcp", "--yes", cwd=there.path)
    assert done.status == 1
    assert done.out.count("starts /gone/git-ctx, which is not here") == 2
    assert tree(there.path) == before


def test_in_the_home_of_a_user(repo, git_ctx, monkeypatch):
    home = Path(os.environ["HOME"])
    lay(home / "dotfiles")
    (home / ".claude").mkdir()
    (home / ".claude" / "settings.json").symlink_to(home / "dotfiles" / ".claude" / "settings.json")
    (home / ".claude" / "settings.json").chmod(0o600)
    monkeypatch.setenv("CODEX_HOME", str(home / "codex home"))
    (home / "codex home").mkdir()
    shutil.copy(home / "dotfiles" / ".codex" / "config.toml", home / "codex home" / "config.toml")
    before = tree(home)
    done = git_ctx("setup-agent", *ALL, "--user", "--yes")
    assert done.status == 0
    assert (home / ".claude" / "settings.json").is_symlink()
    assert (home / "dotfiles" / ".claude" / "settings.json").stat().st_mode & 0o777 == 0o600
    assert json.loads((home / ".claude.json").read_text())["mcpServers"]["git-ctx"]["args"] == ["mcp"]
    assert "git-ctx" in blocks.read_toml((home / "codex home" / "config.toml").read_text())["mcp_servers"]
    assert tree(repo.path) == {}
    assert git_ctx("remove-agent", "--user", "--yes").status == 0
    assert {name: kept for name, kept in tree(home).items() if not name.startswith("state")} == before


def test_it_asks_on_a_terminal(repo, git_ctx):
    for answer, status in (b"n\n", 1), (b"y\n", 0):
        process, terminal = pty.fork()
        if not process:
            os.execv(SCRIPT, ["git-ctx", "-C", str(repo.path), "setup-agent", "--agent", "generic"])
        os.write(terminal, answer)
        said = b""
        try:
            while more := os.read(terminal, 4096):
                said += more
        except OSError:
            pass  # how a terminal ends on Linux
        assert os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) == status
        os.close(terminal)
        assert b"AGENTS.md (new)" in said
        assert b"Write this?" in said
        assert (repo.path / "AGENTS.md").exists() == (status == 0)


def test_instructions_are_printed_without_a_project(git_ctx, tmp_path):
    done = git_ctx("setup-agent", "--print-instructions", cwd=tmp_path)
    assert done.out.startswith("## Finding code\n")
    assert "### Required" in git_ctx("setup-agent", "--print-instructions", "--strong", cwd=tmp_path).out
    assert (done.status, done.err, list(tmp_path.glob("*.md"))) == (0, "", [])


def test_instructions_are_printed_with_the_plan(repo, git_ctx):
    text = git_ctx("setup-agent", "--print-instructions").out.rstrip("\n")
    plan = git_ctx("setup-agent", "--agent", "claude", "--dry-run", "--json").json
    both = git_ctx("setup-agent", "--agent", "claude", "--json-output", "--print-instructions")
    assert both.status == 0
    assert both.json == {**plan, "instructions": text}
    shown = git_ctx("setup-agent", "--agent", "claude", "--dry-run").out
    assert git_ctx("setup-agent", "--agent", "claude", "--dry-run", "--print-instructions").out == (
        f"{shown}\n{text}\n"
    )
    assert tree(repo.path) == {}


def test_agents_are_found(repo, git_ctx, tmp_path, monkeypatch):
    assert "no agent was found" in git_ctx("setup-agent", "--dry-run").err
    (repo.path / ".cursor").mkdir()
    (Path(os.environ["HOME"]) / ".gemini").mkdir()
    program = tmp_path / "bin" / "codex"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", os.pathsep.join((str(program.parent), os.environ["PATH"])))
    plan = git_ctx("setup-agent", "--dry-run", "--json").json
    assert {agent for step in plan["steps"] for agent in step["agents"]} == {"cursor", "gemini", "codex"}
    assert plan["dryRun"] is True
    assert tree(repo.path) == {".cursor": None}


def test_path_of_the_program_is_updated(repo):
    record = Record(str(repo.path / ".git" / "state"))
    set_up(repo.path, record, ["claude", "codex"], COMPONENTS, program="/old/git-ctx")
    set_up(repo.path, record, ["claude", "codex"], COMPONENTS, program=PROGRAM)
    for path in repo.path.rglob("*"):
        if path.is_file() and ".git/" not in str(path):
            assert b"/old/" not in path.read_bytes()
    settings_of_claude = json.loads((repo.path / ".claude" / "settings.json").read_text())
    command = settings_of_claude["hooks"]["SessionStart"][0]["hooks"][0]["command"]
    quoted = "'/opt/git ctx/bin/git-ctx'"
    assert command == f"! command -v {quoted} >/dev/null 2>&1 || {quoted} agent-hook claude session"
    # Where the program is gone the agent does not notice.
    assert subprocess.run(["sh", "-c", command], capture_output=True).stderr == b""
    assert subprocess.run(["sh", "-c", command]).returncode == 0
    take_out(repo.path, record, list(catalog.AGENTS))
    assert tree(repo.path) == {}


def test_components(repo, git_ctx):
    def chosen(*options: str) -> set[str]:
        agents = ("--agent", "claude", "--agent", "codex")
        plan = git_ctx("setup-agent", *agents, *options, "--dry-run", "--json").json
        return {step["component"] for step in plan["steps"]}

    assert chosen() == set(COMPONENTS) - {"hooks"}
    assert chosen("--no-session-hooks") == set(COMPONENTS) - {"hooks", "session-hooks"}
    assert chosen("--strong") == chosen("--aggressive") == set(COMPONENTS)
    assert chosen("--hooks") == {"hooks", "session-hooks"}
    assert chosen("--hooks", "--no-session-hooks") == {"hooks"}
    assert chosen("--mcp", "--rules") == {"mcp", "rules"}
    for wrong in (
        ["--agent", "nobody"],
        ["--agent", "claude", "--auto"],
        ["--mcp", "--mcp-minimal"],
        ["--user", "--project"],
        ["--project", "--user"],
    ):
        assert git_ctx("setup-agent", *wrong).status == 129
    note = git_ctx("setup-agent", "--agent", "zed", "--subagents", "--mcp", "--dry-run").err
    assert note == "note: zed has no place for subagents with --project\n"


def without_server(repo, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the program as if the packages of the server were not installed."""
    program = (
        "import sys; sys.modules['mcp'] = None\n"
        f"from ctx.cli.main import main; sys.exit(main({['setup-agent', *arguments]!r}))"
    )
    env = {**os.environ, "PYTHONPATH": str(forking.ROOT)}
    return subprocess.run(
        [sys.executable, "-c", program], cwd=repo.path, env=env, capture_output=True, text=True
    )


def test_without_the_packages_of_the_server(repo):
    """It is left out with a warning that has the command to install them; asked for, it is an error."""
    command = f"{sys.executable} -m pip install 'git-ctx[mcp]'"
    for output in ((), ("--json",)):
        done = without_server(repo, "--agent", "claude", "--dry-run", *output)
        assert done.returncode == 0
        assert done.stderr.startswith("warning: no server is added: ")
        assert command in done.stderr
        assert ".mcp.json" not in done.stdout
    done = without_server(repo, "--print-instructions")
    assert "code_search" not in done.stdout
    assert "git ctx search" in done.stdout
    done = without_server(repo, "--agent", "claude", "--mcp", "--yes")
    assert (done.returncode, done.stdout) == (128, "")
    assert command in done.stderr


def test_linked_work_tree_has_a_separate_record(repo, git_ctx, tmp_path):
    repo.commit({"a.py": "x = 1\n"})
    repo.git("worktree", "add", "-q", str(tmp_path / "tree"))
    git_ctx("setup-agent", "--agent", "codex", "--yes")
    git_ctx("setup-agent", "--agent", "codex", "--yes", cwd=tmp_path / "tree")
    assert git_ctx("remove-agent", "--yes").status == 0
    assert tree(repo.path).keys() == {"a.py"}
    assert (tmp_path / "tree" / "AGENTS.md").exists()
    assert git_ctx("remove-index", "--yes").status == 0
    assert git_ctx("remove-agent", "--yes", cwd=tmp_path / "tree").status == 0
    assert tree(tmp_path / "tree").keys() == {"a.py", ".git"} - {".git"}


def test_set_up_without_a_project(make_repo, git_ctx, tmp_path):
    bare = make_repo("bare", "--bare")
    assert "bare repository" in git_ctx("setup-agent", cwd=bare.path).err
    (tmp_path / "none").mkdir()
    assert git_ctx("setup-agent", cwd=tmp_path / "none").status == 128
    assert (
        git_ctx("setup-agent", "--user", "--agent", "claude", "--dry-run", cwd=tmp_path / "none").status == 0
    )


def test_plan_matches_what_is_written(repo):
    """A file that another program changes after the plan was made is not overwritten."""
    lay(repo.path, [".mcp.json"])
    record = Record(str(repo.path / ".git" / "state"))
    request = SetupOptions("project", str(repo.path), ["claude"], frozenset({options.MCP}), PROGRAM)
    plan = plan_setup(request, record)
    (repo.path / ".mcp.json").write_text("{}")
    with pytest.raises(Exception, match="changed by another program"), record.locked():
        carry_out(plan, record)
    assert (repo.path / ".mcp.json").read_text() == "{}"


def test_built_package_contains_the_data(tmp_path):
    pytest.importorskip("setuptools")
    root = Path(__file__).parents[3]
    for name in ("ctx", "hooks"):
        ignored = shutil.ignore_patterns("__pycache__", "*.bin")
        shutil.copytree(root / name, tmp_path / "source" / name, ignore=ignored)
    for name in ("setup.cfg", "pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(root / name, tmp_path / "source")
    import sys

    program = "import setuptools; setuptools.setup()"
    command = [
        sys.executable,
        "-W",
        "ignore",
        "-c",
        program,
        "-q",
        "build_py",
        "--build-lib",
        str(tmp_path / "built"),
    ]
    subprocess.run(command, cwd=tmp_path / "source", check=True, capture_output=True)
    assert _data(tmp_path / "built" / "ctx" / "agents") == _data(root / "ctx" / "agents")


def _data(folder: Path) -> set[str]:
    return {
        str(path.relative_to(folder))
        for path in folder.rglob("*")
        if path.is_file() and path.suffix not in (".py", ".pyc")
    }
