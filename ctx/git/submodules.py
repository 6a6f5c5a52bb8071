"""The submodules that a tree pins (gitmodules(5)), and the location of their repositories.

Nothing is fetched, initialised or checked out. Names and paths come from the tree and are not trusted: they
cannot lead outside of the work tree and of the git directory.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import NamedTuple

from ctx.errors import GitFailed
from ctx.git.formats import FILE_MODE, MODE_KIND
from ctx.git.location import Location, locate_other
from ctx.git.repository import Repository
from ctx.git.settings import Settings

_FILE = b".gitmodules"
_LARGEST = 1 << 20


class Pinned(NamedTuple):
    """A submodule of a tree: its path from the root, its name, the commit that the tree pins."""

    path: bytes
    name: str
    commit: bytes


def repositories(repository: Repository, one: Pinned) -> Iterator[Repository]:
    """Yield the local repositories of a submodule: the one checked out in this work tree, then others."""
    seen = {repository.git_dir}
    if (location := _checked_out(repository, one)) is not None:
        seen.add(location.git_dir)
        yield Repository(location)
    # A name is a path below `modules`; git validates it too.
    if one.name and not {"", ".", ".."} & set(one.name.replace("\\", "/").split("/")):
        for folder in (repository.git_dir, repository.common_dir):
            directory = os.path.realpath(os.path.join(folder, "modules", one.name))
            location = None if directory in seen else locate_other(directory)
            if location is not None and location.git_dir == directory:
                seen.add(directory)
                yield Repository(location)


def checked_out(repository: Repository, one: Pinned) -> Repository | None:
    """Return the repository whose work tree lies at the path of a submodule, or None."""
    location = _checked_out(repository, one)
    return None if location is None else Repository(location)


def listed(repository: Repository, tree: bytes) -> Iterator[tuple[str, bytes]]:
    """Yield names and paths from the `.gitmodules` of a tree, even if the tree has nothing there."""
    for entry in repository.tree_entries(tree):
        if entry.name == _FILE and entry.mode & MODE_KIND == FILE_MODE:
            try:
                if repository.blob_size(entry.oid) > _LARGEST:
                    return
                # git does not follow includes of a named file.
                listing = repository.git(
                    "config", "--file", "-", "--null", "--list", stdin=repository.read_blob(entry.oid)
                )
            except (KeyError, GitFailed):
                return
            for name, path in Settings.parse(listing).sections("submodule", "path"):
                yield name, os.fsencode(path).rstrip(b"/")


def _checked_out(repository: Repository, one: Pinned) -> Location | None:
    if repository.work_tree is None:
        return None
    top = os.path.realpath(repository.work_tree)
    directory = os.path.join(top, os.fsdecode(one.path))
    # A link on the path could lead anywhere.
    if os.path.realpath(directory) != directory or not os.path.lexists(os.path.join(directory, ".git")):
        return None
    location = locate_other(directory)
    if location is None or location.prefix or location.git_dir == repository.git_dir:
        return None
    return location
