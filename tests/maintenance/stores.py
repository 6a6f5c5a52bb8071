"""Stores for tests of maintenance: a project large enough for several nodes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

import forking
from repositories import Repo

import ctx

ROOT = Path(__file__).resolve().parents[2]
WEEK = 7 * 86_400
QUERIES = ("renew the session of a user", "parse_header_3", "where is the token of src checked")


class Run(NamedTuple):
    """Result of a process."""

    status: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """Return the last printed object."""
        return json.loads(self.out.splitlines()[-1])


def start(path: Path, *arguments: str) -> subprocess.Popen[str]:
    """Start the program without waiting for it."""
    return subprocess.Popen(
        [sys.executable, "-m", "ctx", *arguments],
        cwd=path,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )


def finish(process: subprocess.Popen[str]) -> Run:
    """Wait for a started program."""
    out, err = process.communicate(timeout=120)
    return Run(process.returncode, out, err)


def git_ctx(path: Path, *arguments: str) -> Run:
    """Run the program and wait for it."""
    found = forking.run_for_text(arguments, cwd=path, env={**os.environ, "PYTHONPATH": str(ROOT)})
    return Run(found.returncode, found.stdout, found.stderr)


def done(path: Path, *arguments: str) -> Any:
    """Run the program, which must succeed, and return the object that it prints."""
    run = git_ctx(path, *arguments, "--json-output")
    assert (run.status, run.err) == (0, ""), run
    return run.json


def source(folder: str, number: int) -> str:
    """Return the text of a distinct file."""
    verb = ("renew", "parse", "check", "close")[number % 4]
    noun = ("session", "header", "token", "socket")[number // 4 % 4]
    note = f"In {folder}: {verb} the {noun} of a user."
    return f'def {verb}_{noun}_{number}(user):\n    """{note}"""\n    return {number}\n'


def files(*folders: str, many: int = 20) -> dict[str | bytes, str | bytes | None]:
    """Return directories with enough files that each has a node."""
    return {f"{name}/f{i}.py": source(name, i) for name in folders for i in range(many)}


def indexed(repo: Repo) -> Repo:
    """Return a repository with an indexed `main`, and an indexed branch `other` three commits away."""
    repo.commit(files("src", "lib/deep", "docs"))
    assert git_ctx(repo.path, "index").status == 0
    repo.branch("other")
    for i in range(3):
        repo.commit({f"src/new{i}.py": source("new", i), "lib/deep/f1.py": source("changed", 40 + i)})
        assert git_ctx(repo.path, "index").status == 0
    repo.git("checkout", "--quiet", "main")
    return repo


def forget(repo: Repo, *branches: str) -> None:
    """Delete branches and their reflog entries."""
    repo.git("branch", "--quiet", "-D", *branches)
    repo.git("reflog", "expire", "--expire=now", "--expire-unreachable=now", "--all")


def store(repo: Repo) -> Path:
    """Return the directory of the index."""
    return repo.path / ".git" / "ctx"


def age(repo: Repo, seconds: float = 4 * WEEK) -> None:
    """Make every file of the index older."""
    for path in store(repo).rglob("*"):
        if path.is_file():
            then = path.stat().st_mtime - seconds
            os.utime(path, (then, then))


def named(path: Path, *areas: str) -> dict[str, bytes]:
    """Return the files of an index that are named by their content, with their bytes."""
    top = path / ".git" / "ctx"
    found = {}
    for area in areas or ("objects", "snapshots"):
        for file in (top / area).rglob("*"):
            if file.is_file() and file.parent.name != "log":
                found[str(file.relative_to(top))] = file.read_bytes()
    return found


def state(repo: Repo) -> dict[str, tuple[bytes, float]]:
    """Return all files of the index, with times."""
    return {
        str(path): (path.read_bytes(), path.stat().st_mtime)
        for path in store(repo).rglob("*")
        if path.is_file()
    }


def trees(repo: Repo) -> set[str]:
    """Return the trees that have a snapshot."""
    return {
        path.parent.name + path.name for path in store(repo).glob("snapshots/*/trees/*/*") if path.is_file()
    }


def answers(path: Path, revision: str | None = None) -> list[object]:
    """Return the answers of the program for one query, and of this process for others, which is faster."""
    named = () if revision is None else ("--revision", revision)
    run = git_ctx(path, "search", QUERIES[0], "-z", "--no-overlay", *named)
    assert (run.status, run.err) == (0, ""), run
    with ctx.open(path) as index:
        found = [index.search(query, revision=revision, overlay="committed") for query in QUERIES[1:]]
    assert all(answer.hits and answer.message is None for answer in found)
    return [run.out, *(answer.hits for answer in found)]


def fresh(repo: Repo, tmp_path: Path, *revisions: str, name: str = "fresh") -> Path:
    """Return a clone in which only these revisions were indexed."""
    subprocess.run(["git", "clone", "--quiet", str(repo.path), str(tmp_path / name)], check=True)
    for revision in revisions:
        assert git_ctx(tmp_path / name, "index", revision).status == 0
    return tmp_path / name


def now(repo: Repo) -> None:
    """Date the next commits and reflog entries today."""
    repo.clock = int(time.time())
