"""The commits at which lines of a file changed, from git's line history (`git log -L`), bounded."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Sequence
from typing import NamedTuple

from ctx.git import process
from ctx.git.formats import seconds
from ctx.git.location import Location
from ctx.git.repository import Repository
from ctx.types import Evolution, LineChange

_FORMAT = "--format=%H%x00%ct%x00%an%x00%s%x01"
# Disable settings that would print more, or walk another history.
_SETTINGS = ("-c", "log.showSignature=false", "-c", "log.follow=false", "-c", "log.mailmap=false")
_OPTIONS = ("--no-patch", "--no-color", "--no-ext-diff", "--no-textconv", "--no-decorate", "--no-notes")


_LEAST = 0.05
"""Seconds for reading a history after the time has run out, enough for one that is complete."""


class LineRange(NamedTuple):
    """Lines of a file in a commit, both ends included and counted from 1."""

    commit: bytes
    path: bytes
    first: int
    last: int


def line_histories(
    repository: Repository, ranges: Sequence[LineRange], most: int, seconds: float
) -> list[Evolution]:
    """Return the history of each range, at most `most` commits, within about `seconds` in total.

    The histories are read in parallel, since git may have to walk all of a history for each.
    """
    deadline = time.monotonic() + seconds
    running: list[subprocess.Popen[bytes]] = []
    try:
        for lines in ranges:
            running.append(_start(repository.location, lines, most))
        return [_read(git, most, deadline) for git in running]
    finally:
        for git in running:
            process.end(git)


def _read(git: subprocess.Popen[bytes], most: int, deadline: float) -> Evolution:
    try:
        output, _ = git.communicate(timeout=max(deadline - time.monotonic(), _LEAST))
    except subprocess.TimeoutExpired as error:
        output = error.output or b""
    commits = [_changed(entry) for entry in output.split(b"\1\n")[:-1]]
    complete = git.returncode == 0 and len(commits) < most
    return Evolution(commits=commits, uncommitted=False, complete=complete)


def _start(location: Location, lines: LineRange, most: int) -> subprocess.Popen[bytes]:
    option = b"-L%d,%d:%s" % (lines.first, lines.last, lines.path)
    # In the git directory: a path of -L is relative to where git runs.
    arguments: list[str | bytes] = [*_SETTINGS, "log", *_OPTIONS, _FORMAT, f"--max-count={most}"]
    arguments += [option, lines.commit.hex()]
    elsewhere = {"GIT_DIR": location.git_dir, "GIT_WORK_TREE": None, "GIT_PREFIX": None}
    return process.start(location.common_dir, arguments, location.variables | elsewhere)[0]


def _changed(entry: bytes) -> LineChange:
    commit, committed, author, subject = entry.split(b"\0", 3)
    return LineChange(
        commit=commit.decode(),
        time=seconds(committed),
        author=author.decode("utf-8", "replace"),
        subject=subject.decode("utf-8", "replace"),
    )
