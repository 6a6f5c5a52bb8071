"""Commit messages and changed lines of many commits at once, from `git diff-tree`.

Lines are counted from the hunk headers, so that no text of a file or a message is mistaken for a header. The
amount read per commit is bounded. Nothing is fetched.
"""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from typing import IO, NamedTuple

from ctx.git import process
from ctx.git.formats import seconds
from ctx.git.quoting import unquoted
from ctx.git.repository import Repository

MOST_FILES = 50
"""Files of one commit whose lines are read."""
MOST_PATHS = 500
"""Paths of one commit that are recorded."""
MOST_LINES = 4000
"""Changed lines of one commit that are read."""
_LONGEST_LINE = 400
_PIECE = 1 << 16
"""Bytes read at once of a line that may be longer."""
_LONGEST_MESSAGE = 16 << 10

_COMMAND = (
    "-c", "core.quotePath=false", "-c", "core.bigFileThreshold=1m", "-c", "log.showSignature=false",
    "diff-tree", "--stdin", "--root", "-r", "--raw", "--no-abbrev", "-p", "-U0", "--inter-hunk-context=0",
    "-M", "-l400", "--always", "--no-ext-diff", "--no-textconv",
    "--no-color", "--ignore-submodules=all", "--src-prefix=a/", "--dst-prefix=b/", "--encoding=UTF-8",
    "--diff-algorithm=myers", "--no-indent-heuristic",
    "--format=%x00%H%x00%ct%x00%B%x00",
)  # fmt: skip
_SIDES = (b"--- a/", b'--- "a/', b"+++ b/", b'+++ "b/')
_HUNK = re.compile(rb"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")


class TextHunk(NamedTuple):
    """One hunk: the removed and the added lines, each with its first line number in its file."""

    path: int
    old_start: int
    removed: list[bytes]
    new_start: int
    added: list[bytes]


class CommitChange(NamedTuple):
    """A commit as read: `message` UTF-8, changed `paths`, `hunks` with an index into the paths.

    `is_truncated` is True if not all of it was read.
    """

    oid: bytes
    committed: int
    message: bytes
    paths: list[bytes]
    hunks: list[TextHunk]
    is_truncated: bool


def read_changes(
    repository: Repository, commits: Sequence[bytes], messages: Collection[bytes] = ()
) -> Iterator[CommitChange]:
    """Yield commits in the order given; for those in `messages` only the message is read.

    Ends early at a commit that git cannot compare, because objects are missing or damaged.
    """
    # Comparing a commit with itself prints only its message.
    lines = b"".join(
        (f"{oid.hex()} {oid.hex()}\n" if oid in messages else f"{oid.hex()}\n").encode() for oid in commits
    )
    location = repository.location
    running, stdout = process.start(location.directory, _COMMAND, location.variables, stdin=True)
    assert running.stdin is not None
    feeder = threading.Thread(target=_feed, args=(running.stdin, lines), daemon=True)
    feeder.start()
    try:
        with suppress(EOFError):
            yield from _commits(stdout)
    finally:
        running.kill()
        feeder.join()
        process.end(running)


def _feed(stdin: IO[bytes], lines: bytes) -> None:
    with suppress(OSError), stdin:  # OSError: git has ended
        stdin.write(lines)


def _commits(stream: IO[bytes]) -> Iterator[CommitChange]:
    """Yield the commits that git prints. Raises EOFError if git ends within one."""
    line = stream.readline(_PIECE)
    while line:
        if not line.startswith(b"\0"):
            line = stream.readline(_PIECE)
            continue
        while line.count(b"\0") < 4:
            line += _required(stream, _PIECE)
        _, oid, committed, message = line.split(b"\0")[:4]
        paths: dict[bytes, int] = {}
        hunks: list[TextHunk] = []
        is_truncated, line = _read_patch(stream, paths, hunks)
        yield CommitChange(
            bytes.fromhex(oid.decode()),
            seconds(committed),
            message[:_LONGEST_MESSAGE],
            list(paths),
            hunks,
            is_truncated,
        )


