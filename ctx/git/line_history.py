"""The commits at which lines of a file changed, from git's line history (`git log -L`), bounded."""

from __future__ import annotations

import os
import selectors
import subprocess
import time
from collections.abc import Sequence
from typing import NamedTuple

from ctx.git import process
from ctx.git.alternates import variables_of
from ctx.git.formats import seconds
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
    try:
        running.extend(_start(repository, question, most) for question in questions)
        collected, ended = _read(running, seconds)
    except BaseException:
        for git in running:
            git.kill()
            git.communicate()
        raise
    found = []
    for git, output, done in zip(running, collected, ended, strict=True):
        if not done:
            git.kill()
        assert git.stdout is not None
        git.stdout.close()
        status = git.wait()
        commits = [_changed(entry) for entry in output.split(b"\1\n")[:-1]]
        found.append(Evolution(commits, False, done and status == 0 and len(commits) < most))
    return found


def _read(running: Sequence[subprocess.Popen[bytes]], seconds: float) -> tuple[list[bytes], list[bool]]:
    """Read the output of each process within `seconds`; the second list is True for those that ended."""
    collected: list[bytes] = [b""] * len(running)
    ended = [False] * len(running)
    until = time.monotonic() + seconds
    with selectors.DefaultSelector() as waiting:
        for number, git in enumerate(running):
            assert git.stdout is not None
            waiting.register(git.stdout, selectors.EVENT_READ, number)
        while waiting.get_map() and (left := until - time.monotonic()) > 0:
            for key, _ in waiting.select(left):
                piece = os.read(key.fd, 1 << 16)
                collected[key.data] += piece
                if not piece:
                    ended[key.data] = True
                    waiting.unregister(key.fileobj)
    return collected, ended


def _start(repository: Repository, question: Question, most: int) -> subprocess.Popen[bytes]:
    lines = b"-L%d,%d:%s" % (question.first, question.last, question.path)
    place = repository.place
    # In the git directory: a path of -L is relative to where git runs.
    arguments: list[str | bytes] = [*_SETTINGS, "log", *_OPTIONS, _FORMAT, f"--max-count={most}"]
    arguments += [lines, question.commit.hex()]
    variables = {**variables_of(place), "GIT_DIR": place.git_dir, "GIT_WORK_TREE": None, "GIT_PREFIX": None}
    try:
        return subprocess.Popen(
            process.command(place.common_dir, arguments),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=process.environment(variables),
        )
    except FileNotFoundError:
        raise process.no_git() from None


def _changed(entry: bytes) -> LineChange:
    commit, committed, author, subject = entry.split(b"\0", 3)
    return LineChange(
        bytes.fromhex(commit.decode()),
        seconds(committed),
        author.decode("utf-8", "replace"),
        subject.decode("utf-8", "replace"),
    )
