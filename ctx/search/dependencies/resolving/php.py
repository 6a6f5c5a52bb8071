"""PHP: a class is in the file of its name, below the directory of its namespace (composer, PSR-4)."""

from __future__ import annotations

import json
import posixpath
from typing import Any

from ctx.search.dependencies.files import Files, joined, once_per_tree
from ctx.search.dependencies.types import NOWHERE, Import, Target

_MOST_MANIFESTS = 200


def resolve(files: Files, path: str, one: Import) -> Target:
    """Return the target of an import in the file at `path`."""
    if one.module.startswith("./"):
        base = joined(posixpath.dirname(path), one.module)
        return Target((base,)) if base in files.number else NOWHERE
    whole = one.module if one.name == "*" else f"{one.module}\\{one.name}".strip("\\")
    for prefix, folder in autoloaded(files):
        if f"{whole}\\".startswith(prefix):
            below = whole[len(prefix) :].replace("\\", "/")
            file = joined(folder, below + ".php")
            if file in files.number:
                return Target((file,))
            base = joined(folder, below)
            if base is not None and base in files.folders:
                return Target((), (base,))
    if autoloaded(files):
        return NOWHERE
    wanted = whole.replace("\\", "/") + ".php"
    found = [(_equal_end(wanted, other), other) for other in files.by_name.get(one.name + ".php", ())]
    count, file = max(found, default=(0, ""))
    return Target((file,)) if count > 1 else NOWHERE


@once_per_tree
def autoloaded(files: Files) -> list[tuple[str, str]]:
    """Return namespace prefixes with their directories, longest prefix first."""
    manifests = files.by_name.get("composer.json", [])[:_MOST_MANIFESTS]
    found = [pair for path in manifests for pair in _of_manifest(files, path)]
    return sorted(found, key=lambda pair: (-len(pair[0]), pair))


def _of_manifest(files: Files, path: str) -> list[tuple[str, str]]:
    try:
        manifest: Any = json.loads(files.text(path) or b"")
    except (ValueError, RecursionError):
        return []
    found = []
    for part in ("autoload", "autoload-dev"):
        loaded = manifest.get(part) if isinstance(manifest, dict) else None
        rules = loaded.get("psr-4") if isinstance(loaded, dict) else None
        for prefix, folders in rules.items() if isinstance(rules, dict) else ():
            for folder in folders if isinstance(folders, list) else [folders]:
                place = joined(posixpath.dirname(path), str(folder))
                if place is not None:
                    found.append((str(prefix), place))
    return found


def _equal_end(one: str, other: str) -> int:
    """Return the number of trailing components that two paths have in common."""
    count = 0
    for a, b in zip(reversed(one.split("/")), reversed(other.split("/")), strict=False):
        if a != b:
            break
        count += 1
    return count
