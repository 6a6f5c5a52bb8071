"""Tools and resources of packs: make, list and read them. Reads only packs of the store.

No argument names a file outside the tree: error logs are supported on the command line only.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from ctx.agents.mcp.replies import Reply, as_json
from ctx.agents.mcp.tools import SCHEME
from ctx.errors import CtxError, StoreUnusable, UsageError
from ctx.index import Index
from ctx.pack.manifest import encode, manifest
from ctx.text.escaping import escape_control
from ctx.text.tokens import counter
from ctx.text.wording import format_size, format_time

if TYPE_CHECKING:
    from ctx.pack.store import StoredPack
    from ctx.pack.types import Pack

MOST = 100
"""Maximum number of packs to list, newest first."""
MIME = {"markdown": "text/markdown", "xml": "application/xml", "json": "application/json"}

MANIFEST = "/manifest"
"""Suffix that turns the URI of a pack into that of its manifest."""
_TOKENS = 2_000
"""Maximum tokens of the manifest in an answer."""
_IN_SHORT = ("schemaVersion", "excerptStrategy", "task", "maxFiles", "format", "hints", "queryTerms")
"""Fields of a manifest, other than files, that an answer includes."""
_LONGEST_TASK = 400
"""Maximum characters of the task in a truncated manifest."""
_MOST_NAMED = 20
"""Maximum entries of each list in a truncated manifest."""

_URI = re.compile(re.escape(SCHEME) + r"([a-z0-9][a-z0-9-]{0,63})" + rf"({re.escape(MANIFEST)})?")


class Text(NamedTuple):
    """Text of a resource with its MIME type."""

    mime_type: str
    text: str


def make_pack(index: Index, given: dict[str, Any]) -> Reply:
    """Make and keep a pack, or an update of one with what has changed. Raises CtxError."""
    from ctx.pack.types import PackOptions
    from ctx.pack.updating import UpdateOptions

    task, options = given.get("task"), _options(given)
    if "update" in given:
        parent = index.packs.read(index.packs.find(given["update"]))
        made = index.update_pack(parent, UpdateOptions(task, **options))
    elif task is None:
        raise UsageError("pack needs task, or update")
    else:
        made = index.pack(task, PackOptions()._replace(**options))
    pack, kept, notes = made.pack, False, [made.pack.message] if made.pack.message else []
    if pack.files or pack.delta is not None:
        try:
            index.packs.write(pack, made.prompt)
            kept = True
        except StoreUnusable as error:
            notes.append(f"the pack is not kept: {error}")
    else:
        notes.append("nothing in this tree matches the task: rephrase it")
    message = escape_control("; ".join(notes)) or None
    values = _plain(pack, kept=kept) | {"message": message}
    return Reply(made.prompt if pack.files or pack.delta is not None else str(message), values)


def list_packs(index: Index, _: dict[str, Any]) -> Reply:
    """Return the newest packs, at most MOST."""
    packs = index.packs.list()
    lines = [
        f"{format_time(one.created // 10**9)}  {format_size(one.size)}  {one.slug}" for one in packs[:MOST]
    ]
    if len(packs) > MOST:
        lines.append(f"[{len(packs) - MOST:,} older ones]")
    values = [
        {"slug": one.slug, "createdAt": one.created // 10**9, "sizeBytes": one.size, "uri": SCHEME + one.slug}
        for one in packs[:MOST]
    ]
    return Reply("\n".join(lines) or "there is no pack yet", {"packs": values, "total": len(packs)})


def read_pack(index: Index, given: dict[str, Any]) -> Reply:
    """Return the text of a stored pack. Raises CtxError."""
    pack = index.packs.read(index.packs.find(given["slug"]))
    message = None
    if pack.delta is not None and pack.delta.complete is None and not index.packs.has(pack.delta.parent):
        message = (
            f"it refers to {pack.delta.parent}, which is gone: pack with update {pack.slug} sends all again"
        )
    return Reply(index.packs.prompt(pack), _plain(pack, kept=True) | {"message": message})


def resources(index: Index) -> Sequence[StoredPack]:
    """Return the packs to list as resources."""
    return index.packs.list()[:MOST]


def read_resource(index: Index, uri: str) -> Text:
    """Return the resource at a URI: the text of a pack or its manifest. Raises CtxError."""
    found = _URI.fullmatch(uri)
    if found is None or not index.packs.has(found[1]):
        raise CtxError(f"there is no resource {uri!r}: resources/list names those that are there")
    pack = index.packs.read(found[1])
    if found[2]:
        return Text(MIME["json"], encode(pack).decode())
    return Text(MIME[pack.options.format], index.packs.prompt(pack))


def _options(given: dict[str, Any]) -> dict[str, Any]:
    names = {"budgetTokens": "budget", "maxFiles": "max_files", "tokenizer": "tokenizer"}
    return {ours: given[name] for name, ours in names.items() if name in given}


def _plain(pack: Pack, *, kept: bool) -> dict[str, Any]:
    """Return a pack as plain values, its manifest truncated to fit; `manifestUri` names all of it."""
    values = {
        "slug": pack.slug,
        "parentPack": pack.delta.parent if pack.delta is not None else None,
        "revision": pack.commit or pack.tree,
        "revisionName": escape_control(pack.revision),
        "tree": pack.tree,
        "rankedWith": [escape_control(one) for one in pack.ranked_with],
        "tokens": pack.tokens,
        "budgetTokens": pack.options.budget,
        "tokenizer": pack.options.tokenizer,
        "files": [
            {"path": escape_control(file.path), "state": file.state} for file in pack.files if file.excerpts
        ],
        "uri": SCHEME + pack.slug if kept else None,
        "manifestUri": SCHEME + pack.slug + MANIFEST if kept else None,
    }
    return values | _within_tokens(_harmless(_compact(manifest(pack))))


def _compact(whole: dict[str, Any]) -> dict[str, Any]:
    """Return a manifest without the evidence, hashes and considered files, which only its resource has."""
    names = ("path", "state", "score", "tokens", "excerptRanges", "omissionReason")
    compact: dict[str, Any] = {
        "manifest": {
            **{name: whole[name] for name in _IN_SHORT},
            "files": [{name: file[name] for name in names} for file in whole["files"]],
            "considered": len(whole["considered"]),
            "truncated": False,
        }
    }
    for name in ("changes", "staleReferences", "completeRefresh"):
        compact[name] = whole.get(name)
    return compact


def _within_tokens(compact: dict[str, Any]) -> dict[str, Any]:
    """Return a compact manifest, truncated to _TOKENS tokens; its field `truncated` is true if so."""
    count = counter()
    if count(as_json(compact)) <= _TOKENS:
        return compact
    short = compact["manifest"] | {"truncated": True, "hints": [], "queryTerms": []}
    short["files"] = [file | {"excerptRanges": None} for file in short["files"]]
    most = _MOST_NAMED
    while most:
        cut: dict[str, Any] = compact | {"manifest": short | {"files": short["files"][:most]}}
        if cut["staleReferences"] is not None:
            cut["staleReferences"] = cut["staleReferences"][:most]
        if cut["changes"] is not None:
            cut["changes"] = {state: own[:most] for state, own in cut["changes"].items()}
        if len(short["task"]) > _LONGEST_TASK:
            cut["manifest"]["task"] = short["task"][:_LONGEST_TASK] + "…"
        if count(as_json(cut)) <= _TOKENS:
            break
        most //= 2
    return cut


def _harmless(value: Any) -> Any:
    """Return plain values with every string made `escape_control`."""
    if isinstance(value, str):
        return escape_control(value)
    if isinstance(value, dict):
        return {name: _harmless(one) for name, one in value.items()}
    return [_harmless(one) for one in value] if isinstance(value, (list, tuple)) else value
