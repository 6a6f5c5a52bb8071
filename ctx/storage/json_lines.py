"""Logs of one JSON object per line, appended to by several processes."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, TypeVar

from ctx.errors import Damaged, Decoding
from ctx.storage.regular_files import read_regular

T = TypeVar("T")

LARGEST = 1 << 16
"""Size in bytes at which a log is rotated; one old file is kept."""


def append_line(path: str, entry: Mapping[str, Any], opener: Callable[[str, int], int]) -> None:
    """Append an entry. Raises OSError, also for a pipe that nobody reads."""
    handle = opener(path, os.O_WRONLY | os.O_APPEND | os.O_NONBLOCK)
    try:
        # A single write, so that lines of two processes are not mixed.
        os.write(handle, json.dumps(entry).encode() + b"\n")
    finally:
        os.close(handle)


def append_rotated(path: str, entry: Mapping[str, Any], opener: Callable[[str, int], int]) -> None:
    """Append an entry; if the log is large, first rename it to `<path>.old`. Raises OSError."""
    if os.path.exists(path) and os.path.getsize(path) > LARGEST:
        os.replace(path, f"{path}.old")
    append_line(path, entry, opener)


def read_lines(path: str, parse: Callable[[Any], T]) -> list[T]:
    """Return the entries of a log, oldest first. Unreadable lines are skipped; a missing file has none."""
    found = []
    for line in (read_regular(path) or b"").splitlines():
        with suppress(Damaged), Decoding("a line of a log"):
            found.append(parse(json.loads(line.decode("utf-8", "replace"))))
    return found


def read_rotated(path: str, parse: Callable[[Any], T]) -> list[T]:
    """Return the entries of a log and of the old file beside it, oldest first."""
    return read_lines(f"{path}.old", parse) + read_lines(path, parse)
