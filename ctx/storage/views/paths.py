"""Classification of files by path: test, example, vendored, documentation, outdated and others."""

from __future__ import annotations

import re

import numpy as np
import numpy.typing as npt

from ctx.chunking.languages import content_class

TEST = 1
EXAMPLE = 2
VENDORED = 4
DOCS = 8
CONFIG = 16
DATA = 32
DECLARATIONS = 64
"""Files that repeat definitions of others: type stubs, re-exports, package headers."""
LEGACY = 128
"""Files kept for compatibility, and old versions found by `outdated`."""

_CONTENT = {"code": 0, "docs": DOCS, "config": CONFIG, "data": DATA}

_TEST = re.compile(
    rb"(^|/)(tests?|specs?|testing|__tests__|testdata|test[_-]?(utils?|helpers?|fixtures?|support)|fixtures?"
    rb"|(unit|integration|functional|acceptance|smoke)[_-]?tests?|e2e|androidTest|benchmarks?)/"
    rb"|(^|/)(test|tests|conftest)[_.-][^/]*$|(^|/)conftest\.py$"
    rb"|[a-z0-9](Test|Tests|TestCase|Spec|Specs|IT|Suite)\.(java|kt|kts|cs|php|scala|swift|groovy|fs|vb)$"
)
_TEST_NAME = re.compile(rb"[_.-](test|tests|spec|specs|bench)\.[^/]")
"""For the last component alone: to anchor it in a whole path takes quadratic time in a long component."""
_EXAMPLE = re.compile(
    rb"(^|/)(_?examples?|samples?|demos?|tutorials?|docs?_src|playground|cookbook|snippets)/|(^|/)example[_.-]",
    re.I,
)
_VENDORED = re.compile(
    rb"(^|/)(vendor|vendored|_vendor|third[_-]?party|node_modules|bower_components|deps|extern(al)?)/", re.I
)
_LEGACY = re.compile(rb"(^|/)(_?compat|legacy|deprecated|attic|old)(/|\.[a-z]+$)", re.I)
_VERSION = re.compile(rb"v(\d{1,4})/")
_SLASH = ord("/")
_DECLARATIONS = re.compile(rb"\.d\.[mc]?ts$|\.pyi$|(^|/)(__init__\.py|package-info\.java)$")


def flags(path: bytes, language: str | None) -> int:
    """Return the flags of a file, in one byte."""
    found = _CONTENT[content_class(language, path)]
    for pattern, flag in (
        (_TEST, TEST),
        (_EXAMPLE, EXAMPLE),
        (_VENDORED, VENDORED),
        (_LEGACY, LEGACY),
        (_DECLARATIONS, DECLARATIONS),
    ):
        if pattern.search(path):
            found |= flag
    if _TEST_NAME.search(path, path.rfind(b"/") + 1):
        found |= TEST
    return found


def outdated(paths: bytes, ends: npt.NDArray[np.uint32]) -> npt.NDArray[np.bool_]:
    """Return a mask of the files in directories of older versions, such as `v3` next to `v4`, (files,) bool.

    `paths` is concatenated, `ends` (files,) its ends.
    """
    versions: list[tuple[int, bytes, int]] = []
    newest: dict[bytes, int] = {}
    for match in _VERSION.finditer(paths):
        file = int(np.searchsorted(ends, match.start(), side="right"))
        start = int(ends[file - 1]) if file else 0
        if match.end() > ends[file] or (match.start() > start and paths[match.start() - 1] != _SLASH):
            continue  # the match crosses into the next path, or is the end of a longer name
        folder, version = paths[start : match.start()], int(match[1])
        versions.append((file, folder, version))
        newest[folder] = max(version, newest.get(folder, 0))
    found = np.zeros(len(ends), dtype=bool)
    found[[file for file, folder, version in versions if version < newest[folder]]] = True
    return found
