"""Java and Kotlin: a class is in the file of its name below the directories of its package."""

from __future__ import annotations

import posixpath
import re

from ctx.search.dependencies.files import Files
from ctx.search.dependencies.types import NOWHERE, Import, Target

_EXTENSIONS = (".java", ".kt")
_PACKAGE = re.compile(rb"^[ \t]*package[ \t]+([\w.]+)", re.MULTILINE)


def resolve(files: Files, path: str, one: Import) -> Target:
    """Return the target of an import in the file at `path`."""
    parts = one.module.split(".") if one.module else []
    if one.name != "*":
        parts = [*parts, one.name]
    # The last part may be a class, a member of a class, or a function of a package.
    for end in range(len(parts), 0, -1):
        if end < len(parts) and not parts[end - 1][:1].isupper():
            break
        found = _class(files, path, parts[:end])
        if found is not None:
            return Target((found,))
    package = parts if one.name == "*" else parts[:-1]
    while package and package[-1][:1].isupper():
        package = package[:-1]
    folders = _folders(files, path, package) or _below_the_root(files, path, package)
    return Target((), folders) if folders else NOWHERE


def _class(files: Files, path: str, parts: list[str]) -> str | None:
    found = [
        other
        for extension in _EXTENSIONS
        for other in files.by_name.get(parts[-1] + extension, ())
        if _ends_with(posixpath.dirname(other), "/".join(parts[:-1]))
    ]
    return min(found, key=lambda other: (-_shared(path, other), other), default=None)


def _folders(files: Files, path: str, package: list[str]) -> tuple[str, ...]:
    """Return the directories whose path ends with the whole package."""
    if len(package) < 2:
        return ()
    whole = "/".join(package)
    found = [folder for folder in files.folders if _ends_with(folder, whole)]
    return tuple(sorted(found, key=lambda folder: (-_shared(path, folder), folder)))


def _below_the_root(files: Files, path: str, package: list[str]) -> tuple[str, ...]:
    """Return the directories of a package if the source tree omits the common root package (Kotlin).

    The omitted root is the package of the importing file without the directories that the file is in.
    """
    stated = _PACKAGE.search(files.text(path) or b"")
    if stated is None:
        return ()
    own = stated[1].decode("utf-8", "replace").split(".")
    folder = posixpath.dirname(path)
    while own and folder and posixpath.basename(folder) == own[-1]:
        own, folder = own[:-1], posixpath.dirname(folder)
    if not own or package[: len(own)] != own:
        return ()
    ends = posixpath.join(posixpath.basename(folder), *package[len(own) :])
    found = [other for other in files.folders if _ends_with(other, ends)]
    return tuple(sorted(found, key=lambda other: (-_shared(path, other), other)))


def _ends_with(folder: str, end: str) -> bool:
    return folder == end or folder.endswith("/" + end) if end else True


def _shared(one: str, other: str) -> int:
    """Return the length of the common prefix of two paths, to prefer files of the same module."""
    return len(posixpath.commonprefix([one, other]))
