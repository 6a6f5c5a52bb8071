"""JSON for programs: one object a line, UTF-8, valid for every parser."""

from __future__ import annotations

import base64
import json
import sys
from collections.abc import Sequence
from typing import Any


def print_json(value: dict[str, Any]) -> None:
    """Print one object as one line and hand it on at once."""
    sys.stdout.write(well_formed(json.dumps(value, ensure_ascii=False, separators=(",", ":"))) + "\n")
    sys.stdout.flush()


def well_formed(text: str) -> str:
    """The text with U+FFFD in the place of half surrogate pairs, which many JSON parsers refuse.

    They stand for the bytes of a path or of an argument that is not UTF-8.
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def path_fields(name: str, path: bytes) -> dict[str, str]:
    """A path as the fields of an object: as text, and where it is not UTF-8 also `<name>Bytes` in base64."""
    try:
        return {name: path.decode()}
    except UnicodeDecodeError:
        return {name: path.decode("utf-8", "replace"), f"{name}Bytes": base64.b64encode(path).decode()}


def paths_fields(name: str, paths: Sequence[bytes]) -> dict[str, list[str]]:
    """Several paths as the fields of an object; where one is not UTF-8 also all of them as `<name>Bytes`."""
    fields = [path_fields(name, path) for path in paths]
    found = {name: [field[name] for field in fields]}
    if any(len(field) > 1 for field in fields):
        found[f"{name}Bytes"] = [base64.b64encode(path).decode() for path in paths]
    return found
