"""Ledger of sent data: a notice before the first byte, and sums that the user can read.

One JSON line for each event in the user's state directory (XDG), for all repositories. It never contains a
sent text.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from ctx.storage.json_lines import append_line, read_lines
from ctx.storage.regular_files import without_waiting
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

    def plus(self, other: Sent) -> Sent:
        """Return the sums of both."""
        return self._replace(
            requests=self.requests + other.requests,
            bytes_sent=self.bytes_sent + other.bytes_sent,
            texts=self.texts + other.texts,
            first=min(self.first, other.first),
            last=max(self.last, other.last),
        )


class Ledger:
    """The ledger of one repository, named by its common git directory; notices go to stderr."""

    def __init__(self, common_dir: str) -> None:
        self.repository = os.path.realpath(common_dir)
        self._path = os.path.join(state_directory(), "privacy.jsonl")
        self._announced: set[tuple[str, str]] | None = None
        self._pending: dict[tuple[str, str], Sent] = {}
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
            _note(f"{content} will be sent to {host} ({purpose}); `git ctx model privacy` shows the totals")

    def add(self, url: str, purpose: str, size: int, texts: int) -> None:
        """Count one request. A killed process loses at most the counts of its last second."""
        now = int(time.time())
        sent = Sent(self.repository, host_of(url), purpose, 1, size, texts, now, now)
        with self._lock:
            old = self._pending.get(sent[1:3])
            self._pending[sent[1:3]] = sent if old is None else old.plus(sent)
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
        try:
            os.makedirs(os.path.dirname(self._path), mode=0o700, exist_ok=True)
            for sent in pending.values():
                append_line(self._path, _line(sent), _open)
        except OSError as error:
            _note(f"the ledger of sent data in {self._path} cannot be written: {error.strerror}")

    def read(self) -> list[Sent]:
        """Return the sums by repository, host and purpose; unreadable lines are skipped."""
        sums: dict[tuple[str, str, str], Sent] = {}
        for sent in read_lines(self._path, _of_line):
            old = sums.get(sent[:3])
            sums[sent[:3]] = sent if old is None else old.plus(sent)
        return sorted(sums.values())


def _line(sent: Sent) -> dict[str, Any]:
    line = sent._asdict()
    line["bytes"], line["time"] = line.pop("bytes_sent"), line.pop("last")
    del line["first"]
    return line


def _open(path: str, flags: int) -> int:
    return without_waiting(path, flags | os.O_CREAT)


def _of_line(line: Any) -> Sent:
    names = (str(line["repository"]), str(line["host"]), str(line["purpose"]))
    counts = (int(line["requests"]), int(line["bytes"]), int(line["texts"]))
    return Sent(*names, *counts, int(line["time"]), int(line["time"]))


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
