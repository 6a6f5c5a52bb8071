"""Standard streams of the process: encoding, colours and final flush."""

from __future__ import annotations

import errno
import io
import os
import signal
import sys
from collections.abc import Callable
from typing import TextIO

CLOSED_PIPE = 128 + signal.SIGPIPE
"""Exit status that a shell reports for a program killed by SIGPIPE."""

ADVICE = {
    errno.ENOSPC: "; make room there and run the command again",
    errno.EDQUOT: "; make room in your quota and run the command again",
    errno.EACCES: "; see who owns it and what its permissions are",
    errno.EPERM: "; see who owns it and what its permissions are",
    errno.EROFS: "; mount it for writing, or work on a clone elsewhere",
    errno.EMFILE: "; raise the limit of open files (ulimit -n)",
}


def advice(error: OSError) -> str:
    """Return advice on a system error as the end of a sentence, "" if there is none."""
    return ADVICE.get(error.errno or 0, "")


def prepare() -> None:
    """Make stdout and stderr accept any text: UTF-8, and surrogate escapes for other bytes in paths."""
    sys.stdout = encoded(sys.stdout)
    sys.stderr = encoded(sys.stderr)


def encoded(stream: TextIO | None) -> TextIO:
    """Return the stream with its encoding set, or the null device if the caller has closed it."""
    if stream is None:
        return open(os.devnull, "w", encoding="utf-8")
    if isinstance(stream, io.TextIOWrapper):
        stream.reconfigure(encoding="utf-8", errors="surrogateescape")
    return stream


def forgiving(write: Callable[[], None]) -> None:
    """Call `write` and ignore errors of a closed or full stream."""
    try:
        write()
    except OSError:
        finish()


def finish() -> None:
    """Flush stdout and stderr; redirect a failing one to the null device, so that Python's exit is silent."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            null = os.open(os.devnull, os.O_WRONLY)
            os.dup2(null, stream.fileno())
            os.close(null)


def takes_colour(when: str, stream: TextIO) -> bool:
    """Return True if colours are to be written to a stream; `when` is auto, always or never.

    Auto checks NO_COLOR (no-color.org), CLICOLOR_FORCE and TERM, then whether the stream is a terminal.
    """
    if when != "auto":
        return when == "always"
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("CLICOLOR_FORCE", "0") not in ("", "0"):
        return True
    return os.environ.get("TERM") != "dumb" and stream.isatty()
