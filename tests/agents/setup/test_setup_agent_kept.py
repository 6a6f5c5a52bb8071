"""Tests of files that set-up and removal leave alone, and of removal after an interruption."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from configurations import FILES, lay, tree
from set_ups import ALL, set_up, take_out

from ctx.agents.setup import catalog, config_files
from ctx.agents.setup.options import COMPONENTS
from ctx.agents.setup.record import Record, digest
from ctx.errors import CtxError


def test_unreadable_and_read_only_files_are_reported_and_left_alone(repo, git_ctx, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    repo.write(
        {
            ".mcp.json": '{"mcpServers": {"a": }}\n',
            ".vscode/mcp.json": "\ufeff{}".encode("utf-16"),
            ".gemini/settings.json": "{}",
            ".codex/config.toml": "[mcp_servers\n",
            "opencode.json": '{"mcp": []}',
        }
    )
    (repo.path / ".gemini" / "settings.json").chmod(0o444)
    (repo.path / ".zed").symlink_to(tmp_path / "elsewhere")
    (repo.path / ".cursor").mkdir()
    (repo.path / ".cursor" / "mcp.json").symlink_to("nowhere")
    before = tree(repo.path)
    done = git_ctx("setup-agent", *ALL, "--mcp", "--json-output", "--yes")
    assert done.status == 1
    reasons = {
        Path(step["path"]).name: step["reason"] for step in done.json["steps"] if step["action"] == "leave"
    }
    reasons[".zed"] = next(step["reason"] for step in done.json["steps"] if ".zed" in step["path"])
    assert "line 1" in reasons[".mcp.json"]
    assert len([step for step in done.json["steps"] if step["reason"] == "it is not UTF-8"]) == 1
    assert "read-only" in str([step["reason"] for step in done.json["steps"]])
    assert "leads out of the work tree" in reasons[".zed"]
    assert "dangling link" in str([step["reason"] for step in done.json["steps"]])
    assert reasons["opencode.json"]
    assert reasons["config.toml"]
    after = tree(repo.path)
    assert {name: kept for name, kept in after.items() if not name.startswith(".junie")} == before
    assert not any((tmp_path / "elsewhere").iterdir())


def test_entries_of_the_user_are_kept(repo, git_ctx):
    mine = '{"mcpServers": {"git-ctx": {"command": "git-ctx", "args": ["-C", "sub", "mcp"]}}}'
    other = '{"servers": {"git-ctx": {"url": "http://localhost"}}}'
    repo.write(
        {".mcp.json": mine, ".vscode/mcp.json": other, ".claude/skills/context-search/SKILL.md": "# mine\n"}
    )
    before = tree(repo.path)
    done = git_ctx(
        "setup-agent", "--agent", "claude", "--agent", "vscode", "--mcp", "--skills", "--yes", "--json-output"
    )
    assert done.status == 1
    actions = {(Path(step["path"]).name, step["action"]) for step in done.json["steps"]}
    assert {(".mcp.json", "keep"), ("mcp.json", "leave"), ("SKILL.md", "leave")} <= actions
    assert (repo.path / ".mcp.json").read_text() == mine
    assert git_ctx("remove-agent", "--yes").status == 0
    assert tree(repo.path) == before


def test_a_file_that_was_changed_since_is_kept(repo, git_ctx):
    git_ctx("setup-agent", "--agent", "claude", "--skills", "--yes")
    skill = repo.path / ".claude" / "skills" / "context-search" / "SKILL.md"
    skill.write_text(skill.read_text() + "\nAlso mind the tests.\n")
    done = git_ctx("setup-agent", "--agent", "claude", "--skills", "--yes")
    assert done.status == 1
    assert "left alone" in done.out
    done = git_ctx("remove-agent", "--yes")
    assert done.status == 1
    assert "it was changed since" in done.out
    assert skill.read_text().endswith("Also mind the tests.\n")
    assert len(list(repo.path.rglob("SKILL.md"))) == 1


def test_removal_after_the_user_has_removed_entries_by_hand(repo, git_ctx):
    lay(repo.path)
    before = tree(repo.path)
    git_ctx("setup-agent", *ALL, "--yes")
    for name, content in FILES.items():
        (repo.path / name).write_bytes(content)
    (repo.path / ".cursor" / "rules" / "git-ctx.mdc").unlink()
    assert git_ctx("remove-agent", "--yes").status == 0
    assert tree(repo.path) == before


def test_record_cannot_name_files_outside_of_the_work_tree(repo, git_ctx, tmp_path):
    """A copied repository has the git directory of another user, which may have a forged record."""
    git_ctx("setup-agent", "--agent", "generic", "--yes")
    (file,) = (repo.path / ".git" / "ctx" / "agents").rglob("record.json")
    victims = [tmp_path / "victim", repo.path / ".git" / "config", repo.path / "way" / "victim"]
    (tmp_path / "elsewhere").mkdir()
    (repo.path / "way").symlink_to(tmp_path / "elsewhere")
    for victim in victims:
        victim.write_bytes(victim.read_bytes() if victim.exists() else b"precious")
    before = [victim.read_bytes() for victim in victims]
    record = json.loads(file.read_text())
    one = next(iter(record["files"].values()))
    for victim in [*victims, repo.path / ".git" / ".." / ".." / "victim"]:
        forged = {**one, "made": True, "intact": True, "after": digest(victim.read_bytes())}
        record["files"][str(victim)] = forged
    record["directories"] += [str(tmp_path / "elsewhere"), str(repo.path / ".git" / "refs" / "tags")]
    file.write_text(json.dumps(record))
    assert git_ctx("remove-agent", "--yes").status == 0
    assert [victim.read_bytes() for victim in victims] == before
    assert (repo.path / ".git" / "refs" / "tags").is_dir()
    assert not (repo.path / "AGENTS.md").exists()


@pytest.mark.parametrize("damaged", [b"", b"{", b"[]", b'{"version": 1}', b'{"version": 1, "files": 3}'])
def test_damaged_record_counts_as_missing(repo, git_ctx, damaged):
    git_ctx("setup-agent", "--agent", "claude", "--agent", "codex", "--yes")
    for file in (repo.path / ".git" / "ctx" / "agents").rglob("record.json"):
        file.write_bytes(damaged)
    assert git_ctx("remove-agent", "--yes").status == 0
    assert tree(repo.path) == {}


@pytest.mark.parametrize("removing", [False, True])
def test_removal_works_after_an_interruption_at_any_point(tmp_path, monkeypatch, removing):
    write, remove = config_files.write, config_files.remove
    for number in range(1, 60, 4):
        root = tmp_path / f"{removing} {number}"
        root.mkdir()
        lay(root)
        before = tree(root)
        record = Record(str(tmp_path / f"state {number}"))
        if removing:
            set_up(root, record, list(catalog.AGENTS), COMPONENTS)
        left = [number]

        def count(path: str, *content: bytes, left: list[int] = left, top: str = str(root)) -> None:
            if path.startswith(top):
                left[0] -= 1
                if not left[0]:
                    raise OSError(28, "No space left on device", path)
            (write if content else remove)(path, *content)

        monkeypatch.setattr(config_files, "write", count)
        monkeypatch.setattr(config_files, "remove", count)
        with pytest.raises(CtxError, match="No space left"):
            take_out(root, record, list(catalog.AGENTS)) if removing else set_up(
                root, record, list(catalog.AGENTS), COMPONENTS
            )
        monkeypatch.undo()
        assert take_out(root, Record(record.directory), list(catalog.AGENTS)).is_whole
        assert tree(root) == before
