"""The log of commands and that beside a snapshot: what is in them, and that nothing of them is pushed."""

from __future__ import annotations

import os
import stat
import subprocess
from pathlib import Path

from ctx.maintenance import local_log
from ctx.storage.json_lines import LARGEST
from ctx.storage.store import decode_object

USER = "Zuleika Quill"


def logs(project) -> list[Path]:
    return sorted((project.path / ".git" / "ctx").glob("commands-*"))


def test_nothing_is_logged_by_default(git_ctx, project):
    assert git_ctx("search", "renew session", cwd=project.path).status == 0
    assert logs(project) == []
    assert "commands" not in git_ctx("status", "--log", cwd=project.path).text


def test_the_option_logs_one_run(git_ctx, project):
    project.git("config", "user.name", USER)
    secret = "renew the zanzibar session"
    git_ctx("--enable-local-logging", "search", secret, "-p", "src/secret*", cwd=project.path)
    git_ctx("--enable-local-logging", "-C", "src", "status", cwd=project.path)
    git_ctx("--enable-local-logging", "search", secret, "--revision", "nowhere", cwd=project.path)
    git_ctx("search", secret, cwd=project.path)
    (file,) = logs(project)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    for word in ("zanzibar", "secret", "nowhere", "src"):
        assert word not in file.read_text()
    found = git_ctx("status", "--log", "--json-output", cwd=project.path).json
    assert found["runs"] == []
    logged = [(one["command"], one["status"], one["user"]) for one in found["commands"]]
    assert logged == [("search", 1, USER), ("status", 0, USER), ("search", 128, USER)]
    text = git_ctx("status", "--log", cwd=project.path).text
    assert f"git ctx search: status 128, {USER} (" in text


def test_the_setting_logs_every_run(git_ctx, project):
    project.git("config", "ctx.localLogging", "true")
    git_ctx("index", cwd=project.path)
    git_ctx("index", "--bad-option", cwd=project.path)
    commands = git_ctx("status", "--log", "--json-output", cwd=project.path).json["commands"]
    assert [(one["command"], one["status"]) for one in commands] == [("index", 0)]
    assert git_ctx("fsck", cwd=project.path).status == 0
    assert git_ctx("fsck", "--json-output", cwd=project.path).json["foreign"] == []


def test_the_log_is_rotated_and_damaged_lines_are_skipped(tmp_path):
    path = Path(local_log.file_of(str(tmp_path)))
    for number in range(3 * LARGEST // 80):
        one = local_log.CommandLog()
        one.enable(str(tmp_path), USER)
        one.command = "search"
        one.write(number % 2)
    assert {file.name for file in tmp_path.iterdir()} == {path.name, f"{path.name}.old"}
    assert all(file.stat().st_size < LARGEST + 200 for file in tmp_path.iterdir())
    kept = len(local_log.read(str(tmp_path)))
    path.write_bytes(path.read_bytes() + b'{\n[]\n\xff\n{"time": 1e999}\n')
    assert len(local_log.read(str(tmp_path))) == kept
    path.unlink()
    os.mkfifo(path)
    one.write(0)  # nobody reads the pipe, and nobody waits for that
    assert local_log.read(str(tmp_path))


def test_a_log_that_cannot_be_written_is_ignored(git_ctx, project):
    git_ctx("index", cwd=project.path)
    Path(local_log.file_of(str(project.path / ".git" / "ctx"))).mkdir()
    run = git_ctx("--enable-local-logging", "search", "renew session", cwd=project.path)
    assert (run.status, run.err) == (0, "")


def test_user_and_counts_of_a_snapshot_are_local(git_ctx, project, tmp_path):
    project.git("config", "user.name", USER)
    project.git("config", "ctx.localLogging", "true")
    subprocess.run(["git", "init", "--quiet", "--bare", str(tmp_path / "remote.git")], check=True)
    project.git("remote", "add", "origin", str(tmp_path / "remote.git"))
    printed = git_ctx("index", "--json-output", cwd=project.path).json_lines[-1]
    (snapshot,) = git_ctx("status", "--json-output", cwd=project.path).json["snapshots"]
    (made,) = snapshot["provenance"]
    assert made["user"] == USER
    assert (made["files"], made["processedNewClusters"]) == (snapshot["files"], snapshot["clusters"])
    assert made["embeddedChunks"] + made["reusedChunks"] == snapshot["chunks"]
    assert made["embeddedChunks"] == printed["embeddedChunks"] > 0
    text = git_ctx("status", cwd=project.path).text
    assert (
        f"manual, by {USER}: {made['embeddedChunks']} chunks embedded, {made['reusedChunks']} reused" in text
    )
    # The tests make commits as somebody else, so the name is nowhere in what git itself writes.
    assert git_ctx("push", "--with-words", cwd=project.path).status == 0
    hashed = 0
    for file in (project.path / ".git" / "ctx").rglob("*"):
        if file.is_file() and file.read_bytes().startswith(b"CTXO"):
            hashed += 1
            assert USER.encode() not in decode_object(file.parent.name + file.name, file.read_bytes())
    assert hashed >= 3
    remote = tmp_path / "remote.git"
    listed = subprocess.run(
        ["git", "cat-file", "--batch-all-objects", "--batch", "--buffer"],
        cwd=remote,
        capture_output=True,
        check=True,
    ).stdout
    assert b"CTXO" in listed
    assert USER.encode() not in listed
    names = subprocess.run(
        ["git", "ls-tree", "-r", "--name-only", "refs/notes/ctx"], cwd=remote, capture_output=True, check=True
    ).stdout.decode()
    for name in names.splitlines():
        content = subprocess.run(
            ["git", "show", f"refs/notes/ctx:{name}"], cwd=remote, capture_output=True, check=True
        ).stdout
        if content.startswith(b"CTXO"):
            content = decode_object("".join(name.split("/")[-2:]), content)
        assert USER.encode() not in content, name
