"""Waiting for background processes, with a time limit."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from repositories import Repo

from ctx.maintenance.background import log, run_lock

ROOT = Path(__file__).resolve().parents[3]
SCRIPT = Path(sys.executable).with_name("git-ctx")
BOUND = 60.0
"""Seconds after which a background process is given up."""


def store_of(repo: Repo) -> Path:
    """Return the directory of the index."""
    common = os.fsdecode(repo.git("rev-parse", "--git-common-dir"))
    return (repo.path / common / "ctx").resolve()


def wait_for(condition: Callable[[], Any], what: str) -> Any:
    """Wait for a condition and return its first true value."""
    end = time.monotonic() + BOUND
    while not (value := condition()):
        assert time.monotonic() < end, f"{what} did not come about"
        time.sleep(0.02)
    return value


def settled(repo: Repo, runs: int = 1) -> list[log.Run]:
    """Wait until the log has `runs` lines and no run is going on; return the log."""
    store = store_of(repo)

    def quiet() -> bool:
        return (
            len(log.read(str(store))) >= runs
            and not (store / "events").exists()
            and run_lock.current_run(str(store)) == (None, False)
        )

    wait_for(quiet, f"a log of {runs} runs and silence")
    return log.read(str(store))
