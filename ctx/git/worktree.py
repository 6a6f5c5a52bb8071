"""The files of a work tree, the index, or one side of a conflict, as a tree.

It is the tree of `git add -A` and `git write-tree`.

git itself makes that tree, so that ignore rules, clean filters, sparse checkouts and merges have their usual
meaning: in a copy of the index, with a scratch object directory that is removed afterwards. Large files and
untracked ones beyond MOST_UNTRACKED are left out, and all untracked ones if `status.showUntrackedFiles` hides
them. The repository is only read, none of its locks is taken, and files that are unchanged by git's stat
cache are not hashed.
"""

from __future__ import annotations

import errno
import os
import re
import shutil
import stat
import tempfile
import time
import weakref
from collections.abc import Sequence
from hashlib import blake2b
from typing import NamedTuple

from ctx.errors import GitFailed
from ctx.git import process, stages
from ctx.git.location import ALTERNATES, with_alternate
from ctx.git.repository import Repository

MOST_UNTRACKED = 5_000
"""Largest number of untracked files included: more suggest a directory that should be ignored."""
_GRAIN_NS = 2_500_000_000
"""Age up to which a file may be rewritten with the same times, in file systems with coarse timestamps."""


class _Changes(NamedTuple):
    """Paths from `git status`.

    Paths to update, to remove, and the number that differ from HEAD (None: not known yet). `entries` is input
    for `git update-index --index-info`. Equal `stamp`s mean the same state; None equals none.
    """

    update: list[bytes]
    remove: list[bytes]
    changed: int | None
    left_out: int
    entries: Sequence[bytes] = ()
    stamp: bytes | None = None


_NO_ROOM = (
    "the uncommitted files cannot be read, because there is no scratch space ({}): "
    "set TMPDIR to a directory with room, or search the commit with --revision HEAD"
)
_ABOUT_INDEX = re.compile(r"index file|bad signature|bad index|index uses|index entr|malformed index")
_BROKEN = (
    "git's index is damaged ({0}): remove {1} and run `git reset`, which keeps all files as they are, "
    "or search what is committed with --no-overlay"
)


class _NoRoomError(GitFailed):
    """The scratch directory has no room for the tree."""


class WorkTree:
    """A tree that is not committed. `repository` reads its objects, which are removed when it is closed."""

    def __init__(
        self, repository: Repository, root: str, changes: _Changes, variables: dict[str, str | None]
    ) -> None:
        """Write the tree; see `open_work_tree`."""
        self._remove: weakref.finalize[..., WorkTree] | None = None
        self.changed, self.left_out = changes.changed or 0, changes.left_out
        self.stamp = changes.stamp
        self.repository = self._committed = repository
        self.tree: bytes | None = None
        if changes.changed == 0:
            return
        try:
            self._write(root, changes, variables, _in_memory())
        except _NoRoomError:  # memory file systems are often small
            self._write(root, changes, variables, None)

    def _write(
        self, root: str, changes: _Changes, variables: dict[str, str | None], parent: str | None
    ) -> None:
        try:
            self._write_tree(root, changes, variables, parent)
        except BaseException as error:
            self.close()
            if reason := _lack_of_room(error):
                raise _NoRoomError(_NO_ROOM.format(reason)) from error
            raise

    def _write_tree(
        self, root: str, changes: _Changes, variables: dict[str, str | None], parent: str | None
    ) -> None:
        repository = self.repository
        scratch = tempfile.mkdtemp(prefix="git-ctx-", dir=parent)
        # Also runs if this process ends without closing; only a kill leaves files behind.
        self._remove = weakref.finalize(self, shutil.rmtree, scratch, ignore_errors=True)
        objects = os.path.join(scratch, "objects")
        os.mkdir(objects)
        if os.path.exists(_index_file(repository)):
            _copy_with_time(_index_file(repository), os.path.join(scratch, "index"))
        listed = repository.location.variable(ALTERNATES)
        variables = variables | {
            "GIT_INDEX_FILE": os.path.join(scratch, "index"),
            "GIT_OBJECT_DIRECTORY": objects,
            ALTERNATES: with_alternate(listed, repository.location.objects),
        }
        # git would write a split index beside the real one.
        update = ["-c", "core.splitIndex=false", "update-index", "-z"]
        for options, lines in (
            (["--force-remove", "--stdin"], changes.remove),
            (["--add", "--remove", "--replace", "--stdin"], changes.update),
            (["--replace", "--index-info"], changes.entries),
        ):
            if lines:
                process.output(root, [*update, *options], b"\0".join(lines) + b"\0", variables)
        if changes.changed is None:
            self.changed = _differing(repository, root, variables)
        written = process.output(root, ["write-tree", "--missing-ok"], None, variables)
        self.tree = bytes.fromhex(written.decode().strip())
        self.repository = Repository(repository.location._replace(scratch=objects))

    def close(self) -> None:
        """Remove the scratch objects."""
        if self.repository is not self._committed:
            self.repository.close()
        if self._remove is not None:
            self._remove()


