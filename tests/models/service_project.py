"""The program run in a project that is configured to use a service, and files for it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import forking
from repositories import Repo
from service import DIMENSIONS, Service

WORDS = ("apple", "bridge", "candle", "drawer")
ROOT = Path(__file__).resolve().parents[2]


class Run(NamedTuple):
    """Result of a process."""

    status: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """Return the object that was printed last."""
        return json.loads(self.out.splitlines()[-1])


def _heeds_interrupts() -> None:
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def started(path: Path, *arguments: str) -> subprocess.Popen[bytes]:
    """Start the program without waiting; its stderr can be read.

    It is started as by a terminal: a shell has SIGINT ignored in what it runs in the background.
    """
    return subprocess.Popen(
        [sys.executable, "-m", "ctx", *arguments],
        cwd=path,
        env={**os.environ, "PYTHONPATH": str(ROOT), "NO_PROXY": "127.0.0.1"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        preexec_fn=_heeds_interrupts,
    )


def git_ctx(path: Path, *arguments: str, stdin: str = "", **variables: str) -> Run:
    """Run the program to its end."""
    env = {**os.environ, "PYTHONPATH": str(ROOT), "NO_PROXY": "127.0.0.1", **variables}
    done = forking.run_for_text(arguments, cwd=path, env=env, stdin=stdin)
    return Run(done.returncode, done.stdout, done.stderr)


def source(name: str, many: int) -> str:
    """Return a file of `count` functions, each a separate chunk."""
    body = "\n".join(f"    total += value * {line}  # step {line} of the sum" for line in range(24))
    return "\n\n".join(
        f'def {name}_{word}(value):\n    """Compute the {name} of a {word}."""\n    total = 0\n{body}\n'
        "    return total"
        for word in WORDS[:many]
    )


def configure(repo: Repo, service: Service, **settings: str) -> None:
    """Point the project at a service."""
    values = {"url": service.url, "model": "bag-of-words", "dimensions": str(DIMENSIONS), **settings}
    for name, value in values.items():
        repo.git("config", f"ctx.embedder.{name}", value)
