"""JavaScript and TypeScript: relative files, workspace packages and tsconfig paths."""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Iterator
from typing import Any

from ctx.search.dependencies.files import Files, joined, once_per_tree
from ctx.search.dependencies.types import NOWHERE, Import, Target

_EXTENSIONS = tuple(".ts .tsx .mts .cts .js .jsx .mjs .cjs .d.ts .vue .svelte .json".split())
_SOURCES_OF = {".js": (".ts", ".tsx"), ".jsx": (".tsx",), ".mjs": (".mts",), ".cjs": (".cts",)}
"""Source extensions by output extension: TypeScript imports name the compiled file."""
_MOST_PACKAGES = 300
_COMMENT = re.compile(r'("(?:\\.|[^"\\])*(?:"|\\?\Z))|//[^\n]*|/\*.*?(?:\*/|\Z)', re.DOTALL)
_TRAILING_COMMA = re.compile(r'("(?:\\.|[^"\\])*(?:"|\\?\Z))|,(?=\s*[}\]])', re.DOTALL)
"""Comments and trailing commas; strings are matched first to keep them. An unclosed one ends the text."""


def resolve(files: Files, path: str, one: Import) -> Target:
    """Return the target of an import in the file at `path`."""
    module = one.module.split("?")[0]
    if module.startswith("."):
        base = joined(posixpath.dirname(path), module)
        return NOWHERE if base is None else _target(_file(files, base))
    for base in _aliased(files, path, module):
        found = _file(files, base)
        if found is not None:
            return _target(found)
    return _target(_in_workspace(files, module))


def _target(found: str | None) -> Target:
    if found is None:
        return NOWHERE
    folder, name = posixpath.split(found)
    return Target((found,), (folder,) if name.startswith("index.") else ())


def _file(files: Files, base: str) -> str | None:
    stem, extension = posixpath.splitext(base)
    return files.first(
        base,
        *(stem + written for written in _SOURCES_OF.get(extension, ())),
        *(base + extension for extension in _EXTENSIONS),
        *(posixpath.join(base, "index" + extension) for extension in _EXTENSIONS),
    )


def _aliased(files: Files, path: str, module: str) -> Iterator[str]:
    """Yield paths for a module according to the nearest tsconfig.json and jsconfig.json."""
    for name in ("tsconfig.json", "jsconfig.json"):
        place = files.above(path, name)
        options = _json(files, place).get("compilerOptions") if place else None
        if not isinstance(options, dict) or place is None:
            continue
        root = joined(posixpath.dirname(place), str(options.get("baseUrl", ".")))
        patterns = options.get("paths")
        for pattern, targets in patterns.items() if isinstance(patterns, dict) else ():
            before, star, after = str(pattern).partition("*")
            if not (module.startswith(before) and module.endswith(after) if star else module == pattern):
                continue
            rest = module[len(before) : len(module) - len(after)] if star else ""
            for target in targets if isinstance(targets, list) else ():
                base = None if root is None else joined(root, str(target).replace("*", rest))
                if base:
                    yield base
        if "baseUrl" in options and root is not None:
            base = joined(root, module)
            if base:
                yield base


def _in_workspace(files: Files, module: str) -> str | None:
    """Return the file of a package whose source is in the tree, or None."""
    parts = module.split("/")
    size = 2 if module.startswith("@") else 1
    folder = _package_folders(files).get("/".join(parts[:size]))
    if folder is None:
        return None
    rest = "/".join(parts[size:])
    if rest:
        return _file(files, posixpath.join(folder, "src", rest)) or _file(files, posixpath.join(folder, rest))
    manifest = _json(files, posixpath.join(folder, "package.json"))
    for field in ("source", "types", "module", "main"):
        named = manifest.get(field)
        base = joined(folder, named) if isinstance(named, str) else None
        found = _file(files, base) if base else None
        if found is not None:
            return found
    return _file(files, posixpath.join(folder, "src")) or _file(files, folder)


@once_per_tree
def _package_folders(files: Files) -> dict[str, str]:
    """Return the directory of each package of the tree by name."""
    found: dict[str, str] = {}
    for path in files.by_name.get("package.json", [])[:_MOST_PACKAGES]:
        name = _json(files, path).get("name")
        if isinstance(name, str):
            found.setdefault(name, posixpath.dirname(path))
    return found


def _json(files: Files, path: str) -> dict[str, Any]:
    """Parse a JSON object with comments and trailing commas; empty if it is not an object."""
    text = (files.text(path) or b"").decode("utf-8", "replace")
    for attempt in (text, _TRAILING_COMMA.sub(r"\1", _COMMENT.sub(r"\1", text))):
        try:
            found = json.loads(attempt)
        except (ValueError, RecursionError):
            continue
        return found if isinstance(found, dict) else {}
    return {}