def open_work_tree(
    repository: Repository,
    largest: int,
    *,
    staged: bool = False,
    side: str | None = None,
    earlier: WorkTree | None = None,
) -> WorkTree:
    """Return the state on disk, or what is `staged`, or the `side` of a conflict (`stages.STAGES`).

    Files on disk of more than `largest` bytes are left out. `earlier` is returned if nothing has changed
    since. Raises GitFailed if git refuses, and CtxError for what is staged in a conflict, or a side without
    one.
    """
    root = repository.work_tree
    assert root is not None, "a bare repository has no work tree"
    # Absolute paths: relative ones set by the user would be resolved from another directory here.
    variables = {**repository.location.variables, "GIT_DIR": repository.git_dir, "GIT_WORK_TREE": root}
    try:
        if side is not None:
            changes = _Changes([], [], None, 0, stages.one_side(stages.unmerged(root, variables), side))
        elif staged:
            stages.refuse(stages.unmerged(root, variables))
            changes = _Changes([], [], _differing(repository, root, variables), 0)
        else:
            changes = _changes(repository, root, largest, variables)
    except GitFailed as error:
        if not _ABOUT_INDEX.search(str(error)):
            raise
        raise GitFailed(_BROKEN.format(error, _index_file(repository))) from error
    if earlier is not None and changes.stamp is not None and changes.stamp == earlier.stamp:
        return earlier
    return WorkTree(repository, root, changes, variables)


def has_work_tree(repository: Repository) -> bool:
    """Return True if files of a work tree are tracked, or could be: without a commit there is no index."""
    if repository.work_tree is None:
        return False
    return os.path.isfile(_index_file(repository)) or repository.checked_out() is None


def shows_untracked(repository: Repository) -> bool:
    """Return False if git hides untracked files, as in a home directory that is a work tree."""
    mode = repository.settings.get("status.showUntrackedFiles")
    return mode is None or mode.lower() not in ("no", "false", "off", "0", "")


def _lack_of_room(error: BaseException) -> str | None:
    """Return the system's message if a scratch file could not be written, else None."""
    if isinstance(error, OSError):
        return error.strerror
    full = (
        [os.strerror(code) for code in (errno.ENOSPC, errno.EDQUOT)] if isinstance(error, GitFailed) else []
    )
    return next((message for message in full if message in str(error)), None)


def _in_memory() -> str | None:
    """Return a directory in memory for scratch files, where removal is fast; None if unavailable."""
    if "TMPDIR" not in os.environ:
        for place in (os.environ.get("XDG_RUNTIME_DIR"), "/dev/shm"):
            if place and os.path.isdir(place) and os.access(place, os.W_OK | os.X_OK):
                return place
    return None


def _index_file(repository: Repository) -> str:
    """Return the path of the index; git reads a relative GIT_INDEX_FILE from the top of the work tree."""
    named = repository.location.variable("GIT_INDEX_FILE")
    if named:
        return os.path.join(repository.work_tree or "", named)
    return os.path.join(repository.git_dir, "index")


def _copy_with_time(source: str, target: str) -> None:
    """Copy an index with its time, by which git detects files that may have changed unseen (racy-git(7))."""
    with open(source, "rb") as file, open(target, "wb") as copy:
        shutil.copyfileobj(file, copy)
        status = os.fstat(file.fileno())
    os.utime(target, ns=(status.st_atime_ns, status.st_mtime_ns))


