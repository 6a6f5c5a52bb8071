"""Detachment from the calling process: no terminal, no open files, no variables of its git."""

from __future__ import annotations

import os
import signal
from contextlib import suppress

from ctx.git import process

NICENESS = 10
"""Nice increment. Linux derives the I/O priority from it (Documentation/block/ioprio.rst)."""


def detach() -> None:
    """Continue in a detached child; the calling process exits with status 0."""
    if os.fork():
        os._exit(0)
    os.setsid()
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    null = os.open(os.devnull, os.O_RDWR)
    for stream in range(3):
        os.dup2(null, stream)
    for name in os.listdir("/dev/fd"):
        if int(name) > 2:
            with suppress(OSError):  # the descriptor of the listing itself
                os.close(int(name))
    os.nice(NICENESS)


def clear_git_variables() -> None:
    """Remove the variables that git sets for hooks (githooks(5)), except the location of the repository."""
    for name in process.OF_ONE_REPOSITORY:
        if name not in ("GIT_DIR", "GIT_WORK_TREE"):
            os.environ.pop(name, None)


def use_repository(common_dir: str) -> None:
    """Set `common_dir` as the repository of all later git commands, even if a work tree moves."""
    os.environ.pop("GIT_WORK_TREE", None)
    os.environ["GIT_DIR"] = common_dir
    os.chdir(common_dir)
