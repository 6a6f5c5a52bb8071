"""Opening what should be a regular file, where anybody may have put something else."""

from __future__ import annotations

import errno
import os
import stat
from typing import BinaryIO


def open_regular(path: str) -> BinaryIO:
    """A regular file for reading. Raises OSError, where a pipe lies there too: it might never answer."""
    file = open(path, "rb", opener=without_waiting)  # noqa: SIM115  the caller closes it
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise OSError(errno.EINVAL, "not a regular file", path)
    return file


def without_waiting(path: str, flags: int) -> int:
    """An opener for `open` that does not wait for the other end of a pipe."""
    return os.open(path, flags | os.O_NONBLOCK | os.O_CLOEXEC, 0o666)
