"""Measure the share of imports within a project that are resolved to one of its files.

    python tests/benchmarks/dependencies.py REPOSITORY...

Import statements that can only mean the project itself are counted: relative ones in Python, JavaScript and
TypeScript; `crate`, `self` and `super` in Rust; those below the module of a `go.mod` or a namespace in
composer.json; in Java, Kotlin and C# those that begin with a package or namespace declared in the project.
Unresolved imports are printed with -v.
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from functools import partial

import ctx
from ctx.search.dependencies.edges import Dependencies
from ctx.search.dependencies.files import Files, as_bytes
from ctx.search.dependencies.reading import LANGUAGES, read_uses
from ctx.search.dependencies.resolving import golang, php
from ctx.search.dependencies.types import Import
from ctx.search.hits import corpus_of

DECLARED = {"java", "kotlin", "csharp"}


def is_own(files: Files, language: str, one: Import, packages: set[str]) -> bool:
    if language == "python":
        return one.level > 0
    if language in ("javascript", "typescript", "tsx"):
        return one.module.startswith(".")
    if language == "rust":
        return one.module.split("::")[0] in ("crate", "self", "super")
    if language == "go":
        return any(
            one.module == name or one.module.startswith(name + "/") for name, _ in golang.modules(files)
        )
    if language == "php":
        return any(f"{one.module}\\{one.name}".startswith(name) for name, _ in php.autoloaded(files))
    return one.module in packages


def measure(path: str, verbose: bool) -> None:
    with ctx.open(path) as index:
        index.index()
        view = index.session.indexer.view(index.resolve())
        files = Files(corpus_of(view), index.repository.read_blob)
        started = time.process_time()
        read = {}
        for file in files.number:
            language = files.language(file)
            uses = read_uses(files.text(file) or b"", language) if language in LANGUAGES else None
            if uses is not None:
                read[file] = language, uses
        reading = time.process_time() - started
        packages = {uses.package for language, uses in read.values() if language in DECLARED} - {""}
        own, resolved = Counter[str](), Counter[str]()
        for file, (language, uses) in read.items():
            resolve = LANGUAGES[language].resolve if language in LANGUAGES else None
            assert resolve is not None
            for one in uses.imports:
                if is_own(files, language, one, packages):
                    own[language] += 1
                    target = resolve(files, file, one)
                    resolved[language] += bool(target.files or target.folders)
                    if verbose and not (target.files or target.folders):
                        print(f"  {file}:{one.line}: {one}")
        dependencies = Dependencies(
            corpus_of(view), index.repository.read_blob, partial(index.session.record, view)
        )
        started = time.process_time()
        edges = sum(len(dependencies.outgoing([as_bytes(file)])) for file in read)
        making = time.process_time() - started
        name = path.rstrip("/").rpartition("/")[2]
        print(name, ", ".join(f"{one} {resolved[one]}/{own[one]}" for one in sorted(own)), sep=": ", end="; ")
        print(f"{edges} edges of {len(read)} files", end="; ")
        print(f"{1e3 * reading / max(1, len(read)):.1f} ms a file to read", end=", ")
        print(f"{1e3 * making / max(1, len(read)):.1f} ms to read and make edges", flush=True)


if __name__ == "__main__":
    for repository in [argument for argument in sys.argv[1:] if argument != "-v"]:
        measure(repository, "-v" in sys.argv)
