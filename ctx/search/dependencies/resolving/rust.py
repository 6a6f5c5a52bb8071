"""Rust: modules are files below the root of their crate; crates are named by their manifests."""

from __future__ import annotations

import posixpath
import re

from ctx.search.dependencies.files import Files, once_per_tree
from ctx.search.dependencies.types import NOWHERE, Import, Target

_PACKAGE = re.compile(rb"^\[package\][^\[]*?^name\s*=\s*\"([^\"]+)\"", re.MULTILINE | re.DOTALL)
_MOST_CRATES = 300
_OWN_FOLDER = ("lib.rs", "main.rs", "mod.rs")


def resolve(files: Files, path: str, one: Import) -> Target:
    """Return the target of an import in the file at `path`."""
    parts = [part for part in one.module.split("::") if part]
    if one.name not in ("", "*"):
        parts.append(one.name)
    if not parts:
        return NOWHERE
    start = _start(files, path, parts)
    if start is None:
        return NOWHERE
    root, folder, rest = start
    found = root
    for part in rest:
        module = files.first(posixpath.join(folder, part + ".rs"), posixpath.join(folder, part, "mod.rs"))
        if module is None:
            break
        found, folder = module, posixpath.join(folder, part)
    if found is None:
        return NOWHERE
    return Target((found,), (folder,)) if folder in files.folders else Target((found,))


def _start(files: Files, path: str, parts: list[str]) -> tuple[str | None, str, list[str]] | None:
    """Return the file that a path starts from, the directory of its modules, and the rest of the path."""
    head, rest = parts[0], parts[1:]
    if head == "crate":
        root = _root(files, path)
        return None if root is None else (root, posixpath.dirname(root), rest)
    if head in ("self", "super"):
        folder = _modules_of(path)
        while head == "super":
            folder = posixpath.dirname(folder)
            head, rest = (rest[0], rest[1:]) if rest and rest[0] == "super" else ("", rest)
        return _file_of(files, folder), folder, rest
    manifest = _of_tree(files).get(head.replace("-", "_"))
    if manifest is not None:
        base = posixpath.dirname(manifest)
        root = files.first(posixpath.join(base, "src/lib.rs"), posixpath.join(base, "lib.rs"))
        return None if root is None else (root, posixpath.dirname(root), rest)
    # Since the 2018 edition a path may begin with a module next to the file.
    folder = _modules_of(path)
    if files.first(posixpath.join(folder, head + ".rs"), posixpath.join(folder, head, "mod.rs")):
        return None, folder, parts
    return None


def _modules_of(path: str) -> str:
    """Return the directory of a file's modules."""
    folder, name = posixpath.split(path)
    return folder if name in _OWN_FOLDER else posixpath.join(folder, name.removesuffix(".rs"))


def _file_of(files: Files, folder: str) -> str | None:
    """Return the file of the module whose submodules are in a directory."""
    return files.first(*(posixpath.join(folder, name) for name in _OWN_FOLDER), folder + ".rs")


def _root(files: Files, path: str) -> str | None:
    manifest = files.above(path, "Cargo.toml")
    base = posixpath.dirname(manifest) if manifest else ""
    return files.first(*(posixpath.join(base, place) for place in ("src/lib.rs", "src/main.rs", "lib.rs")))


@once_per_tree
def _of_tree(files: Files) -> dict[str, str]:
    """Return the manifest of each crate of the tree, by the crate's name in code."""
    found: dict[str, str] = {}
    for path in files.by_name.get("Cargo.toml", [])[:_MOST_CRATES]:
        if named := _PACKAGE.search(files.text(path) or b""):
            found.setdefault(named[1].decode("utf-8", "replace").replace("-", "_"), path)
    return found
