"""File permissions in a repository shared by several people (`core.sharedRepository`).

The rules are git's own (git-init(1), `--shared`): bits are added to the umask's result, or set regardless of
it; whoever may read a directory may enter it, and directories pass on their group.
"""

from __future__ import annotations

import os
import stat
from typing import NamedTuple

_GROUP, _EVERYBODY = 0o660, 0o664
_WORDS = {"umask": 0, "group": _GROUP, "all": _EVERYBODY, "world": _EVERYBODY, "everybody": _EVERYBODY}
_OLD = {0: 0, 1: _GROUP, 2: _EVERYBODY}
"""Numeric values that older versions of git used instead of modes."""


class Permissions(NamedTuple):
    """Permission bits added for those who share a repository; with `exact` they are the only bits."""

    bits: int = 0
    exact: bool = False

    @classmethod
    def parse(cls, value: str | None) -> Permissions:
        """Parse a value of the setting. A value that git would refuse means the umask."""
        word = (value or "umask").lower()
        if word in _WORDS:
            return cls(_WORDS[word])
        try:
            number = int(word, 8)
        except ValueError:
            return cls(_GROUP if word in ("true", "yes", "on") else 0)
        if number in _OLD:
            return cls(_OLD[number])
        return cls(number & 0o666, True) if number & 0o600 == 0o600 else cls()

    def mode(self, mode: int) -> int:
        """Return the adjusted mode of a new file or directory."""
        if not self.bits:
            return mode
        bits = self.bits if mode & stat.S_IWUSR else self.bits & ~0o222
        if mode & stat.S_IXUSR:
            bits |= (bits & 0o444) >> 2
        mode = (mode & ~0o777 if self.exact else mode) | bits
        return mode | stat.S_ISGID if stat.S_ISDIR(mode) and mode & 0o060 else mode

    def give(self, file: str | int) -> None:
        """Set the mode of a new file or directory, by path or handle. Raises OSError."""
        if self.bits:
            before = os.stat(file).st_mode
            after = self.mode(before)
            if after != before:
                os.chmod(file, stat.S_IMODE(after))

    def open(self, path: str, flags: int) -> int:
        """Open a file, creating it if needed. Raises OSError."""
        flags |= os.O_CLOEXEC
        try:
            return os.open(path, flags)
        except FileNotFoundError:
            handle = os.open(path, flags | os.O_CREAT, 0o666)
            self.give(handle)
            return handle

    def make_directories(self, path: str) -> None:
        """Create a directory and its parents if needed. Raises OSError."""
        if not self.bits:
            os.makedirs(path, exist_ok=True)
            return
        missing = []
        while not os.path.isdir(path):
            missing.append(path)
            path = os.path.dirname(path)
        for path in reversed(missing):
            try:
                os.mkdir(path)
            except FileExistsError:
                continue  # another process made it, or it is not a directory, which fails later
            self.give(path)


UMASK = Permissions()
"""No permissions beyond the umask."""
