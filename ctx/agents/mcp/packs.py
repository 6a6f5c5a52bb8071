"""The tools and resources of packs: making one, listing them, reading one; nothing beside the shelf is read.

No argument names a file outside of the tree: an error log is for the command line alone.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from ctx.agents.mcp.replies import Reply
from ctx.agents.mcp.tools import SCHEME
from ctx.errors import CtxError, StoreUnusable, UsageError
from ctx.index import Index
from ctx.text.escaping import printable
from ctx.text.wording import size, when
from ctx.types import Progress

if TYPE_CHECKING:
    from ctx.pack.shelf import Listed
    from ctx.pack.values import Pack

MOST = 100
"""Packs that are listed, the newest."""
MIME = {"markdown": "text/markdown", "xml": "application/xml", "json": "application/json"}

_URI = re.compile(re.escape(SCHEME) + r"([a-z0-9][a-z0-9-]{0,63})")


class Text(NamedTuple):
    """The text of a resource."""

    mime_type: str
    text: str


def make_pack(index: Index, given: dict[str, Any], progress: Callable[[Progress], None] | None) -> Reply:
    """Make a pack, or what has changed since one, and keep it. Raises CtxError with the way out."""
    from ctx.pack.updating import Wishes
    from ctx.pack.values import Options

    task, options = given.get("task"), _options(given)
    if "update" in given:
        parent = index.packs.read(index.packs.find(given["update"]))
        made = index.update_pack(parent, Wishes(task, **options), progress=progress)
    elif task is None:
        raise UsageError("pack needs task, or update")
    else:
        made = index.pack(task, Options()._replace(**options), progress=progress)
    pack, kept, notes = made.pack, False, [made.pack.message] if made.pack.message else []
    if pack.files or pack.delta is not None:
        try:
            index.packs.write(pack, made.prompt)
            kept = True
        except StoreUnusable as error:
            notes.append(f"the pack is not kept: {error}")
    else:
        notes.append("nothing in this tree answers the task: say it in other words")
    message = printable("; ".join(notes)) or None
    values = _told(pack) | {"uri": SCHEME + pack.slug if kept else None, "message": message}
    return Reply(made.prompt if pack.files or pack.delta is not None else str(message), values)


def list_packs(index: Index) -> Reply:
    """The newest packs that are kept."""
    packs = index.packs.list()
    lines = [f"{when(one.made // 10**9)}  {size(one.size)}  {one.slug}" for one in packs[:MOST]]
    if len(packs) > MOST:
        lines.append(f"[{len(packs) - MOST:,} older ones]")
    values = [
        {
            "slug": one.slug,
            "createdAt": one.made // 10**9,
            "sizeBytes": one.size,
            "uri": SCHEME + one.slug,
        }
        for one in packs[:MOST]
    ]
    return Reply("\n".join(lines) or "there is no pack yet", {"packs": values, "total": len(packs)})


def read_pack(index: Index, given: dict[str, Any]) -> Reply:
    """The text of a pack that is kept. Raises CtxError with the way out."""
    pack = index.packs.read(index.packs.find(given["slug"]))
    message = None
    if pack.delta is not None and pack.delta.complete is None and not index.packs.has(pack.delta.parent):
        message = (
            f"it refers to {pack.delta.parent}, which is gone: pack with update {pack.slug} sends all again"
        )
    return Reply(index.packs.prompt(pack), _told(pack) | {"uri": SCHEME + pack.slug, "message": message})


def resources(index: Index) -> Sequence[Listed]:
    """The packs that are listed as resources."""
    return index.packs.list()[:MOST]


def read_resource(index: Index, uri: str) -> Text:
    """What an address names: the text of a pack, and nothing else. Raises CtxError."""
    found = _URI.fullmatch(uri)
    if found is None or not index.packs.has(found[1]):
        raise CtxError(f"there is no resource {uri!r}: resources/list names those that are there")
    pack = index.packs.read(found[1])
    return Text(MIME[pack.options.format], index.packs.prompt(pack))


def _options(given: dict[str, Any]) -> dict[str, Any]:
    names = {"budget_tokens": "budget", "max_files": "max_files", "tokenizer": "tokenizer"}
    return {ours: given[name] for name, ours in names.items() if name in given}


def _told(pack: Pack) -> dict[str, Any]:
    """A pack in plain values, without what its text says."""
    return {
        "slug": pack.slug,
        "parentPack": pack.delta.parent if pack.delta is not None else None,
        "revision": printable(pack.revision),
        "tree": pack.tree,
        "rankedWith": [printable(one) for one in pack.ranked_with],
        "tokens": pack.tokens,
        "budgetTokens": pack.options.budget,
        "tokenizer": pack.options.tokenizer,
        "files": [
            {"path": printable(os.fsdecode(file.path)), "state": file.state}
            for file in pack.files
            if file.excerpts
        ],
    }
