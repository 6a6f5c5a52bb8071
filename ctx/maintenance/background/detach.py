"""Leaving the process that was started behind: no terminal, no open file, no variable of its git."""

from __future__ import annotations

import os
import signal

NICENESS = 10
"""Added to the priority. Linux derives that of disk access from it (its Documentation/block/ioprio.rst)."""

_OF_ONE_REPOSITORY = (
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_COMMON_DIR",
    "GIT_CONFIG",
    "GIT_GRAFT_FILE",
    "GIT_IMPLICIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_INTERNAL_SUPER_PREFIX",
    "GIT_NO_REPLACE_OBJECTS",
    "GIT_OBJECT_DIRECTORY",
    "GIT_PREFIX",
    "GIT_QUARANTINE_PATH",
    "GIT_REPLACE_REF_BASE",
    "GIT_SHALLOW_FILE",
)
"""What `git rev-parse --local-env-vars` names, but for where the repository is and the user's `-c`."""


def detach() -> None:
    """Go on in a child that nobody waits for; the caller's process ends here with status 0."""
    if os.fork():
        os._exit(0)
    os.setsid()
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    null = os.open(os.devnull, os.O_RDWR)
    for stream in range(3):
        os.dup2(null, stream)
    for name in os.listdir("/dev/fd"):
        if int(name) > 2:
            try:
                os.close(int(name))
            except OSError:
                pass  # the one that the listing itself was read through
    os.nice(NICENESS)


def forget_surroundings() -> None:
    """Drop the variables that a hook gets for its own git (githooks(5)), such as GIT_INDEX_FILE."""
    for name in _OF_ONE_REPOSITORY:
        os.environ.pop(name, None)


def settle(common_dir: str) -> None:
    """Make `common_dir` the repository for every git from now on, wherever a work tree goes meanwhile."""
    os.environ.pop("GIT_WORK_TREE", None)
    os.environ["GIT_DIR"] = common_dir
    os.chdir(common_dir)
