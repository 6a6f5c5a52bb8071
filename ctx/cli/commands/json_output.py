"""JSON output: one object per line, UTF-8, valid for every parser."""

from __future__ import annotations

import base64
import json
import sys
from collections.abc import Sequence
from typing import Any


def print_json(value: dict[str, Any]) -> None:
    """Print one object as one line and flush stdout."""
    sys.stdout.write(well_formed(json.dumps(value, ensure_ascii=False, separators=(",", ":"))) + "\n")
    sys.stdout.flush()


def well_formed(text: str) -> str:
    """Replace lone surrogates by U+FFFD, because many JSON parsers reject them.

    They represent the bytes of a path or of an argument that is not UTF-8.
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def revision_fields(name: str, commit: bytes | None, tree: bytes) -> dict[str, str | None]:
    """Return the fields that identify a revision, the same in every object.

    `revision` is the id of the commit, or of the tree if no commit was named; `revisionName` is the requested
    name, or the branch of HEAD if none was given.
    """
    return {
        "revision": (commit or tree).hex(),
        "revisionName": name,
        "commit": commit.hex() if commit else None,
        "tree": tree.hex(),
    }


def path_fields(name: str, path: bytes) -> dict[str, str]:
    """Return a path as JSON fields: as text, and if it is not UTF-8 also as `<name>Bytes` in base64."""
    try:
        return {name: path.decode()}
    except UnicodeDecodeError:
        return {name: path.decode("utf-8", "replace"), f"{name}Bytes": base64.b64encode(path).decode()}


def paths_fields(name: str, paths: Sequence[bytes]) -> dict[str, list[str]]:
    """Return paths as JSON fields; if any is not UTF-8, also all of them as `<name>Bytes` in base64."""
    fields = [path_fields(name, path) for path in paths]
    found = {name: [field[name] for field in fields]}
    if any(len(field) > 1 for field in fields):
        found[f"{name}Bytes"] = [base64.b64encode(path).decode() for path in paths]
    return found
