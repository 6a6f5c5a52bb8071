"""C#: a namespace is where the folders below a project say it is, or where the last of them say so."""

from __future__ import annotations

from weakref import WeakKeyDictionary

from ctx.search.dependencies.files import Files
from ctx.search.dependencies.resolving.target import NOWHERE, Target
from ctx.search.dependencies.values import Import

_folders: WeakKeyDictionary[Files, list[tuple[str, str]]] = WeakKeyDictionary()


def resolve(files: Files, path: str, one: Import) -> Target:
    if one.name != "*":
        for other in files.by_name.get(one.name + ".cs", ()):
            if _is(other.rpartition("/")[0].replace("/", "."), one.module):
                return Target((other,))
    known = _folders.get(files)
    if known is None:
        known = _folders[files] = [(folder, folder.replace("/", ".")) for folder in sorted(files.folders)]
    found = tuple(folder for folder, dotted in known if folder and _is(dotted, one.module))
    return Target((), found) if found else NOWHERE


def _is(dotted: str, namespace: str) -> bool:
    return dotted == namespace or dotted.endswith("." + namespace)
