"""Output of the state of an index, as JSON and as text."""

from __future__ import annotations

import re
from typing import Any

from ctx.cli.commands.printing import fields_of, revision_fields
from ctx.maintenance.status import CatchUp, ModelStatus, SnapshotStatus, Status
from ctx.storage.descriptor import Descriptor
from ctx.storage.snapshots import Provenance
from ctx.text.pluralize import pluralize, pluralize_with
from ctx.text.wording import format_size, format_time


def fields(status: Status) -> dict[str, Any]:
    """Return the status as an object; times in seconds since 1970."""
    return {
        "type": "status_result",
        **fields_of(status, store_size="storeSizeBytes", alternates="lentStores", head="", models=""),
        "packs": [fields_of(one, size="sizeBytes") for one in status.packs],
        "snapshots": [snapshot_object(snapshot) for snapshot in status.snapshots],
        "remoteModels": [model_object(one) for one in status.models],
        "catchUp": fields_of(status.head, missing=""),
    }


def snapshot_object(snapshot: SnapshotStatus) -> dict[str, Any]:
    """Return a snapshot as an object."""
    return fields_of(
        snapshot, files_size="", lines="linesOfCode", index_size="indexSizeBytes", skipped="skippedFiles"
    ) | {
        "provenance": [provenance_object(line, snapshot.tree) for line in snapshot.provenance],
        "filesSizeKb": round(snapshot.files_size / 1024, 1),
        "languages": {name: round(share, 4) for name, share in snapshot.languages.items()},
        "descriptorFields": Descriptor.parse(snapshot.descriptor).as_dict(),
    }


def model_object(one: ModelStatus) -> dict[str, Any]:
    """Return the stored data of one model service as an object."""
    head = {"clusters": one.clusters, "done": one.done, "complete": one.done == one.clusters}
    return fields_of(one, trees="snapshots", clusters="", done="", truncated="cutTexts", size="sizeBytes") | {
        "descriptorFields": Descriptor.parse(one.descriptor).as_dict(),
        "head": None if one.clusters is None else head,
    }


def provenance_object(line: Provenance, tree: str) -> dict[str, Any]:
    """Return one entry of the provenance log as an object."""
    return fields_of(line, new_clusters="processedNewClusters") | revision_fields(
        line.revision, line.commit, tree
    )


def lines(status: Status) -> list[str]:
    """Return a paragraph for each snapshot, then the store and the cost of indexing HEAD."""
    text = [line for snapshot in status.snapshots for line in [*snapshot_lines(snapshot), ""]]
    if not status.snapshots:
        text = [f"nothing is indexed {'here; see the alternate stores' if status.alternates else 'yet'}", ""]
    text.append(f"store    {status.store_path}, {format_size(status.store_size)}, {status.storage}")
    text += [f"also     {path}, of a repository whose objects this one uses" for path in status.alternates]
    if status.packs:
        newest = status.packs[0]
        total = format_size(sum(one.size for one in status.packs))
        count = pluralize(len(status.packs), "pack")
        text.append(
            f"packs    {count}, {total}, the newest {newest.slug} of {format_time(newest.created_at)}"
        )
    text.append(f"HEAD     {catch_up(status.head)}")
    text += [line for one in status.models for line in model_lines(one)]
    text += [f"note     {status.message}"] if status.message else []
    return text


def model_lines(one: ModelStatus) -> list[str]:
    """Return the stored data of one model service as lines."""
    form = Descriptor.parse(one.descriptor)
    of_head = f": HEAD has {one.done:,} of {pluralize(one.clusters, 'cluster')}" if one.clusters else ""
    if one.clusters is not None and one.done == one.clusters:
        of_head = ": HEAD is complete"
    since = "configured" if one.configured else "configured before"
    cut = f", {pluralize(one.truncated, 'text')} truncated" if one.truncated else ""
    drop = f"  `git ctx gc --drop-descriptor {one.descriptor}` removes it"
    return [
        f"model    {one.model} ({form.dimensions} {form.precision}), {since}{of_head}{cut}",
        f"  {pluralize(len(one.trees), 'snapshot')}, {format_size(one.size)}, {one.descriptor}",
        *([] if one.configured else [drop]),
    ]


def snapshot_lines(snapshot: SnapshotStatus) -> list[str]:
    """Return a snapshot as lines."""
    names = ", ".join(map(short_name, snapshot.revisions)) or "no branch or tag"
    chunks = pluralize(snapshot.chunks, "chunk")
    shares = sorted(snapshot.languages.items(), key=lambda item: -item[1])[:6]
    left_out = ", ".join(f"{count:,} {reason}" for reason, count in sorted(snapshot.skipped.items()))
    return [
        f"tree {snapshot.tree[:12]}  {snapshot.status}{', pinned' * snapshot.pinned}  ({names})",
        f"  {pluralize(snapshot.files, 'file')}, {format_size(snapshot.files_size)}, "
        + pluralize(snapshot.lines, "line"),
        f"  {chunks} in {pluralize(snapshot.clusters, 'cluster')}, index {format_size(snapshot.index_size)}",
        f"  {snapshot.descriptor}",
        *(["  " + ", ".join(f"{name} {share:.0%}" for name, share in shares)] if shares else []),
        *([f"  left out: {left_out}"] if left_out else []),
        *(f"  made {format_time(line.created_at)} for {origin(line)}" for line in snapshot.provenance[-1:]),
    ]


def short_name(revision: str) -> str:
    """Return the name of a ref without its prefix, such as `refs/heads/`."""
    return re.sub("^refs/((heads|tags|remotes)/)?", "", revision)


def origin(line: Provenance) -> str:
    """Return revision, version, trigger, user and numbers of chunks of a provenance entry as text."""
    commit = f" ({line.commit[:12]})" if line.commit else ""
    user = f", by {line.user}" if line.user else ""
    counts = ""
    if line.embedded_chunks is not None and line.reused_chunks is not None:
        counts = f": {pluralize(line.embedded_chunks, 'chunk')} embedded, {line.reused_chunks:,} reused"
    return f"{line.revision}{commit} by git-ctx {line.tool_version}, {line.trigger}{user}{counts}"


def catch_up(head: CatchUp) -> str:
    """Return the cost of indexing HEAD as text."""
    if head.tree is None:
        return "no commit yet"
    if head.covered:
        return f"tree {head.tree[:12]} is indexed"
    if head.missing:
        missing = pluralize_with(head.missing, "file", "that is", "that are")
        return f"tree {head.tree[:12]} is indexed except for {missing} not in this clone"
    cost = f"{pluralize(head.new_blobs, 'new blob')}, about {pluralize(head.chunks, 'chunk')}"
    return f"tree {head.tree[:12]} is not indexed: {cost}"
