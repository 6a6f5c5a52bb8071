"""A project on a remote, its clones, and the program run in them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import forking
from repositories import Repo

ROOT = Path(__file__).resolve().parents[2]
REF = "refs/notes/ctx"
QUERIES = ("renew the session of a user", "parse_header_3", "which token of lib is checked")


class Run(NamedTuple):
    """Result of a process."""

    status: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """Return the object that was printed last."""
        return json.loads(self.out.splitlines()[-1])


def start(
    path: Path, *arguments: str, start_new_session: bool = False, **variables: str
) -> subprocess.Popen[str]:
    """Start the program and do not wait."""
    return subprocess.Popen(
        [sys.executable, "-m", "ctx", *arguments],
        cwd=path,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=start_new_session,
        env={**os.environ, "PYTHONPATH": str(ROOT), **variables},
    )


def finish(process: subprocess.Popen[str]) -> Run:
    """Wait for the end of a program that was started."""
    out, err = process.communicate(timeout=240)
    return Run(process.returncode, out, err)


def git_ctx(path: Path, *arguments: str, **variables: str) -> Run:
    """Run the program to its end."""
    env = {**os.environ, "PYTHONPATH": str(ROOT), **variables}
    found = forking.run_for_text(arguments, cwd=path, env=env)
    return Run(found.returncode, found.stdout, found.stderr)


def done(path: Path, *arguments: str, **variables: str) -> Any:
    """Return the object that the program prints; it must succeed."""
    run = git_ctx(path, *arguments, "--json-output", **variables)
    assert run.status == 0, run
    return run.json


def source(folder: str, number: int) -> str:
    """Return a distinct file."""
    verb = ("renew", "parse", "check", "close")[number % 4]
    noun = ("session", "header", "token", "socket")[number // 4 % 4]
    note = f"In {folder}: {verb} the {noun} of a user."
    return f'def {verb}_{noun}_{number}(user):\n    """{note}"""\n    return {number}\n'


def files(*folders: str, many: int = 20) -> dict[str | bytes, str | bytes | None]:
    """Directories with enough files to have nodes."""
    return {f"{name}/f{i}.py": source(name, i) for name in folders for i in range(many)}


def git(path: Path, *arguments: str) -> str:
    """Return the output of git in a directory."""
    found = subprocess.run(["git", *arguments], cwd=path, capture_output=True, check=True)
    return found.stdout.decode().strip()


def clone(remote: Path | str, place: Path, *options: str) -> Repo:
    """A clone of a remote."""
    subprocess.run(["git", "clone", "--quiet", *options, str(remote), str(place)], check=True)
    return Repo(place)


def answers(path: Path, *arguments: str) -> list[Any]:
    """Return the JSON results with their scores."""
    found = []
    for query in QUERIES:
        lines = done(path, "search", query, *arguments)
        found.append(lines)
    return found


def published(remote: Path) -> dict[str, str]:
    """The files under the ref on a remote: paths and ids."""
    if not git(remote, "for-each-ref", REF):
        return {}
    lines = git(remote, "ls-tree", "-r", REF).splitlines()
    return {line.split("\t")[1]: line.split("\t")[0].split()[2] for line in lines}


def snapshots(remote: Path) -> set[str]:
    """The trees whose snapshots are on a remote."""
    parts = [path.split("/") for path in published(remote)]
    return {part[3] + part[4] for part in parts if part[0] == "snapshots" and part[2] == "trees"}


def tree(repo: Repo, revision: str = "HEAD") -> str:
    """The tree of a revision."""
    return repo.git("rev-parse", f"{revision}^{{tree}}").decode()


def replace(remote: Path, path: str, content: bytes) -> None:
    """Replace bytes under the ref, as anybody with permission to push could."""
    scratch = {**os.environ, "GIT_INDEX_FILE": str(remote / "scratch-index")}

    def plumbing(*arguments: str, stdin: bytes = b"") -> str:
        found = subprocess.run(
            ["git", *arguments], cwd=remote, input=stdin, capture_output=True, check=True, env=scratch
        )
        return found.stdout.decode().strip()

    oid = plumbing("hash-object", "-w", "--stdin", stdin=content)
    plumbing("read-tree", REF)
    plumbing("update-index", "--add", "--cacheinfo", f"100644,{oid},{path}")
    commit = plumbing("commit-tree", plumbing("write-tree"), "-p", REF, "-m", "somebody else")
    plumbing("update-ref", REF, commit)
    (remote / "scratch-index").unlink()
