"""Go: an import is a module path followed by a directory of the module."""

from __future__ import annotations

import posixpath
import re
from weakref import WeakKeyDictionary

from ctx.search.dependencies.files import Files
from ctx.search.dependencies.resolving.target import NOWHERE, Target
from ctx.search.dependencies.types import Import

_MODULE = re.compile(rb"^module[ \t]+\"?([^\s\"]+)", re.MULTILINE)
_MOST_MODULES = 200
_modules: WeakKeyDictionary[Files, list[tuple[str, str]]] = WeakKeyDictionary()


def resolve(files: Files, path: str, one: Import) -> Target:
    """Return the target of an import in the file at `path`."""
    for module, root in modules(files):
        if one.module == module or one.module.startswith(module + "/"):
            folder = posixpath.join(root, one.module[len(module) + 1 :]).rstrip("/")
            return Target((), (folder,)) if folder in files.folders else NOWHERE
    return NOWHERE


def modules(files: Files) -> list[tuple[str, str]]:
    """Return the module paths of the tree with their directories, longest path first."""
    known = _modules.get(files)
    if known is None:
        known = []
        for path in files.by_name.get("go.mod", [])[:_MOST_MODULES]:
            named = _MODULE.search(files.text(path) or b"")
            if named is not None:
                known.append((named[1].decode("utf-8", "replace"), posixpath.dirname(path)))
        known.sort(key=lambda pair: (-len(pair[0]), pair))
        _modules[files] = known
    return known
