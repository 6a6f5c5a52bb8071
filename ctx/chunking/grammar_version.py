"""The version of the installed grammars, read without importing them: chunks depend on it."""

from __future__ import annotations

import os
from functools import lru_cache
from importlib.util import find_spec

_PACKAGE = "tree_sitter_language_pack"


@lru_cache(maxsize=1)
def grammar_version() -> str:
    """Return the version of the wheel that has the grammars, "0" if it is unknown.

    Read from the name of its metadata directory (core metadata specification): importing `importlib.metadata`
    costs more than a whole search.
    """
    spec = find_spec(_PACKAGE)
    if spec is None or spec.origin is None:
        return "0"
    packages = os.path.dirname(os.path.dirname(spec.origin))
    for name in sorted(os.listdir(packages)):
        if name.startswith(_PACKAGE + "-") and name.endswith(".dist-info"):
            return name[len(_PACKAGE) + 1 : -len(".dist-info")]
    return "0"