def _read_patch(stream: IO[bytes], paths: dict[bytes, int], hunks: list[TextHunk]) -> tuple[bool, bytes]:
    """Add the paths and hunks of a commit; return True if not all were added, and the next line."""
    path, files, lines, is_truncated = b"", 0, 0, False
    line = stream.readline(_PIECE)
    while line and not line.startswith(b"\0"):
        if line.startswith(b":"):
            name = _path(line.rstrip(b"\n").split(b"\t")[-1])
            if len(paths) < MOST_PATHS:
                paths.setdefault(name, len(paths))
            else:
                is_truncated = True
        elif line.startswith(b"diff --git "):
            files += 1
            path = b""
        elif line.startswith(_SIDES):
            path = _path(line[4:].rstrip(b"\n").rstrip(b"\t"))[2:]
        elif found := _HUNK.match(line):
            _finish(stream, line)
            old_start, old_count, new_start, new_count = (int(number or 1) for number in found.groups())
            keep = files <= MOST_FILES and lines < MOST_LINES and path in paths
            most = MOST_LINES - lines if keep else 0
            removed, added = _read_lines(stream, old_count, most), _read_lines(stream, new_count, most)
            if keep:
                lines += old_count + new_count
                hunks.append(TextHunk(paths[path], old_start, removed, new_start, added))
            is_truncated = is_truncated or not keep or lines > MOST_LINES
        line = stream.readline(_PIECE)
    return is_truncated, line


def _read_lines(stream: IO[bytes], count: int, most: int) -> list[bytes]:
    """Return the first `most` of `count` lines."""
    kept: list[bytes] = []
    while count:
        line = _required(stream, _LONGEST_LINE)
        _finish(stream, line)
        if line.startswith(b"\\"):  # "\ No newline at end of file" between the two sides
            continue
        count -= 1
        if len(kept) < most:
            kept.append(line[1:].removesuffix(b"\n") + b"\n")
    return kept


def _required(stream: IO[bytes], most: int) -> bytes:
    line = stream.readline(most)
    if not line:
        raise EOFError
    return line


def _finish(stream: IO[bytes], line: bytes) -> None:
    """Read a long line to its end."""
    while line and not line.endswith(b"\n"):
        line = stream.readline(_PIECE)


def _path(name: bytes) -> bytes:
    found = unquoted(name)
    return found[0] if found else name


class Range(NamedTuple):
    """The commits of a history, oldest first in topological order.

    `merges` have several parents; `shallow` are those at which the history is cut off.
    """

    commits: list[bytes]
    merges: frozenset[bytes]
    shallow: frozenset[bytes]


def history_of(repository: Repository, tip: bytes) -> Range:
    """Return all commits reachable from a commit. Raises GitFailed."""
    listing = repository.git("rev-list", "--topo-order", "--reverse", "--parents", tip.hex(), "--")
    commits: list[bytes] = []
    merges: list[bytes] = []
    for line in listing.splitlines():
        words = line.split()
        commits.append(bytes.fromhex(words[0].decode()))
        if len(words) > 2:
            merges.append(commits[-1])
    return Range(commits, frozenset(merges), _shallow(repository) & frozenset(commits))


def matching(
    repository: Repository, tip: bytes, since: str | None, until: str | None, authors: Sequence[str]
) -> set[bytes]:
    """Return the reachable commits that match git's date and author filters. Raises GitFailed."""
    options = [f"--since={since}"] if since is not None else []
    options += [f"--until={until}"] if until is not None else []
    options += [f"--author={author}" for author in authors]
    listing = repository.git("rev-list", *options, tip.hex(), "--")
    return {bytes.fromhex(line.decode()) for line in listing.split()}


def edges(repository: Repository) -> bytes:
    """Return what else determines the reachable commits: shallow boundaries and grafts.

    See gitrepository-layout(5), `shallow` and `info/grafts`.
    """
    grafts = repository.location.variable("GIT_GRAFT_FILE")
    names = ("shallow", grafts or os.path.join("info", "grafts"))
    return b"\0".join(_content(os.path.join(repository.common_dir, name)) for name in names)


def _shallow(repository: Repository) -> frozenset[bytes]:
    """Return the commits whose parents are not here, gitrepository-layout(5)."""
    try:
        lines = _content(os.path.join(repository.common_dir, "shallow")).split()
        return frozenset(bytes.fromhex(line.decode()) for line in lines)
    except ValueError:
        return frozenset()


def _content(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return b""
