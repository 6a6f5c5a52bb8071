"""Go: an import is a module path followed by a directory of the module."""

from __future__ import annotations

import posixpath
import re

from ctx.search.dependencies.files import Files, once_per_tree
from ctx.search.dependencies.types import NOWHERE, Import, Target

_MODULE = re.compile(rb"^module[ \t]+\"?([^\s\"]+)", re.MULTILINE)
_MOST_MODULES = 200


def resolve(files: Files, path: str, one: Import) -> Target:
    """Return the target of an import in the file at `path`."""
    for module, root in modules(files):
        if one.module == module or one.module.startswith(module + "/"):
            folder = posixpath.join(root, one.module[len(module) + 1 :]).rstrip("/")
            return Target((), (folder,)) if folder in files.folders else NOWHERE
    return NOWHERE


@once_per_tree
def modules(files: Files) -> list[tuple[str, str]]:
    """Return the module paths of the tree with their directories, longest path first."""
    found = []
    for path in files.by_name.get("go.mod", [])[:_MOST_MODULES]:
        if named := _MODULE.search(files.text(path) or b""):
            found.append((named[1].decode("utf-8", "replace"), posixpath.dirname(path)))
    return sorted(found, key=lambda pair: (-len(pair[0]), pair))
