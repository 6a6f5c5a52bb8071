"""Ways of asking git-ctx: through its library and through its program, with answers that can be compared."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import forking
from projects import FILTERS, QUERIES

import ctx
from ctx.storage.store import decode_object
from ctx.types import Answer

ROOT = Path(__file__).resolve().parents[1]


class Run(NamedTuple):
    """Output and exit status of a process."""

    status: int
    out: bytes
    err: str


def environment(more: dict[str, str] | None = None) -> dict[str, str]:
    """The variables of a user who runs this checkout."""
    return {**os.environ, "PYTHONPATH": str(ROOT), **(more or {})}


def start(
    *arguments: str, cwd: Path, env: dict[str, str] | None = None, **more: Any
) -> subprocess.Popen[bytes]:
    """Start the program and do not wait."""
    return subprocess.Popen(
        [sys.executable, "-m", "ctx", *arguments],
        cwd=cwd,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(env),
        **more,
    )


def finish(process: subprocess.Popen[bytes]) -> Run:
    """Wait for a program that was started."""
    out, err = process.communicate(timeout=120)
    return Run(process.returncode, out, err.decode("utf-8", "replace"))


def program(*arguments: str, cwd: Path, env: dict[str, str] | None = None, **more: Any) -> Run:
    """Run the program to its end."""
    if more:
        return finish(start(*arguments, cwd=cwd, env=env, **more))
    found = forking.run(arguments, cwd=cwd, env=environment(env))
    return Run(found.returncode, found.stdout, found.stderr.decode("utf-8", "replace"))


def plain(answer: Answer) -> tuple[Any, ...]:
    """Return the hits of an answer with the tree that was searched, without durations."""
    return (
        answer.revision,
        answer.commit,
        answer.tree,
        answer.resolved_by,
        answer.coverage,
        answer.uncommitted,
        tuple(answer.hits),
    )


def ask(
    path: Path,
    queries: Iterable[str] = QUERIES,
    filters: Iterable[Sequence[str]] = FILTERS,
    revision: str | None = None,
) -> dict[tuple[str, tuple[str, ...]], tuple[Any, ...]]:
    """The answers to many questions, from an index that is opened for them."""
    filters = list(filters)
    with ctx.open(path) as index:
        return {
            (query, tuple(paths)): plain(index.search(query, limit=20, paths=paths, revision=revision))
            for query in queries
            for paths in filters
        }


def store(path: Path) -> Path:
    """Where the index of a repository lies."""
    with ctx.open(path) as index:
        return Path(index.session.store.path)


def payloads(path: Path, area: str = "objects") -> dict[str, bytes]:
    """Return the decompressed objects in an area of the store of a repository, by name."""
    top = store(path) / area
    return {
        str(file.relative_to(top)): decode_object(file.parent.name + file.name, file.read_bytes())
        for file in sorted(top.rglob("*"))
        if file.is_file()
    }
