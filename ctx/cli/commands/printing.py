"""Printers of all commands: JSON objects, one per line and valid for every parser, and lines of text."""

from __future__ import annotations

import base64
import json
import os
import sys
from collections.abc import Iterable
from typing import Any, NamedTuple

from ctx.text.escaping import escape_control
from ctx.text.paths import quoted, relative_path


def print_json(value: dict[str, Any]) -> None:
    """Print one object as one line of UTF-8 and flush stdout."""
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


def fields_of(value: Any, **names: str) -> dict[str, Any]:
    """Return the fields of a named tuple or data class as JSON fields, in camelCase, ids as hexadecimal.

    `names` maps fields to other names; those with the name "" are left out.
    """
    fields = value.__dataclass_fields__ if hasattr(value, "__dataclass_fields__") else value._fields
    keys = {field: names.get(field, camel_case(field)) for field in fields}
    return {key: plain(getattr(value, field)) for field, key in keys.items() if key}


def camel_case(name: str) -> str:
    """Return `size_bytes` as `sizeBytes`."""
    first, *rest = name.split("_")
    return first + "".join(map(str.capitalize, rest))


def plain(value: Any) -> Any:
    """Return a value as JSON has it: records as objects, ids as hexadecimal."""
    if isinstance(value, bytes):
        return value.hex()
    if hasattr(value, "_fields") or hasattr(value, "__dataclass_fields__"):
        return fields_of(value)
    if isinstance(value, dict):
        return {key: plain(one) for key, one in value.items()}
    return [plain(one) for one in value] if isinstance(value, (list, tuple)) else value


def revision_fields(name: str, commit: str | None, tree: str) -> dict[str, str | None]:
    """Return the fields that identify a revision, the same in every object.

    `revision` is the id of the commit, or of the tree if no commit was named; `revisionName` is the requested
    name, or the branch of HEAD if none was given.
    """
    return {"revision": commit or tree, "revisionName": name, "commit": commit, "tree": tree}


def path_fields(name: str, path: str | bytes) -> dict[str, str]:
    """Return a path as JSON fields: as text, and if it is not UTF-8 also as `<name>Bytes` in base64."""
    raw = os.fsencode(path)
    try:
        return {name: raw.decode()}
    except UnicodeDecodeError:
        return {name: raw.decode("utf-8", "replace"), f"{name}Bytes": base64.b64encode(raw).decode()}


def paths_fields(name: str, paths: Iterable[str | bytes]) -> dict[str, list[str]]:
    """Return paths as JSON fields; if any is not UTF-8, also all of them as `<name>Bytes` in base64."""
    raw = [os.fsencode(path) for path in paths]
    fields = [path_fields(name, path) for path in raw]
    found = {name: [field[name] for field in fields]}
    if any(len(field) > 1 for field in fields):
        found[f"{name}Bytes"] = [base64.b64encode(path).decode() for path in raw]
    return found


def shown_path(path: str | bytes, prefix: bytes = b"") -> str:
    """Return a path of the repository for display: relative to the directory `prefix`, quoted as git does."""
    return quoted(relative_path(os.fsdecode(path), prefix))


class Result(NamedTuple):
    """Output of a command: a JSON object, the same as lines of text, and the exit status."""

    fields: dict[str, Any]
    lines: Iterable[str]
    status: int = 0


def print_lines(lines: Iterable[str]) -> None:
    """Print lines, with control characters made visible."""
    sys.stdout.write("".join(f"{escape_control(line)}\n" for line in lines))


def note(text: str, kind: str = "note") -> None:
    """Print one line on stderr, after `note:` or `warning:`, in place of a line of progress on a terminal."""
    erase = "\r\x1b[K" if sys.stderr.isatty() else ""
    sys.stderr.write(f"{erase}{kind}: {escape_control(text)}\n")


def print_result(result: Result, as_json: bool) -> int:
    """Print a result as JSON or as text, and return its exit status."""
    if as_json:
        print_json(result.fields)
    else:
        print_lines(result.lines)
    return result.status
