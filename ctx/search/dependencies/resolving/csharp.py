"""C#: a namespace is a directory whose path, or the end of it, equals the namespace."""

from __future__ import annotations

from weakref import WeakKeyDictionary

from ctx.search.dependencies.files import Files
from ctx.search.dependencies.resolving.target import NOWHERE, Target
from ctx.search.dependencies.types import Import

_folders: WeakKeyDictionary[Files, list[tuple[str, str]]] = WeakKeyDictionary()


def resolve(files: Files, path: str, one: Import) -> Target:
    """Return the target of an import in the file at `path`."""
    if one.name != "*":
        for other in files.by_name.get(one.name + ".cs", ()):
            if _ends_with(other.rpartition("/")[0].replace("/", "."), one.module):
                return Target((other,))
    known = _folders.get(files)
    if known is None:
        known = _folders[files] = [(folder, folder.replace("/", ".")) for folder in sorted(files.folders)]
    found = tuple(folder for folder, dotted in known if folder and _ends_with(dotted, one.module))
    return Target((), found) if found else NOWHERE


def _ends_with(dotted: str, namespace: str) -> bool:
    return dotted == namespace or dotted.endswith("." + namespace)
