"""A script that replaces the program and records how it was started, and hooks that start it."""

from __future__ import annotations

import os
import select
import shlex
import subprocess
from pathlib import Path
from typing import Any

from repositories import Repo
from waiting import BOUND

from ctx.maintenance.hooks import shims

RECORDER = """#!/bin/sh
open=$(
	for name in 0 1 2 3 4 5 6 7 8 9; do
		[ ! -e /proc/$$/fd/$name ] || printf 'open %s %s\\n' $name "$(readlink /proc/$$/fd/$name)"
	done
)
{{
	printf '%s\\n' "$open"
	printf 'arguments %s\\n' "$*"
	printf 'directory %s\\n' "$(pwd)"
	printf 'head %s\\n' "$(git rev-parse HEAD)"
	printf 'setting %s\\n' "$(git config my.setting)"
}} >{directory}/part-$$ 2>&1
mv {directory}/part-$$ {directory}/call-$$
"""


class Calls:
    """The calls of the script that replaces the program."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        directory.mkdir()
        self.program = directory / "git-ctx"
        self.program.write_text(RECORDER.format(directory=shlex.quote(str(directory))))
        self.program.chmod(0o755)

    def during(self, repo: Repo, command: list[str], **options: Any) -> list[dict[str, list[str]]]:
        """Run a command in a repository, wait for everything that it started, and return the record."""
        readable, writable = os.pipe()
        # Whatever the command starts holds this descriptor: the shim closes only what is below 10.
        os.dup2(writable, 60, inheritable=True)
        os.close(writable)
        try:
            env = {**os.environ, **options.pop("env", {})}
            cwd = options.pop("cwd", repo.path)
            done = subprocess.run(command, cwd=cwd, env=env, capture_output=True, pass_fds=(60,), **options)
        finally:
            os.close(60)
        assert done.returncode == 0, done.stderr.decode()
        assert select.select([readable], [], [], BOUND)[0], "a background process did not end"
        os.close(readable)
        return self.take()

    def git(self, repo: Repo, *arguments: str, **options: Any) -> list[dict[str, list[str]]]:
        """Run git; return the calls that it started."""
        return self.during(repo, ["git", *arguments], **options)

    def take(self) -> list[dict[str, list[str]]]:
        """Return the calls since the last time; each maps a word to the lines that start with it."""
        calls = []
        for path in sorted(self.directory.glob("call-*"), key=lambda path: path.stat().st_mtime_ns):
            call: dict[str, list[str]] = {}
            for line in path.read_text().splitlines():
                word, _, rest = line.partition(" ")
                call.setdefault(word, []).append(rest)
            calls.append(call)
            path.unlink()
        return calls


def put_shims(repo: Repo, program: Path) -> None:
    """Install the shims as files, with any version of git."""
    repo.git("config", "ctx.program", str(program))
    hooks = Path(os.fsdecode(repo.git("rev-parse", "--git-path", "hooks")))
    for event in shims.EVENTS:
        path = repo.path / hooks / event
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(shims.shim(event))
        path.chmod(0o755)


def put_settings(repo: Repo, program: Path) -> None:
    """Install the hooks as settings."""
    repo.git("config", "ctx.program", str(program))
    repo.git("config", "hook.ctx.command", shims.block())
    for event in shims.EVENTS:
        repo.git("config", "--add", "hook.ctx.event", event)
