"""C#: a namespace is a directory whose path, or the end of it, equals the namespace."""

from __future__ import annotations

from ctx.search.dependencies.files import Files, once_per_tree
from ctx.search.dependencies.types import NOWHERE, Import, Target


def resolve(files: Files, path: str, one: Import) -> Target:
    """Return the target of an import in the file at `path`."""
    if one.name != "*":
        for other in files.by_name.get(one.name + ".cs", ()):
            if _ends_with(other.rpartition("/")[0].replace("/", "."), one.module):
                return Target((other,))
    found = tuple(folder for folder, dotted in _folders(files) if _ends_with(dotted, one.module))
    return Target((), found) if found else NOWHERE


@once_per_tree
def _folders(files: Files) -> list[tuple[str, str]]:
    """Return each directory but the root, and its path with dots."""
    return [(folder, folder.replace("/", ".")) for folder in sorted(files.folders) if folder]


def _ends_with(dotted: str, namespace: str) -> bool:
    return dotted == namespace or dotted.endswith("." + namespace)
