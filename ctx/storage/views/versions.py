"""Detection of files in directories of older versions, such as `v3` next to `v4`."""

from __future__ import annotations

import re

import numpy as np
import numpy.typing as npt

_VERSION = re.compile(rb"v(\d{1,4})/")
_SLASH = ord("/")


def outdated(paths: bytes, ends: npt.NDArray[np.uint32]) -> npt.NDArray[np.bool_]:
    """Return a mask of outdated files, (files,) bool; `paths` is concatenated, `ends` (files,) its ends."""
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
