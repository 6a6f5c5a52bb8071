"""Configuration files on disk: read whole and replaced atomically, with modes kept and links followed.

Independent of the contents of the files.
"""

from __future__ import annotations

import os
import stat
from contextlib import suppress

from ctx.agents.setup.jsonc import Unreadable
from ctx.storage.regular_files import atomic_write, open_regular

_LARGEST = 8 << 20
"""Maximum size in bytes; the largest file seen was ~/.claude.json with a few hundred kilobytes."""


def real(path: str, inside: str | None) -> str:
    """Return a path with symbolic links resolved.

    Raises Unreadable for a dangling link, and for a link out of the work tree `inside`: files of a repository
    are not trusted to name files elsewhere.
    """
    found = os.path.realpath(path)
    if inside is not None and not is_inside(found, inside):
        raise Unreadable("it leads out of the work tree")
    if os.path.islink(path) and not os.path.exists(found):
        raise Unreadable("it is a dangling link")
    return found


def is_inside(path: str, work_tree: str) -> bool:
    """Return True if a path without links is in a work tree and not in a git directory."""
    top = os.path.realpath(work_tree).rstrip(os.sep) + os.sep
    return path.startswith(top) and not {".git", ".."} & {*path[len(top) :].split(os.sep)}


def read(path: str) -> bytes | None:
    """Return the content of a file, None if it does not exist. Raises Unreadable."""
    try:
        with open_regular(path) as file:
            content = file.read(_LARGEST + 1)
    except FileNotFoundError:
        return None
    except NotADirectoryError:
        raise Unreadable("a file stands where a directory should be") from None
    except OSError as error:
        raise Unreadable(error.strerror or str(error)) from None
    if len(content) > _LARGEST:
        raise Unreadable(f"it has more than {_LARGEST >> 20} MB")
    return content


def decoded(content: bytes) -> str:
    """Decode UTF-8 strictly, so that encoding restores the same bytes. Raises Unreadable."""
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        raise Unreadable("it is not UTF-8") from None


def check_writable(path: str) -> None:
    """Raise Unreadable if the mode of a file, or of its directory, forbids writing."""
    directory = os.path.dirname(next(iter(missing_directories(path)), path))
    if not os.access(directory, os.W_OK | os.X_OK):
        raise Unreadable("its directory is read-only")
    try:
        mode = os.stat(path).st_mode
    except FileNotFoundError:
        return
    if not mode & (stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH) or not os.access(path, os.W_OK):
        raise Unreadable("it is read-only")


def missing_directories(path: str) -> list[str]:
    """Return the missing directories above a path, uppermost first."""
    found: list[str] = []
    directory = os.path.dirname(path)
    while not os.path.isdir(directory) and directory != os.path.dirname(directory):
        found.append(directory)
        directory = os.path.dirname(directory)
    return found[::-1]


def write(path: str, content: bytes) -> None:
    """Replace a file atomically, or create it with its parent directories. Raises OSError."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    try:
        before: os.stat_result | None = os.stat(path)
    except FileNotFoundError:
        before = None
    with atomic_write(path) as file:
        if before is not None:
            status = os.fstat(file.fileno())
            if (status.st_uid, status.st_gid) != (before.st_uid, before.st_gid):
                os.fchown(file.fileno(), before.st_uid, before.st_gid)
            os.fchmod(file.fileno(), stat.S_IMODE(before.st_mode))
        file.write(content)
        if before is not None:
            # A file of the user: after a power failure it must have its old or its new content.
            file.flush()
            os.fsync(file.fileno())


def remove(path: str) -> None:
    """Remove a file if it exists. Raises OSError."""
    with suppress(FileNotFoundError):
        os.unlink(path)


def remove_empty(directories: list[str]) -> list[str]:
    """Remove empty directories, lowest first, and return those that are left."""
    left = []
    for directory in sorted(directories, key=len, reverse=True):
        try:
            os.rmdir(directory)
        except FileNotFoundError:
            pass
        except OSError:
            left.append(directory)
    return left
