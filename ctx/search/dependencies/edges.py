"""Dependency edges between files, in both directions.

A name resolves to a definition of the same name: first in an imported file, then in the same package if the
language needs no import for that, then to the only definition in the tree. Ambiguous names are not resolved,
so edges may be missing but are never guessed. All work is bounded and depends on the tree only.
"""

from __future__ import annotations

import posixpath
from collections.abc import Collection, Iterable, Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING

import numpy as np

from ctx.ranking.corpus import Corpus
from ctx.search.dependencies.files import Files, Read, as_bytes, as_text, family_of
from ctx.search.dependencies.reading import LANGUAGES, read_uses
from ctx.search.dependencies.types import IMPORTS, NOWHERE, REFERENCES, TESTS, Edge, Import, Target, Uses
from ctx.search.dependencies.users import likely_users
from ctx.storage.records import decode_record
from ctx.storage.views.segments import Records
from ctx.text.terms import DEFINITION
from ctx.text.vocabulary import exact_hashes

if TYPE_CHECKING:
    from ctx.chunking.grammars import Parse

MOST_EDGES = 200
"""Maximum number of edges of one file: imports first, then by line."""
MOST_USERS = 40
"""Maximum number of files read to find the users of a file."""
MOST_BYTES = 512 << 10
"""Maximum bytes of text read to find users of files. Parsing takes half a second per megabyte."""
_MOST_DEFINITIONS = 24
"""Names defined in more files than this are not resolved."""
_MIN_DISTINCT = 4
"""Minimum length of a name that may resolve to the only definition in the tree."""

_BY_PACKAGE = {"go", "java", "kotlin", "csharp", "php"}
"""Languages in which files of one package see each other without an import."""


