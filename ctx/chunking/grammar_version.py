"""Which grammars are installed, without importing them: chunks are a function of it."""

from __future__ import annotations

import os
from functools import lru_cache
from importlib.util import find_spec

_PACKAGE = "tree_sitter_language_pack"


@lru_cache(maxsize=1)
def grammar_version() -> str:
    """The version of the wheel that carries the grammars, "0" where it cannot be told.

    Read off the name of the directory that holds its metadata (the core metadata specification): to ask
    `importlib.metadata` would import more than a whole search does.
    """
    spec = find_spec(_PACKAGE)
    if spec is None or spec.origin is None:
        return "0"
    packages = os.path.dirname(os.path.dirname(spec.origin))
    for name in sorted(os.listdir(packages)):
        if name.startswith(_PACKAGE + "-") and name.endswith(".dist-info"):
            return name[len(_PACKAGE) + 1 : -len(".dist-info")]
    return "0"
