"""Alternate object directories of a repository (gitrepository-layout(5), `objects/info/alternates`).

Finds which of them exist and the repositories they belong to; reads no object.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

from ctx.errors import NotARepository
from ctx.git.location import locate
from ctx.git.process import OF_ONE_REPOSITORY
from ctx.git.quoting import unquoted

_DEEPEST = 5
"""Depth to which git follows alternates of alternates."""


def alternates(objects: str, named: str | None = None) -> list[str]:
    """Return the existing directories that an object directory borrows from, nearest first.

    `named` is the value of GIT_ALTERNATE_OBJECT_DIRECTORIES.
    """
    found: dict[str, str] = {}
    met = {os.path.realpath(objects)}
    open_ = [(path, 1) for path in [*_borrowed(objects), *_named(os.fsencode(named or ""))]]
    while open_:
        path, depth = open_.pop(0)
        if os.path.realpath(path) in met or not os.path.isdir(path):
            continue
        met.add(os.path.realpath(path))
        # Keep the listed name: the target of a link may lie outside its repository.
        found[path] = os.path.abspath(path)
        if depth <= _DEEPEST:
            open_ += [(below, depth + 1) for below in _borrowed(path)]
    return list(found.values())


def alternates_with(alternates: Sequence[str], holding: str) -> list[str]:
    """Return the common directories that alternates belong to, if something named `holding` lies in them.

    Those that git refuses to work in (`safe.directory`) are left out: objects are verified by their ids,
    other files are not.
    """
    found = []
    for objects in alternates:
        common_dir = os.path.dirname(objects)
        if os.path.isdir(os.path.join(common_dir, holding)):
            try:
                place = locate(common_dir, OF_ONE_REPOSITORY)
            except NotARepository:
                continue
            if place.common_dir == os.path.realpath(common_dir):
                found.append(common_dir)
    return found


def _borrowed(objects: str) -> list[str]:
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