class Dependencies:
    """Dependency edges of one tree. Caches what it reads; create a new instance for another tree."""

    def __init__(self, corpus: Corpus, read: Read, records: Records, parse: Parse | None = None) -> None:
        """Initialize; `parse` replaces the parser, for callers that cache parses."""
        self._corpus = corpus
        self._records = records
        self._parse = parse
        self._files = Files(corpus, read)
        self._known: dict[str, list[Edge]] = {}
        self._read: dict[str, Uses | None] = {}
        self._targets: dict[str, list[tuple[Import, Target]]] = {}
        self._definers: dict[str, Sequence[int]] = {}

    def resolves(self, path: bytes) -> bool:
        """Return True if a file is in the tree and in a supported language. Reads nothing."""
        name = as_text(path)
        return name in self._files.number and self._files.language(name) in LANGUAGES

    def size(self, path: bytes) -> int | None:
        """Return the size of a file in bytes, or None if its edges cannot be resolved."""
        return len(self._files.text(as_text(path)) or b"") if self.resolves(path) else None

    def outgoing(self, paths: Iterable[bytes]) -> list[Edge]:
        """Return the edges from files, in the order given; imports first, then by line."""
        return [edge for path in paths for edge in self._edges(as_text(path))]

    def by_names(self, path: bytes, names: Collection[str]) -> list[Edge]:
        """Return the imports of a file and its uses of `names`; much faster than looking up all its names."""
        return self._make(as_text(path), names)

    def incoming(self, paths: Iterable[bytes], most: int = MOST_USERS) -> list[Edge]:
        """Return the edges to files, sorted by target in the order given, then by source and line.

        For each file, at most `most` others are read, starting with those that contain most of the rare names
        it defines. At most MOST_BYTES are read in all.
        """
        wanted = list(dict.fromkeys(paths))
        likely = [likely_users(self._files, as_text(path), self._names_in(path), most) for path in wanted]
        users = self._within_bytes(likely)
        self._look_up({name for user in users for name in _names_of(self._uses(user))})
        place = {path: number for number, path in enumerate(wanted)}
        found = [edge for user in users for edge in self._edges(user) if edge.target_path in place]
        return sorted(found, key=lambda edge: (place[edge.target_path], edge.source_path, edge.line, edge))

    def _names_in(self, path: bytes) -> list[str]:
        """Return the names that a file defines, in order. Raises `Damaged`."""
        document = self._files.document(as_text(path))
        if document < 0:
            return []
        cluster = self._corpus.view.cluster_of(self._files.number[as_text(path)])
        record = decode_record(self._records(cluster, self._corpus.key(document)))
        return list(dict.fromkeys(name for own in record.names for name in own))

    def _within_bytes(self, lists: Sequence[Sequence[str]]) -> list[str]:
        """Return files of the lists, interleaved by rank, up to MOST_BYTES of text."""
        left = MOST_BYTES
        chosen: dict[str, None] = {}
        for user in dict.fromkeys(user for rank in zip_longest(*lists) for user in rank if user is not None):
            left -= len(self._files.text(user) or b"")
            if left < 0 and chosen:
                break
            chosen[user] = None
        return list(chosen)

    def _edges(self, path: str) -> list[Edge]:
        known = self._known.get(path)
        if known is None:
            known = self._known[path] = self._make(path)
        return known

    def _make(self, path: str, only: Collection[str] | None = None) -> list[Edge]:
        uses = self._uses(path)
        if uses is not None and only is not None:
            names, members = (
                {name: line for name, line in own.items() if name in only}
                for own in (uses.names, uses.members)
            )
            uses = uses._replace(names=names, members=members)
        return [] if uses is None else self._resolved(path, uses)[:MOST_EDGES]

    def _uses(self, path: str) -> Uses | None:
        """Return the uses of a file, or None if it is not in the tree, not indexed, or not supported."""
        if path not in self._read:
            language = self._files.language(path) if path in self._files.number else ""
            text = self._files.text(path) if language in LANGUAGES else None
            self._read[path] = None if text is None else read_uses(text, language, self._parse)
        return self._read[path]

    def _resolved(self, path: str, uses: Uses) -> list[Edge]:
        language = self._files.language(path)
        resolve = LANGUAGES[language].resolve
        if path not in self._targets:
            self._targets[path] = [(one, resolve(self._files, path, one)) for one in uses.imports]
        targets = self._targets[path]
        imported_names = {one.name for one, _ in targets} - {"", "*"}
        names = _names_of(uses)
        self._look_up(names)
        defined = self._defined(path, language, names)
        edges: dict[tuple[str, str], tuple[str, int]] = {}

        def add(target: str, symbol: str, relation: str, line: int) -> None:
            if target != path:
                edges.setdefault((target, symbol), (relation, line))

        external = set()
        for one, target in targets:
            name = one.name if one.name not in ("", "*") else ""
            for file in target.files:
                add(file, name or _last(one.module), IMPORTS, one.line)
            if not (target.files or target.folders):
                external.add(name or _last(one.module))
            elif name and not set(defined.get(name, ())) & set(target.files):
                # Imported from a file that re-exports it, or from a package.
                reexported = _nearest(defined.get(name, []), target.folders)
                if len(reexported) == 1:
                    add(reexported[0], name, IMPORTS, one.line)
        files = {file for _, target in targets for file in target.files}
        folders = tuple({folder for _, target in targets for folder in target.folders})
        if language in _BY_PACKAGE:
            package = Import(uses.package, "*", 0)
            own = resolve(self._files, path, package) if uses.package else NOWHERE
            folders = (*folders, posixpath.dirname(path), *own.folders)
        for name, line in sorted({**uses.members, **uses.names}.items(), key=lambda pair: (pair[1], pair[0])):
            candidates = defined.get(name)
            if not candidates or name in external or (name.startswith("__") and name.endswith("__")):
                continue
            relation = IMPORTS if name in imported_names else REFERENCES
            near = [file for file in candidates if file in files] or _directly_in(candidates, folders)
            if len(near) > 1:
                near = [file for file in near if _stem(file) == name]
            if not near and len(candidates) == 1 and self._may_be_only(name, name in uses.members, language):
                near = candidates
            if len(near) == 1:
                add(near[0], name, relation, line)
        from_test = self._files.is_test(path)
        found = [
            Edge(
                as_bytes(path),
                as_bytes(target),
                TESTS if from_test and not self._files.is_test(target) else relation,
                symbol,
                line,
            )
            for (target, symbol), (relation, line) in edges.items()
        ]
        imported = {key[0] for key, (relation, _) in edges.items() if relation == IMPORTS}
        found.sort(
            key=lambda edge: (
                as_text(edge.target_path) not in imported,
                edge.line,
                edge.target_path,
                edge.symbol,
            )
        )
        return found

    @staticmethod
    def _may_be_only(name: str, is_member: bool, language: str) -> bool:
        """Return True if a name is distinct enough to resolve to its only definition without an import."""
        if len(name) < _MIN_DISTINCT or name.startswith("__"):
            return False
        distinct = "_" in name.strip("_") or any(letter.isupper() for letter in name[1:])
        return distinct and (is_member or language in _BY_PACKAGE)

    def _look_up(self, names: Iterable[str]) -> None:
        """Cache the documents that define each name exactly."""
        new = sorted(set(names) - self._definers.keys())
        hashes = dict(zip(new, exact_hashes(new), strict=True))
        self._definers.update(dict.fromkeys(new, ()))
        known = {name: hashed for name, hashed in hashes.items() if hashed >= 0}
        term, owner = self._corpus.find_documents(np.array([*known.values()], dtype=np.int64) ^ DEFINITION)
        by_name = np.split(owner, np.searchsorted(term, np.arange(1, len(known))))
        self._definers.update((name, own.tolist()) for name, own in zip(known, by_name, strict=False))

    def _defined(self, path: str, language: str, names: Iterable[str]) -> dict[str, list[str]]:
        """Return the files that define each name, except names that this file defines itself.

        Definitions in tests are visible only to tests.
        """
        own = self._files.document(path)
        family, is_test = family_of(language), self._files.is_test(path)
        defined: dict[str, list[str]] = {}
        for name in names:
            documents = self._definers[name]
            if not 0 < len(documents) <= _MOST_DEFINITIONS or own in documents:
                continue
            places = [self._files.of_document(document) for document in documents]
            files = sorted(
                file
                for file, of in places
                if family_of(of) == family and (is_test or not self._files.is_test(file))
            )
            if files:
                defined[name] = files
        return defined


def _names_of(uses: Uses | None) -> list[str]:
    """Return all names that may resolve to another file, imported ones first."""
    if uses is None:
        return []
    imported = (one.name for one in uses.imports if one.name not in ("", "*"))
    return list(dict.fromkeys([*imported, *uses.names, *uses.members]))


def _last(module: str) -> str:
    """Return the last component of a module name."""
    name = module.strip("./")
    if "/" in module:
        return _stem(name) or name
    for separator in ("::", "\\", "."):
        name = name.rpartition(separator)[2]
    return name


def _stem(path: str) -> str:
    """Return the name of a file up to its first dot."""
    return posixpath.basename(path).partition(".")[0]


def _nearest(files: list[str], folders: Sequence[str]) -> list[str]:
    """Return the files directly in `folders`, else those below them, else all."""
    below = [file for file in files if any(_is_below(file, folder) for folder in folders)]
    return _directly_in(below, folders) or below or files


def _directly_in(files: Iterable[str], folders: Sequence[str]) -> list[str]:
    return [file for file in files if posixpath.dirname(file) in folders]


def _is_below(file: str, folder: str) -> bool:
    return not folder or file.startswith(folder + "/")
