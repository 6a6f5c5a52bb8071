"""Alternate object directories of a repository (gitrepository-layout(5), `objects/info/alternates`).

Finds which of them exist and the repositories they belong to; reads no object.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

from ctx.git.location import locate_other
from ctx.git.quoting import unquoted

_MAX_DEPTH = 5
"""Depth to which git follows alternates of alternates."""


def alternates(objects: str, named: str | None = None) -> list[str]:
    """Return the existing directories that an object directory borrows from, nearest first.

    `named` is the value of GIT_ALTERNATE_OBJECT_DIRECTORIES.
    """
    found: dict[str, str] = {}
    seen = {os.path.realpath(objects)}
    pending = [(path, 1) for path in [*_listed(objects), *_named(os.fsencode(named or ""))]]
    while pending:
        path, depth = pending.pop(0)
        if os.path.realpath(path) in seen or not os.path.isdir(path):
            continue
        seen.add(os.path.realpath(path))
        # Keep the listed name: the target of a link may lie outside its repository.
        found[path] = os.path.abspath(path)
        if depth <= _MAX_DEPTH:
            pending += [(below, depth + 1) for below in _listed(path)]
    return list(found.values())


def alternates_with(alternates: Sequence[str], content: str) -> list[str]:
    """Return the common directories that alternates belong to, if something named `content` lies in them.

    Those that git refuses to work in (`safe.directory`) are left out: objects are verified by their ids,
    other files are not.
    """
    found = []
    for objects in alternates:
        common_dir = os.path.dirname(objects)
        if os.path.isdir(os.path.join(common_dir, content)):
            location = locate_other(common_dir)
            if location is not None and location.common_dir == os.path.realpath(common_dir):
                found.append(common_dir)
    return found


def _listed(objects: str) -> list[str]:
    """Return the entries of `info/alternates`; relative paths start at the object directory."""
    try:
        with open(os.path.join(objects, "info", "alternates"), "rb") as file:
            listed = file.read()
    except OSError:
        return []
    return [os.path.join(objects, os.fsdecode(path)) for path in _entries(listed, b"\n")]


def _named(value: bytes) -> list[str]:
    return [os.fsdecode(path) for path in _entries(value, os.fsencode(os.pathsep))]


def _entries(text: bytes, separator: bytes) -> Iterator[bytes]:
    """Yield the paths of a list; an entry in quotes is unquoted, one that begins with `#` is a comment."""
    while text:
        if quoted := unquoted(text):
            path, text = quoted[0], quoted[1][1:]  # git skips one byte there, whatever it is
        else:
            path, _, text = text.partition(separator)
            if path.startswith(b"#"):
                continue
        if path:
            yield path
