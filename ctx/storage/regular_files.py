"""Reading and atomic replacement of regular files, where the path may be a pipe or another special file."""

from __future__ import annotations

import errno
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import BinaryIO


def open_regular(path: str) -> BinaryIO:
    """Open a regular file for reading. Raises OSError, also for a pipe, which could block forever."""
    file = open(path, "rb", opener=without_waiting)  # noqa: SIM115  the caller closes it
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise OSError(errno.EINVAL, "not a regular file", path)
    return file


def read_regular(path: str, limit: int = -1) -> bytes | None:
    """Return the content of a regular file, at most `limit` bytes; None if it cannot be read."""
    with suppress(OSError), open_regular(path) as file:
        return file.read(limit)
    return None


def without_waiting(path: str, flags: int) -> int:
    """Open a file without waiting for the other end of a pipe; an opener for `open`."""
    return os.open(path, flags | os.O_NONBLOCK | os.O_CLOEXEC, 0o666)


@contextmanager
def atomic_write(path: str, temporary: str | None = None, mode: int = 0o666) -> Iterator[BinaryIO]:
    """Open a new file that replaces `path` at the end, or is removed after an error. Raises OSError.

    `temporary` is its path until then, by default in the same directory; `mode` is subject to the umask.
    """
    temporary = temporary or os.path.join(os.path.dirname(path), f".git-ctx-{secrets.token_hex(8)}")
    try:
        handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
        with open(handle, "wb") as file:
            yield file
        os.replace(temporary, path)
    except BaseException:
        discard_file(temporary)
        raise


def discard_file(path: str) -> None:
    """Remove a file, if possible; errors are ignored."""
    with suppress(OSError):
        os.unlink(path)
