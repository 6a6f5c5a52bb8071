"""The commits at which lines of a file changed, from git's line history (`git log -L`), bounded."""

from __future__ import annotations

import os
import selectors
import subprocess
import time
from collections.abc import Sequence
from typing import IO, NamedTuple

from ctx.git import process
from ctx.git.formats import seconds
from ctx.git.location import Location
from ctx.git.repository import Repository
from ctx.types import Evolution, LineChange

_FORMAT = "--format=%H%x00%ct%x00%an%x00%s%x01"
# Disable settings that would print more, or walk another history.
_SETTINGS = ("-c", "log.showSignature=false", "-c", "log.follow=false", "-c", "log.mailmap=false")
_OPTIONS = ("--no-patch", "--no-color", "--no-ext-diff", "--no-textconv", "--no-decorate", "--no-notes")


class Question(NamedTuple):
    """Lines of a file in a commit, both ends included and counted from 1."""

    commit: bytes
    path: bytes
    first: int
    last: int


def line_histories(
    repository: Repository, questions: Sequence[Question], most: int, seconds: float
) -> list[Evolution]:
    """Return the history of each question, at most `most` commits, within about `seconds` in total.

    The histories are read in parallel, since git may have to walk all of a history for each.
    """
    running: list[subprocess.Popen[bytes]] = []
    outputs: list[IO[bytes]] = []
    try:
        for question in questions:
            git, stdout = _start(repository.location, question, most)
            running.append(git)
            outputs.append(stdout)
        collected, ended = _read(outputs, seconds)
        statuses = [git.wait() if done else None for git, done in zip(running, ended, strict=True)]
    finally:
        for git in running:
            process.end(git)
    found = []
    for output, status in zip(collected, statuses, strict=True):
        commits = [_changed(entry) for entry in output.split(b"\1\n")[:-1]]
        found.append(
            Evolution(commits=commits, uncommitted=False, complete=status == 0 and len(commits) < most)
        )
    return found


def _read(outputs: Sequence[IO[bytes]], seconds: float) -> tuple[list[bytes], list[bool]]:
    """Read each output within `seconds`; the second list is True for those that ended."""
    collected = [b""] * len(outputs)
    ended = [False] * len(outputs)
    until = time.monotonic() + seconds
    with selectors.DefaultSelector() as waiting:
        for number, output in enumerate(outputs):
            waiting.register(output, selectors.EVENT_READ, number)
        while waiting.get_map() and (left := until - time.monotonic()) > 0:
            for key, _ in waiting.select(left):
                piece = os.read(key.fd, 1 << 16)
                collected[key.data] += piece
                if not piece:
                    ended[key.data] = True
                    waiting.unregister(key.fileobj)
    return collected, ended


def _start(location: Location, question: Question, most: int) -> tuple[subprocess.Popen[bytes], IO[bytes]]:
    lines = b"-L%d,%d:%s" % (question.first, question.last, question.path)
    # In the git directory: a path of -L is relative to where git runs.
    arguments: list[str | bytes] = [*_SETTINGS, "log", *_OPTIONS, _FORMAT, f"--max-count={most}"]
    arguments += [lines, question.commit.hex()]
    elsewhere = {"GIT_DIR": location.git_dir, "GIT_WORK_TREE": None, "GIT_PREFIX": None}
    return process.start(location.common_dir, arguments, location.variables | elsewhere)


def _changed(entry: bytes) -> LineChange:
    commit, committed, author, subject = entry.split(b"\0", 3)
    return LineChange(
        commit=commit.decode(),
        time=seconds(committed),
        author=author.decode("utf-8", "replace"),
        subject=subject.decode("utf-8", "replace"),
    )