def _differing(repository: Repository, root: str, variables: process.Variables) -> int:
    """Return the number of paths of the index that differ from HEAD."""
    base = repository.empty_tree.hex() if repository.checked_out() is None else "HEAD"
    options = ("--cached", "--name-only", "-z", "--no-renames", "--ignore-submodules=dirty")
    return process.output(root, ["diff-index", *options, base, "--"], None, variables).count(b"\0")


def _changes(repository: Repository, root: str, largest: int, variables: process.Variables) -> _Changes:
    """Return the changes of `git status` (porcelain format 2, see git-status(1)), without submodules."""
    untracked_files = "all" if shows_untracked(repository) else "no"
    options = ("--porcelain=v2", "-z", "--no-renames", "--ignore-submodules=all")
    command = ["status", *options, f"--untracked-files={untracked_files}"]
    update: list[bytes] = []
    remove: list[bytes] = []
    changed = untracked = left_out = 0
    status = process.output(root, command, None, variables)
    for line in status.split(b"\0"):
        kind = line[:2]
        if kind == b"1 ":
            fields = line.split(b" ", 8)
            changed += 1
            if fields[1][1:] == b".":
                continue
            path = fields[8]
        elif kind == b"u ":
            changed += 1
            path = line.split(b" ", 10)[10]
        elif kind == b"? ":
            path = line[2:]
            untracked += 1
            # A path with a trailing slash is a nested repository.
            if untracked > MOST_UNTRACKED or path.endswith(b"/"):
                left_out += 1
                continue
            changed += 1
        else:
            continue
        if _is_readable(os.fsencode(root), path, largest):
            update.append(path)
        else:
            # Too large, missing, unreadable, or not a file: its old text must not be shown either.
            remove.append(path)
    stamp = _stamp(repository, root, status, update, remove)
    return _Changes(update, remove, changed, left_out, stamp=stamp)


def _stamp(
    repository: Repository, root: str, status: bytes, update: list[bytes], remove: list[bytes]
) -> bytes | None:
    """Return a digest of status output, index, differing files, settings and attributes.

    None if one of them is so young that it may change without notice, as racy-git(7) explains.
    """
    young = time.time_ns() - _GRAIN_NS
    own_attributes = repository.settings.get("core.attributesFile") or os.path.join(
        os.environ.get("XDG_CONFIG_HOME") or "~/.config", "git", "attributes"
    )
    decisive = (
        _index_file(repository),
        os.path.join(repository.common_dir, "config"),
        os.path.join(repository.git_dir, "config.worktree"),
        os.path.join(repository.common_dir, "info", "attributes"),
        os.path.join(root, os.path.expanduser(own_attributes)),
    )
    files = [os.fsencode(path) for path in decisive]
    digest = blake2b(status + b"\0\0" + b"\0".join(remove) + b"\0\0", digest_size=20)
    digest.update(repository.settings.digest)
    for path in [*files, *(os.path.join(os.fsencode(root), path) for path in update)]:
        try:
            seen = os.lstat(path)
        except OSError:
            digest.update(b"gone\0")
            continue
        if max(seen.st_mtime_ns, seen.st_ctime_ns) >= young:
            return None
        parts = (seen.st_mtime_ns, seen.st_ctime_ns, seen.st_size, seen.st_ino, seen.st_mode)
        digest.update(b"%d %d %d %d %d\0" % parts)
    return digest.digest()


def _is_readable(root: bytes, path: bytes, largest: int) -> bool:
    """Return True if git can read a file or link of the work tree; paths behind a link are not in it."""
    full = os.path.join(root, path)
    above = os.path.dirname(path)
    while above:
        if os.path.islink(os.path.join(root, above)):
            return False
        above = os.path.dirname(above)
    try:
        found = os.lstat(full)
    except OSError:
        return False
    if stat.S_ISLNK(found.st_mode):
        return True
    return stat.S_ISREG(found.st_mode) and found.st_size <= largest and os.access(full, os.R_OK)
