"""The three streams of the process: how they are encoded, whether they take colour, and how they end."""

from __future__ import annotations

import errno
import io
import os
import signal
import sys
from collections.abc import Callable
from typing import TextIO

CLOSED_PIPE = 128 + signal.SIGPIPE
"""The exit status a shell reports for a program whose reader went away."""

WAYS_OUT = {
    errno.ENOSPC: "; make room there and run the command again",
    errno.EDQUOT: "; make room in your quota and run the command again",
    errno.EACCES: "; see who owns it and what its permissions are",
    errno.EPERM: "; see who owns it and what its permissions are",
    errno.EROFS: "; mount it for writing, or work on a clone elsewhere",
    errno.EMFILE: "; raise the limit of open files (ulimit -n)",
}


def way_out(error: OSError) -> str:
    """What the user can do about an error of the system, as the end of a sentence."""
    return WAYS_OUT.get(error.errno or 0, "")


def prepare() -> None:
    """Make stdout and stderr take any text: UTF-8, and the bytes of paths that are not."""
    sys.stdout = encoded(sys.stdout)
    sys.stderr = encoded(sys.stderr)


def encoded(stream: TextIO | None) -> TextIO:
    """The stream with its encoding set; the null device where the caller closed it."""
    if stream is None:
        return open(os.devnull, "w", encoding="utf-8")
    if isinstance(stream, io.TextIOWrapper):
        stream.reconfigure(encoding="utf-8", errors="surrogateescape")
    return stream


def forgiving(write: Callable[[], None]) -> None:
    """Call `write`; a stream that nobody reads or that takes no more is not an error on the way out."""
    try:
        write()
    except OSError:
        finish()


def finish() -> None:
    """Flush stdout and stderr; point one that fails at the null device, or Python complains at its end."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            null = os.open(os.devnull, os.O_WRONLY)
            os.dup2(null, stream.fileno())
            os.close(null)


def takes_colour(when: str, stream: TextIO) -> bool:
    """Whether to write colours to a stream; `when` is auto, always or never.

    Auto looks at NO_COLOR (no-color.org), CLICOLOR_FORCE and TERM before it asks whether a terminal is there.
    """
    if when != "auto":
        return when == "always"
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("CLICOLOR_FORCE", "0") not in ("", "0"):
        return True
    return os.environ.get("TERM") != "dumb" and stream.isatty()
