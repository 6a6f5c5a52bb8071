"""Ledger of sent data: a notice before the first byte, and sums that the user can read.

One JSON line for each event in the user's state directory (XDG), for all repositories. It never contains a
sent text.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from typing import NamedTuple
from urllib.parse import urlsplit

from ctx.errors import Damaged, Decoding
from ctx.storage.regular_files import open_regular, without_waiting
from ctx.text.escaping import escape_control

_EVERY = 1.0
"""Seconds between writes of the counts."""


class Sent(NamedTuple):
    """Sums for one repository, host and purpose; `first` and `last` in seconds since 1970."""

    repository: str
    host: str
    purpose: str
    requests: int
    bytes_sent: int
    texts: int
    first: int
    last: int


class Ledger:
    """The ledger of one repository, named by its common git directory; notices go to stderr."""

    def __init__(self, common_dir: str) -> None:
        self.repository = os.path.realpath(common_dir)
        self._path = os.path.join(state_directory(), "privacy.jsonl")
        self._announced: set[tuple[str, str]] | None = None
        self._pending: dict[tuple[str, str], list[int]] = {}
        self._lock = threading.Lock()
        self._written = -_EVERY

    def announce(self, url: str, purpose: str, content: str) -> None:
        """Show a notice before the first request for a purpose to a host."""
        host = host_of(url)
        if self._announced is None:
            self._announced = {
                (sent.host, sent.purpose) for sent in self.read() if sent.repository == self.repository
            }
        if (host, purpose) not in self._announced:
            self._announced.add((host, purpose))
            _note(f"{content} will be sent to {host} ({purpose}); `git ctx model privacy` shows how much")

    def add(self, url: str, purpose: str, size: int, texts: int) -> None:
        """Count one request. A killed process loses at most the counts of its last second."""
        with self._lock:
            sums = self._pending.setdefault((host_of(url), purpose), [0, 0, 0])
            for place, more in enumerate((1, size, texts)):
                sums[place] += more
            is_time = time.monotonic() - self._written >= _EVERY
        if is_time:
            self.write()

    def write(self) -> None:
        """Write the counts; show a notice if the file is not writable."""
        with self._lock:
            pending, self._pending = self._pending, {}
            self._written = time.monotonic()
        if not pending:
            return
        lines = [
            {
                "repository": self.repository,
                "host": host,
                "purpose": purpose,
                "requests": requests,
                "bytes": size,
                "texts": texts,
                "time": int(time.time()),
            }
            for (host, purpose), (requests, size, texts) in pending.items()
        ]
        try:
            os.makedirs(os.path.dirname(self._path), mode=0o700, exist_ok=True)
            with open(self._path, "a", encoding="utf-8", errors="replace", opener=without_waiting) as file:
                file.write("".join(f"{json.dumps(line)}\n" for line in lines))
        except OSError as error:
            _note(f"what was sent cannot be written down in {self._path}: {error.strerror}")

    def read(self) -> list[Sent]:
        """Return the sums by repository, host and purpose; unreadable lines are skipped."""
        sums: dict[tuple[str, str, str], Sent] = {}
        try:
            with open_regular(self._path) as file:
                lines = file.read().decode("utf-8", "replace").splitlines()
        except OSError:
            return []
        for line in lines:
            try:
                with Decoding("a line of the ledger"):
                    found = json.loads(line)
                    key = (str(found["repository"]), str(found["host"]), str(found["purpose"]))
                    numbers = [int(found[name]) for name in ("requests", "bytes", "texts", "time")]
            except Damaged:
                continue
            requests, size, texts, at = numbers
            old = sums.get(key, Sent(*key, 0, 0, 0, at, at))
            sums[key] = Sent(
                *key,
                old.requests + requests,
                old.bytes_sent + size,
                old.texts + texts,
                min(old.first, at),
                max(old.last, at),
            )
        return sorted(sums.values())


def host_of(url: str) -> str:
    """Return host and port of an address."""
    return urlsplit(url).netloc


def state_directory() -> str:
    """Return the state directory of this user (XDG Base Directory Specification)."""
    base = os.environ.get("XDG_STATE_HOME")
    if not base or not os.path.isabs(base):
        base = os.path.join(os.path.expanduser("~"), ".local", "state")
    return os.path.join(base, "git-ctx")


def _note(sentence: str) -> None:
    print(escape_control(f"note: {sentence}"), file=sys.stderr, flush=True)
