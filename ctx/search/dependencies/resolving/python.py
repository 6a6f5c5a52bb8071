"""Python: packages and modules below directories that may be on `sys.path`."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator

from ctx.search.dependencies.files import Files, folders_above, joined
from ctx.search.dependencies.types import NOWHERE, Import, Target

_ROOTS = ("", "src", "lib", "python")


def resolve(files: Files, path: str, one: Import) -> Target:
    """Return the target of an import in the file at `path`."""
    parts = [part for part in one.module.split(".") if part]
    if one.level:
        folder: str | None = posixpath.dirname(path)
        for _ in range(one.level - 1):
            folder = joined(folder or "", "..") if folder else None
        roots: Iterator[str] = iter(()) if folder is None else iter((folder,))
    else:
        roots = _roots(path)
    for root in roots:
        base = joined(root, *parts)
        if base is None:
            continue
        if one.name not in ("", "*"):
            # The imported name may be a module of a package.
            module = _module(files, posixpath.join(base, one.name))
            if module is not None:
                return _target(module)
        module = _module(files, base) if parts else _package(files, base)
        if module is not None:
            return _target(module)
        if parts and base in files.folders and one.level == 0 and _holds_modules(files, base):
            return Target((), (base,))
    return NOWHERE


def _roots(path: str) -> Iterator[str]:
    """Yield directories to search for a module, most likely first."""
    yield from _ROOTS
    # Nearest last: only scripts import their neighbours by absolute name.
    yield from (folder for folder in reversed([*folders_above(path)]) if folder not in _ROOTS)


def _module(files: Files, base: str) -> str | None:
    return files.first(f"{base}.py", f"{base}/__init__.py", f"{base}.pyi", f"{base}/__init__.pyi")


def _package(files: Files, base: str) -> str | None:
    return files.first(posixpath.join(base, "__init__.py"), posixpath.join(base, "__init__.pyi"))


def _holds_modules(files: Files, folder: str) -> bool:
    """Return True if a directory contains Python files (a package without `__init__.py`)."""
    return any(posixpath.dirname(path) == folder and path.endswith(".py") for path in files.number)


def _target(module: str) -> Target:
    folder, name = posixpath.split(module)
    return Target((module,), (folder,) if name.startswith("__init__.") else ())
