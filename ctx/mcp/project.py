"""The project that a server serves: what each tool does, as text and as plain values.

Every call looks at the repository as it is then. An index is opened anew now and then, so that what a
process keeps of many trees does not grow.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import ctx
from ctx.citations import citation
from ctx.commands.printable import printable
from ctx.contents import MAX_SIZE, content_skip, decode
from ctx.engine import RepositoryIndex
from ctx.errors import CtxError, NotARepository, UsageError
from ctx.mcp.budget import counter
from ctx.mcp.tools import CODE_SEARCH, FIND_RELATED, MAX_TOKENS, READ_LINES
from ctx.values import Answer, Hit, Progress

_CALLS = 200
"""An index is closed and opened again after so many."""
_LIMIT = 10
_FEWEST_LINES = 6
"""A hit is shown with at least so many lines, or not at all."""

Report = Callable[[Progress], None]


class Reply(NamedTuple):
    """What a tool says: text for the model, and the same without the code as plain values."""

    text: str
    values: dict[str, Any]


class Project:
    """One project. Calls must not overlap."""

    def __init__(self, root: str) -> None:
        self.root = os.path.abspath(root)
        self._index: RepositoryIndex | None = None
        self._calls = 0

    def close(self) -> None:
        """Let go of the repository."""
        if self._index is not None:
            self._index.close()
            self._index = None

    def call(self, name: str, arguments: dict[str, Any], progress: Report | None = None) -> Reply:
        """Run one tool with checked arguments. Raises CtxError with the way out."""
        if not os.path.isdir(self.root):
            self.close()
            raise NotARepository(f"the project's directory {self.root} is not there any more")
        if self._calls % _CALLS == 0:
            self.close()
        self._calls += 1
        if self._index is None:
            self._index = ctx.open(self.root)
        # A setting that was changed meanwhile counts from now on.
        self._index.repository.__dict__.pop("settings", None)
        tools: dict[str, Callable[[dict[str, Any], Report | None], Reply]] = {
            CODE_SEARCH.name: self._search,
            FIND_RELATED.name: self._related,
            READ_LINES.name: self._read,
        }
        return tools[name](arguments, progress)

    @property
    def _opened(self) -> RepositoryIndex:
        assert self._index is not None, "a call opens it"
        return self._index

    def _search(self, given: dict[str, Any], progress: Report | None) -> Reply:
        within = given.get("changedIn")
        if within is not None and "revision" in given:
            raise UsageError("changedIn names its revisions itself: leave revision out")
        answer = self._opened.search(
            given["text"],
            limit=given.get("limit", _LIMIT),
            paths=_paths(given),
            revision=given.get("revision"),
            within=within,
            progress=progress,
        )
        return self._told(
            answer, given.get("maxTokens", MAX_TOKENS), "no code answers this: ask in other words"
        )

    def _related(self, given: dict[str, Any], progress: Report | None) -> Reply:
        answer = self._opened.related(
            given["place"], limit=given.get("limit", _LIMIT), paths=_paths(given), progress=progress
        )
        return self._told(answer, given.get("maxTokens", MAX_TOKENS), "no code is like this")

    def _read(self, given: dict[str, Any], progress: Report | None) -> Reply:
        count, most = counter(), given.get("maxTokens", MAX_TOKENS)
        if ("path" in given) == ("citation" in given):
            raise UsageError("read_lines needs either path or citation")
        if "citation" in given:
            cited = self._opened.cited(given["citation"])
            name, first, lines = cited.blob.hex(), cited.first, cited.text.split("\n")
            blob: str | None = name
        else:
            name = given["path"]
            text, blob = self._file(name, given.get("revision"))
            lines = text.split("\n")
            if lines and not lines[-1]:
                lines.pop()
            first = given.get("startLine", 1)
            last = min(given.get("endLine", len(lines)), len(lines))
            if first > len(lines) or last < first:
                raise UsageError(f"{name} has {len(lines)} lines: startLine {first} leads nowhere")
            lines = lines[first - 1 : last]
        shown = len(lines)
        while True:
            head = f"{printable(name)}:{first}-{first + shown - 1}"
            rest = (
                ""
                if shown == len(lines)
                else f"\n[{len(lines) - shown} more lines: startLine {first + shown}]"
            )
            reply = f"{head}\n{_numbered(lines[:shown], first)}{rest}"
            values = {
                "path": printable(name),
                "startLine": first,
                "endLine": first + shown - 1,
                "blob": blob,
                "truncated": shown < len(lines),
            }
            if count(reply) + count(json.dumps(values)) <= most or not shown:
                return Reply(reply, values)
            shown = shown * 3 // 4 if shown > 1 else 0

    def _file(self, path: str, revision: str | None) -> tuple[str, str | None]:
        """The text of a file of the project and the id of its blob, None for a file as it lies on disk."""
        repository = self._opened.repository
        name = os.fsencode(path)
        if name.startswith(b"/") or b".." in name.split(b"/") or b"\0" in name:
            raise UsageError(f"{path!r} is no path inside the project: give it from the project's root")
        if repository.work_tree is not None and revision is None:
            full = os.path.join(os.fsencode(repository.work_tree), name)
            inside = os.path.realpath(os.fsencode(repository.work_tree)) + b"/"
            real = os.path.realpath(full)
            if not real.startswith(inside) or b".git" in real[len(inside) :].split(b"/"):
                raise UsageError(f"{path!r} leads out of the project")
            if not os.path.isfile(real):
                raise UsageError(
                    f"there is no file {path!r} here: code_search finds files, revision names another tree"
                )
            if os.path.getsize(real) > MAX_SIZE:
                raise UsageError(f"{path!r} is larger than {MAX_SIZE:,} bytes")
            with open(real, "rb") as file:
                return _text(path, file.read()), None
        tree = self._opened.resolve(revision).tree
        *folders, last = name.split(b"/")
        for folder in [*folders, last]:
            entries = {entry.name: entry for entry in repository.tree_entries(tree)}
            if folder not in entries:
                raise UsageError(f"there is no {path!r} in this tree")
            tree = entries[folder].oid
        try:
            blob = repository.read_blob(tree)
        except KeyError:
            raise UsageError(f"{path!r} is no file that is here") from None
        return _text(path, blob), tree.hex()

    def _told(self, answer: Answer, most: int, nothing: str) -> Reply:
        """An answer within `most` tokens, both of its forms counted."""
        count = counter()
        values: dict[str, Any] = {
            "revision": printable(answer.revision),
            "tree": answer.tree.hex(),
            "complete": answer.coverage.complete,
            "message": None if answer.message is None else printable(answer.message),
            "hits": [],
        }
        parts = [f"note: {values['message']}"] if answer.message else []
        if not answer.hits:
            parts.append(nothing)
        for hit in answer.hits:
            value = _value(hit)
            lines = (self._opened.text(hit) or "").split("\n")
            shown = len(lines)
            while True:
                part = _shown(hit, lines, shown)
                used = count("\n".join([*parts, part])) + count(
                    json.dumps(values | {"hits": [*values["hits"], value]}, ensure_ascii=False)
                )
                if used <= most:
                    break
                shown = shown // 2 if shown >= 2 * _FEWEST_LINES else 0
                if not shown:
                    break
            if used > most:
                break
            parts.append(part)
            values["hits"].append(value)
        return Reply(
            "\n".join(parts) or f"what was found needs more than {most} tokens: raise maxTokens", values
        )


def _value(hit: Hit) -> dict[str, Any]:
    position = hit.position
    return {
        "path": printable(os.fsdecode(hit.path)),
        "startLine": position.start_line,
        "endLine": position.end_line,
        "symbol": printable(hit.symbol),
        "score": round(hit.score, 3),
        "citation": citation(hit.blob, position.start_line, position.end_line, 12),
    }


def _shown(hit: Hit, lines: Sequence[str], shown: int) -> str:
    value = _value(hit)
    change = f" ({hit.change.state})" if hit.change is not None else ""
    copy = f" ({hit.duplicate})" if hit.duplicate else ""
    head = f"{value['path']}:{value['startLine']}-{value['endLine']} {value['symbol']}{change}{copy}"
    rest = "" if shown == len(lines) else f"\n[{len(lines) - shown} more lines]"
    return f"{head}  [{value['citation']}]\n{_numbered(lines[:shown], hit.position.start_line)}{rest}"


def _numbered(lines: Sequence[str], first: int) -> str:
    return "\n".join(f"{number}\t{printable(line)}" for number, line in enumerate(lines, first))


def _paths(given: dict[str, Any]) -> list[str]:
    wanted = given.get("pathFilter")
    if wanted is None:
        return []
    if os.path.isabs(wanted) or ".." in wanted.split("/"):
        raise UsageError(f"{wanted!r} leads out of the project: give a path from its root")
    return [wanted if wanted.startswith(":") else f":(top){wanted}"]


def _text(path: str, blob: bytes) -> str:
    reason = content_skip(blob)
    if reason == "binary":
        raise CtxError(f"{path!r} is binary")
    return decode(blob)[0].decode("utf-8", "replace")
