"""Parsing git's commit, tag and tree objects.

The formats are those of `Documentation/gitformat-*` and of `git cat-file`; nothing here reads a repository.
"""

from __future__ import annotations

import codecs
import re
from contextlib import suppress
from typing import NamedTuple

from ctx.errors import Damaged

MODE_KIND = 0o170000
"""Mask for the kind of a tree entry in its mode."""
FILE_MODE = 0o100000
SYMLINK_MODE = 0o120000
SUBMODULE_MODE = 0o160000
DIRECTORY_MODE = 0o040000

_ENTRY = {
    size: re.compile(rb"([0-7]{5,6}) ([^\0]+)\0(.{%d})" % size, re.DOTALL)
    for size in (20, 32)  # bytes of a SHA-1 and of a SHA-256 id
}
_MODES = {
    b"40000": DIRECTORY_MODE,
    b"100644": 0o100644,
    b"100755": 0o100755,
    b"120000": SYMLINK_MODE,
    b"160000": SUBMODULE_MODE,
}
_DATE = re.compile(rb" *([0-9]+)(?: +([+-][0-9]{4}))?")
_LATEST = (1 << 63) - 1
"""Latest time in seconds since 1970 that git can store; it shows later ones as the beginning of 1970."""
_NOT_OF_TEXT = frozenset({"idna", "punycode", "raw-unicode-escape", "undefined", "unicode-escape"})
"""Python codecs that git's iconv does not have: they are not character sets, or take quadratic time."""


class TreeEntry(NamedTuple):
    """One entry of a tree: the name within its directory, git's mode and the raw object id."""

    name: bytes
    mode: int
    oid: bytes


class CommitInfo(NamedTuple):
    """Contents of a commit. Times are seconds since 1970, `committer_offset` minutes east of UTC."""

    oid: bytes
    tree: bytes
    parents: tuple[bytes, ...]
    author_name: str
    author_time: int
    committer_time: int
    committer_offset: int
    subject: str


def parse_tree(data: bytes, id_size: int) -> list[TreeEntry]:
    """Return the entries of one tree object in git's order. `id_size` is 20 or 32. Raises Damaged."""
    found = _ENTRY[id_size].findall(data)
    if sum(len(mode) + len(name) for mode, name, _ in found) + len(found) * (id_size + 2) != len(data):
        raise Damaged("a tree object of the repository is malformed; `git fsck` lists it")
    return [TreeEntry(name, _MODES.get(mode) or int(mode, 8), oid) for mode, name, oid in found]


def parse_tag(data: bytes) -> bytes:
    """Return the raw id of the object that an annotated tag points at. Raises Damaged."""
    first = data.partition(b"\n")[0]
    if not first.startswith(b"object "):
        raise Damaged("a tag object of the repository is malformed; `git fsck` lists it")
    return _raw(first[7:])


def commit_tree(data: bytes) -> bytes:
    """Return the raw id of a commit's tree. Raises Damaged."""
    first = data.partition(b"\n")[0]
    if not first.startswith(b"tree "):
        raise Damaged("a commit object of the repository is malformed; `git fsck` lists it")
    return _raw(first[5:])


def parse_commit(oid: bytes, data: bytes) -> CommitInfo:
    """Parse a commit object. Raises Damaged."""
    head, _, message = data.partition(b"\n\n")
    tree = commit_tree(data)
    parents: list[bytes] = []
    fields: dict[bytes, bytes] = {}
    for line in head.split(b"\n")[1:]:
        key, _, value = line.partition(b" ")
        if key == b"parent":
            parents.append(_raw(value))
        else:
            fields.setdefault(key, value)
    encoding = fields.get(b"encoding", b"utf-8").decode("ascii", "replace")
    author, author_time, _ = _identity(fields.get(b"author", b""))
    _, committer_time, offset = _identity(fields.get(b"committer", b""))
    return CommitInfo(
        oid,
        tree,
        tuple(parents),
        _text(author, encoding),
        author_time,
        committer_time,
        offset,
        _subject(_text(message, encoding)),
    )


def _identity(line: bytes) -> tuple[bytes, int, int]:
    """Return name, time and zone as git's `split_ident_line` does: the date follows the last `>`."""
    name, _, rest = line.partition(b"<")
    _, end, date = rest.rpartition(b">")
    found = _DATE.match(date) if end else None
    if not found:  # commits made by broken tools exist; they are shown without a date
        return name.strip(), 0, 0
    zone = int(found[2] or b"0")
    minutes = abs(zone) // 100 * 60 + abs(zone) % 100
    return name.strip(), seconds(found[1]), minutes if zone >= 0 else -minutes


def seconds(digits: bytes) -> int:
    """Return the seconds since 1970 of a commit's date; 0 if it is not a number, or too large for git."""
    digits = digits.lstrip(b"0")
    if not digits.isdigit() or len(digits) > len(str(_LATEST)):
        return 0
    number = int(digits)
    return number if number <= _LATEST else 0


def _subject(message: str) -> str:
    """Return the first paragraph on one line, as `git log --format=%s` prints it."""
    lines: list[str] = []
    for line in message.split("\n"):
        if line.strip():
            lines.append(line.strip())
        elif lines:
            break
    return " ".join(lines)


def _text(data: bytes, encoding: str) -> str:
    """Decode text in the encoding that its commit names, else as UTF-8, else as Latin-1."""
    for one in (encoding, "utf-8"):
        # ValueError: UnicodeError, and an encoding name with a null byte.
        with suppress(ValueError, LookupError):
            if codecs.lookup(one).name not in _NOT_OF_TEXT:
                # UTF-7 can decode to lone surrogates, which cannot be printed.
                return data.decode(one).encode("utf-8", "replace").decode()
    return data.decode("latin-1")


def _raw(name: bytes) -> bytes:
    try:
        return bytes.fromhex(name.decode("ascii"))
    except ValueError:
        raise Damaged("an object of the repository contains an invalid id; `git fsck` lists it") from None
