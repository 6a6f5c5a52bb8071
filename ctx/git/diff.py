"""Differences between two trees by file and line, from git.

Uses the plumbing command, with every setting and attribute that would change its output disabled: a file that
attributes call binary can still be compared by lines.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from ctx.errors import GitFailed
from ctx.git.repository import Repository
from ctx.git.unknown import FETCH_ALL

_OPTIONS = (
    "-r",
    "-z",
    "--raw",
    "--full-index",
    "-p",
    "-U0",
    "--inter-hunk-context=0",
    "-M",
    "-l1000",
    "--no-ext-diff",
    "--no-textconv",
    "--no-color",
    "--ignore-submodules=all",
)
# Lines of content begin with a sign, so these can only be headers.
_HEAD = re.compile(
    rb"^(?:(diff --git )|@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@|(Binary files ))", re.MULTILINE
)


class Hunk(NamedTuple):
    """Removed lines and the lines that replace them; a start counts from 1.

    With a count of 0 the start is the line before the hunk.
    """

    old_start: int
    old_count: int
    new_start: int
    new_count: int


class FileChange(NamedTuple):
    """A file that differs, was renamed, or is in only one of the trees (then the other path and id are None).

    `hunks` is None if git does not compare by lines, or cannot because a blob is `absent` here.
    """

    old_path: bytes | None
    old_blob: bytes | None
    new_path: bytes | None
    new_blob: bytes | None
    hunks: list[Hunk] | None
    absent: bool = False

    @property
    def paths(self) -> list[bytes]:
        """The old path, the new one, or both."""
        return [path for path in (self.old_path, self.new_path) if path is not None]


_PATH_BYTES = 100_000
"""Total bytes of paths on one command line; systems allow at least 128 kB."""


def changed_files(
    repository: Repository, old: bytes, new: bytes, wanted: Callable[[FileChange], bool] = lambda change: True
) -> list[FileChange]:
    """Return the files that differ between two trees, in git's order; a pure rename has no hunks.

    `wanted` is True for files to compare by lines even if git takes them for binary. Files with a blob that
    is not in this clone are `absent`. Raises GitFailed, also if that is so for all of them.
    """
    if old == new:
        return []
    try:
        found = _diff(repository, old, new, "--")
    except GitFailed:
        present = _diff_of_present(repository, old, new)
        if present is None:
            raise
        found = present
    left = [change for change in found if change.hunks is None and not change.absent and wanted(change)]
    if not left:
        return found
    again = {
        _names(change): change
        for batch in _batches(left)
        for change in _diff(repository, old, new, "--text", "--", *batch)
    }
    return [again.get(_names(change), change) for change in found]


def _diff(repository: Repository, old: bytes, new: bytes, *arguments: str | bytes) -> list[FileChange]:
    """Return the differing files; `arguments` are further options, and paths."""
    command = ("--literal-pathspecs", "diff-tree", *_OPTIONS, old.hex(), new.hex(), *arguments)
    try:
        records, patches = _records(repository.git(*command))
    except GitFailed as error:
        raise GitFailed(
            f"git cannot compare the trees {old.hex()[:12]} and {new.hex()[:12]} ({error}): "
            f"`{FETCH_ALL}` brings what is missing, `git fsck` looks for damage"
        ) from error
    return list(_with_hunks(records, patches))


def _diff_of_present(repository: Repository, old: bytes, new: bytes) -> list[FileChange] | None:
    """Return the differing files if some blobs, but not all, are here to be compared; None otherwise.

    The blob ids in the trees show which files differ. A moved file whose blob is not here is left out, as it
    is unchanged.
    """
    options = ("-r", "-z", "--raw", "--full-index", "--no-renames", "--ignore-submodules=all")
    try:
        changes = _records(repository.git("diff-tree", *options, old.hex(), new.hex(), "--"))[0]
    except GitFailed:
        return None
    files = [change for _, change in changes]
    blobs = {blob for file in files for blob in (file.old_blob, file.new_blob) if blob is not None}
    absent = set(repository.objects.absent(sorted(blobs)))
    left = [file for file in files if not absent.isdisjoint((file.old_blob, file.new_blob))]
    present = [file for file in files if absent.isdisjoint((file.old_blob, file.new_blob))]
    if not left or not present:
        return None
    found: list[FileChange] = []
    for batch in _batches(present):
        found += _diff(repository, old, new, "--", *batch)
    moved = {file.old_blob for file in left if file.new_blob is None}
    moved &= {file.new_blob for file in left if file.old_blob is None}
    found += [
        file._replace(hunks=None, absent=True)
        for file in left
        if (file.old_blob or file.new_blob) not in moved
    ]
    return sorted(found, key=lambda file: file.paths[-1])


def _batches(changes: Sequence[FileChange]) -> Iterator[list[bytes]]:
    """Yield lists of paths that a command line takes; both paths of a renamed file stay together."""
    batch: list[bytes] = []
    size = 0
    for change in changes:
        more = sum(len(path) + 1 for path in change.paths)
        if batch and size + more > _PATH_BYTES:
            yield batch
            batch, size = [], 0
        batch += change.paths
        size += more
    if batch:
        yield batch


def _records(output: bytes) -> tuple[list[tuple[bytes, FileChange]], bytes]:
    """Return the status records before the patches, with hunks still empty, and the patches."""
    records: list[tuple[bytes, FileChange]] = []
    at = 0
    while output[at : at + 1] == b":":
        end = output.index(b"\0", at)
        old_mode, new_mode, old_blob, new_blob, status = output[at + 1 : end].split(b" ")
        at, end = end + 1, output.index(b"\0", end + 1)
        old_path = new_path = output[at:end]
        at = end + 1
        if status[:1] in b"RC":
            end = output.index(b"\0", at)
            new_path, at = output[at:end], end + 1
        is_new, is_gone = not int(old_mode, 8), not int(new_mode, 8)
        change = FileChange(
            None if is_new else old_path,
            None if is_new else bytes.fromhex(old_blob.decode()),
            None if is_gone else new_path,
            None if is_gone else bytes.fromhex(new_blob.decode()),
            [],
        )
        records.append((status[:1], change))
    return records, output[at:].removeprefix(b"\0")


def _with_hunks(records: Sequence[tuple[bytes, FileChange]], patches: bytes) -> Iterator[FileChange]:
    """Yield the files with the hunks of their patches.

    The patches are in the order of the files; a change of type has two, a change of mode alone has one too.
    """
    found: list[list[Hunk] | None] = []
    for head in _HEAD.finditer(patches):
        if head[1]:
            found.append([])
        elif head[6]:
            found[-1] = None
        elif found[-1] is not None:
            numbers = (head[2], head[3] or b"1", head[4], head[5] or b"1")
            found[-1].append(Hunk(*map(int, numbers)))
    patch = iter(found)
    for status, change in records:
        if status == b"T":
            gone, come = next(patch, None), next(patch, None)
            yield change._replace(new_path=None, new_blob=None, hunks=gone)
            yield change._replace(old_path=None, old_blob=None, hunks=come)
        else:
            yield change._replace(hunks=next(patch, None))


def _names(change: FileChange) -> tuple[bytes | None, bytes | None]:
    return change.old_path, change.new_path
