"""Safe reading of regular files, where the path may be a pipe or another special file."""

from __future__ import annotations

import errno
import os
import stat
from contextlib import suppress
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


def remove_file(path: str) -> None:
    """Remove a file, if possible; errors are ignored."""
    with suppress(OSError):
        os.unlink(path)
