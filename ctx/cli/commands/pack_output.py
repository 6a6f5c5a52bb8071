"""Output of packs: summary, manifest, and the list of stored packs."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ctx.cli.commands.printing import print_json, print_lines, shown_path
from ctx.text.escaping import escape_control
from ctx.text.pluralize import pluralize
from ctx.text.wording import format_size, format_time

if TYPE_CHECKING:
    from ctx.pack.store import StoredPack
    from ctx.pack.types import Pack, PackedFile


def print_manifest(pack: Pack) -> None:
    """Print the manifest as one object."""
    from ctx.pack.manifest import manifest

    print_json({"type": "pack_result", **manifest(pack)})


def print_summary(pack: Pack, place: str | None) -> None:
    """Print the contents of a pack and its path."""
    lines = []
    if pack.message:
        print(escape_control(pack.message), file=sys.stderr)
    delta = pack.delta
    if delta is not None:
        kind = f"everything again: {delta.complete}" if delta.complete else "what has changed"
        lines.append(f"update of {delta.parent} ({kind})")
    lines += [f"  {describe(file)}" for file in pack.files]
    if delta is not None:
        lines += [f"  {shown_path(one.path, b'')}  {one.reason}" for one in delta.removed]
    if not lines:
        lines = ["nothing in this tree answers the task"]
    files = pluralize(sum(1 for file in pack.files if file.excerpts), "file")
    ranked_with = f"; ranked with {', '.join(pack.ranked_with)}" if pack.ranked_with else ""
    tokens = f"{pack.tokens:,} of {pluralize(pack.options.budget, 'token')}"
    lines.append(f"-- {pack.slug}: {tokens}, {files}{ranked_with}")
    if place is not None:
        lines.append(os.path.relpath(place) if not os.path.relpath(place).startswith("..") else place)
    print_lines(lines)


def describe(file: PackedFile) -> str:
    """Return a file of a pack as one line."""
    from ctx.pack.render import reasons

    path = shown_path(file.path)
    state = f" {file.state}" if file.state else ""
    if not file.excerpts:
        return f"{path}{state}  no excerpt: {file.omission}"
    ranges = ",".join(f"{first}-{last}" for one in file.excerpts for first, last in one.ranges)
    why = reasons(file)
    return f"{path}:{ranges}{state}" + (f"  {why}" if why else "")


def print_list(packs: Sequence[StoredPack], *, as_json: bool) -> None:
    """Print the list of stored packs; times as JSON in seconds since 1970."""
    if as_json:
        listed = [
            {"slug": one.slug, "createdAt": one.created // 10**9, "sizeBytes": one.size} for one in packs
        ]
        print_json({"type": "pack_list", "packs": listed})
        return
    if not packs:
        print('no pack is stored; `git ctx pack --task "..."` makes one', file=sys.stderr)
    print_lines(
        f"{format_time(one.created // 10**9)}  {format_size(one.size):>8}  {one.slug}" for one in packs
    )
