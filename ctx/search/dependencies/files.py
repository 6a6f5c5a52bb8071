"""Lookup of the files of a tree for import resolution: by path, by name, and their text.

Paths are strings, like module names; bytes that are not UTF-8 become surrogate escapes.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterator
from functools import cached_property, wraps
from typing import TypeVar
from weakref import WeakKeyDictionary

import numpy as np

from ctx.errors import Damaged
from ctx.ranking.corpus import Corpus
from ctx.storage.records import TEST
from ctx.storage.views import paths as path_flags
from ctx.text.contents import decode

Read = Callable[[bytes], bytes]
"""Return the blob of an object id. Raises KeyError and Damaged."""


Result = TypeVar("Result")


def once_per_tree(read: Callable[[Files], Result]) -> Callable[[Files], Result]:
    """Cache the result of a function of the files of a tree, as long as these are in use."""
    known: WeakKeyDictionary[Files, Result] = WeakKeyDictionary()

    @wraps(read)
    def cached(files: Files) -> Result:
        if files not in known:
            known[files] = read(files)
        return known[files]

    return cached


class Files:
    """The files of a corpus's view."""

    def __init__(self, corpus: Corpus, read: Read) -> None:
        self.corpus = corpus
        self._read = read
        self._texts: dict[str, bytes | None] = {}
        self._tests: dict[str, bool] = {}
        self._places: dict[int, tuple[str, str]] = {}

    @cached_property
    def number(self) -> dict[str, int]:
        """Index of each path in the view."""
        return {as_text(path): number for number, path in enumerate(self.corpus.view.paths)}

    @cached_property
    def by_name(self) -> dict[str, list[str]]:
        """Sorted paths by file name."""
        found: dict[str, list[str]] = {}
        for path in sorted(self.number):
            found.setdefault(posixpath.basename(path), []).append(path)
        return found

    @cached_property
    def folders(self) -> frozenset[str]:
        """All directories that contain a file at any depth; "" is the root."""
        holding = {posixpath.dirname(path) for path in self.number}
        return frozenset({"", *holding, *(above for folder in holding for above in folders_above(folder))})

    def first(self, *paths: str) -> str | None:
        """Return the first path that is a file of the tree, or None."""
        return next((path for path in paths if path in self.number), None)

    def language(self, path: str) -> str:
        """Return the language of a file, "" if it has none or is not indexed."""
        document = self.document(path)
        return "" if document < 0 else self.of_document(document)[1]

    def document(self, path: str) -> int:
        """Return the document number of a path in the corpus, -1 if it has none."""
        number = self.number.get(path)
        return -1 if number is None else int(self.corpus.file_document[number])

    def of_document(self, document: int) -> tuple[str, str]:
        """Return the representative path of a document, and its language."""
        found = self._places.get(document)
        if found is None:
            path = as_text(self.corpus.view.path(int(self.corpus.shown[document])))
            found = self._places[document] = (path, self.corpus.key(document)[1])
        return found

    def is_test(self, path: str) -> bool:
        """Return True if a file is a test by its path or by most of its chunks."""
        known = self._tests.get(path)
        if known is None:
            known = self._tests[path] = self._is_test(path)
        return known

    def _is_test(self, path: str) -> bool:
        if int(self.corpus.view.file_flags[self.number[path]]) & path_flags.TEST:
            return True
        document = self.document(path)
        if document < 0 or self.language(path) in _INLINE_TESTS:
            return False
        rows = self.corpus.rows_of(document)
        kinds = self.corpus.kinds[rows.start : rows.stop]
        return bool(2 * np.count_nonzero(kinds & TEST) > len(kinds))

    def text(self, path: str) -> bytes | None:
        """Return the text of an indexed file as UTF-8, or None if it is not indexed, missing or damaged."""
        if path not in self._texts:
            self._texts[path] = self._text(path)
        return self._texts[path]

    def _text(self, path: str) -> bytes | None:
        document = self.document(path)
        if document < 0:
            return None
        try:
            return decode(self._read(self.corpus.key(document)[0]))[0]
        except (KeyError, Damaged):
            return None

    def above(self, path: str, name: str) -> str | None:
        """Return the nearest file called `name` in the directory of a path or above it, or None."""
        return self.first(*(posixpath.join(folder, name) for folder in folders_above(path)))


_INLINE_TESTS = {"rust"}
"""Languages whose files contain the tests of their own definitions."""
_FAMILY = {"kotlin": "java", "typescript": "javascript", "tsx": "javascript"}


def family_of(language: str) -> str:
    """Return the language family; languages of one family can use each other's definitions."""
    return _FAMILY.get(language, language)


def as_text(path: bytes) -> str:
    """Decode a path; `as_bytes` is the exact inverse."""
    return path.decode("utf-8", "surrogateescape")


def as_bytes(path: str) -> bytes:
    """Encode a path that `as_text` decoded."""
    return path.encode("utf-8", "surrogateescape")


def folders_above(path: str) -> Iterator[str]:
    """Yield the directories that contain a path, the nearest first; "" is the root."""
    while path:
        path = posixpath.dirname(path)
        yield path


def joined(folder: str, *parts: str) -> str | None:
    """Return the normalized path below a folder, or None if it leaves the tree."""
    path = posixpath.normpath(posixpath.join(folder, *parts))
    if path.startswith(("../", "/")) or path == "..":
        return None
    return "" if path == "." else path
