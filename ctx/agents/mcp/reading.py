"""The tool `read_lines`: lines of a file of the project or of a cited blob, never of files outside."""

from __future__ import annotations

import os
import stat
from typing import Any

from ctx.agents.mcp.replies import Reply, as_json, numbered
from ctx.agents.mcp.tools import MAX_TOKENS
from ctx.errors import CtxError, UsageError
from ctx.index import Index
from ctx.text.contents import MAX_SIZE, content_skip, decode
from ctx.text.escaping import escape_control
from ctx.text.pluralize import pluralize
from ctx.text.tokens import counter


def read_lines(index: Index, given: dict[str, Any]) -> Reply:
    """Return the requested lines, as many as fit. Raises CtxError."""
    count, most = counter(), given.get("maxTokens", MAX_TOKENS)
    if ("path" in given) == ("citation" in given):
        raise UsageError("read_lines needs either path or citation")
    if "citation" in given:
        cited = index.cited(given["citation"])
        name, first, lines = cited.blob, cited.first, cited.text.split("\n")
        blob: str | None = name
    else:
        name = given["path"]
        text, blob = _file(index, name, given.get("revision"))
        lines = text.split("\n")
        if lines and not lines[-1]:
            lines.pop()
        first = given.get("startLine", 1)
        last = min(given.get("endLine", len(lines)), len(lines))
        if first > len(lines):
            raise UsageError(f"{name} has {pluralize(len(lines), 'line')}: startLine {first} is past its end")
        if last < first:
            raise UsageError(f"endLine {last} is before startLine {first}")
        lines = lines[first - 1 : last]
    lines = numbered(lines, first)
    shown = len(lines)
    while True:
        head = f"{escape_control(name)}:{first}-{first + shown - 1}"
        more = f"\n[{pluralize(len(lines) - shown, 'more line')}: startLine {first + shown}]"
        text = "\n".join(lines[:shown])
        reply = f"{head}\n{text}{more if shown < len(lines) else ''}"
        values = {
            "path": escape_control(name),
            "startLine": first,
            "endLine": first + shown - 1,
            "blob": blob,
            "truncated": shown < len(lines),
        }
        if count(reply) + count(as_json(values)) <= most or not shown:
            return Reply(reply, values)
        shown = shown * 3 // 4 if shown > 1 else 0


def inside(path: str) -> bytes:
    """Return a path from the project's root as bytes. Raises UsageError if it leads out of the project."""
    name = os.fsencode(path)
    if name.startswith(b"/") or b".." in name.split(b"/"):
        raise UsageError(f"{path!r} is not a path inside the project: give it from the project's root")
    return name


def _file(index: Index, path: str, revision: str | None) -> tuple[str, str | None]:
    """Return the text of a file and its blob id, None for a file of the work tree. Raises CtxError."""
    repository = index.repository
    name = inside(path)
    if repository.work_tree is not None and revision is None:
        full = os.path.join(os.fsencode(repository.work_tree), name)
        top = os.path.realpath(os.fsencode(repository.work_tree)) + b"/"
        real = os.path.realpath(full)
        if not real.startswith(top) or b".git" in real[len(top) :].lower().split(b"/"):
            raise UsageError(f"{path!r} leads out of the project")
        if not os.path.isfile(real):
            raise UsageError(
                f"there is no file {path!r} here: code_search finds files, revision names another tree"
            )
        try:
            with open(real, "rb") as file:
                blob = file.read(MAX_SIZE + 1)
        except OSError as error:
            raise CtxError(f"{path!r} cannot be read: {error.strerror}") from None
        if len(blob) > MAX_SIZE:
            raise UsageError(f"{path!r} is larger than {MAX_SIZE:,} bytes")
        return _text(path, blob), None
    oid = index.resolve(revision).tree
    parts = [part for part in name.split(b"/") if part not in (b"", b".")]
    try:
        for place, part in enumerate(parts):
            entry = next((entry for entry in repository.tree_entries(oid) if entry.name == part), None)
            if entry is None or (place < len(parts) - 1 and not stat.S_ISDIR(entry.mode)):
                raise UsageError(f"there is no {path!r} in this tree: code_search with revision finds files")
            oid = entry.oid
        blob = repository.read_small_blob(oid, MAX_SIZE)
    except KeyError:
        raise UsageError(f"{path!r} is not a file, or its blob is missing here") from None
    return _text(path, blob), oid.hex()


def _text(path: str, blob: bytes) -> str:
    reason = content_skip(blob)
    if reason == "binary":
        raise CtxError(f"{path!r} is binary")
    return decode(blob)[0].decode("utf-8", "replace")
