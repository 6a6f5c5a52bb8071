"""Output of the state of an index, as JSON and as text."""

from __future__ import annotations

import sys
from typing import Any

from ctx.cli.commands.json_output import print_json, revision_fields
from ctx.storage.descriptor import Descriptor
from ctx.text.escaping import escape_control
from ctx.text.pluralize import pluralize, pluralize_with
from ctx.text.wording import size, when
from ctx.types import CatchUp, ModelStatus, Provenance, SnapshotStatus, Status


def print_json_status(status: Status) -> None:
    """Print the status as one object; times in seconds since 1970."""
    print_json(
        {
            "type": "status_result",
            "repositoryId": status.repository_id,
            "storePath": status.store_path,
            "storeSizeBytes": status.store_size,
            "storage": status.storage,
            "lentStores": status.alternates,
            "packs": [
                {"slug": one.slug, "createdAt": one.created_at, "sizeBytes": one.size} for one in status.packs
            ],
            "snapshots": [snapshot_object(snapshot) for snapshot in status.snapshots],
            "remoteModels": [model_object(one) for one in status.models],
            "catchUp": {
                "tree": status.head.tree.hex() if status.head.tree else None,
                "covered": status.head.covered,
                "newBlobs": status.head.new_blobs,
                "chunks": status.head.chunks,
            },
            "message": status.message,
        }
    )


def snapshot_object(snapshot: SnapshotStatus) -> dict[str, Any]:
    """Return a snapshot as an object."""
    return {
        "tree": snapshot.tree.hex(),
        "status": snapshot.status,
        "revisions": snapshot.revisions,
        "provenance": [provenance_object(line, snapshot.tree) for line in snapshot.provenance],
        "clusters": snapshot.clusters,
        "files": snapshot.files,
        "filesSizeKb": round(snapshot.files_size / 1024, 1),
        "linesOfCode": snapshot.lines,
        "chunks": snapshot.chunks,
        "languages": {name: round(share, 4) for name, share in snapshot.languages.items()},
        "indexSizeBytes": snapshot.index_size,
        "descriptor": snapshot.descriptor,
        "descriptorFields": Descriptor.parse(snapshot.descriptor).as_dict(),
        "skippedFiles": snapshot.skipped,
        "pinned": snapshot.pinned,
    }


def model_object(one: ModelStatus) -> dict[str, Any]:
    """Return the stored data of one remote model as an object."""
    head = {"clusters": one.clusters, "done": one.done, "complete": one.done == one.clusters}
    return {
        "model": one.model,
        "descriptor": one.descriptor,
        "descriptorFields": Descriptor.parse(one.descriptor).as_dict(),
        "configured": one.configured,
        "snapshots": [tree.hex() for tree in one.trees],
        "head": None if one.clusters is None else head,
        "cutTexts": one.cut,
        "sizeBytes": one.size,
    }


def provenance_object(line: Provenance, tree: bytes) -> dict[str, Any]:
    """Return one entry of the provenance log as an object."""
    return {
        **revision_fields(line.revision, line.commit, tree),
        "committerTime": line.committer_time,
        "createdAt": line.created_at,
        "toolVersion": line.tool_version,
        "trigger": line.trigger,
        "user": line.user,
        "files": line.files,
        "processedNewClusters": line.new_clusters,
        "embeddedChunks": line.embedded_chunks,
        "reusedChunks": line.reused_chunks,
    }


def print_text(status: Status) -> None:
    """Print a paragraph for each snapshot, then the store and the cost of indexing HEAD."""
    lines = [line for snapshot in status.snapshots for line in [*snapshot_lines(snapshot), ""]]
    if not status.snapshots:
        lines = [
            "nothing is indexed here, but read from elsewhere"
            if status.alternates
            else "nothing is indexed yet",
            "",
        ]
    lines.append(f"store    {status.store_path}, {size(status.store_size)}, {status.storage}")
    lines += [
        f"read too {path}, of a repository that this one borrows objects from" for path in status.alternates
    ]
    if status.packs:
        newest = status.packs[0]
        total = size(sum(one.size for one in status.packs))
        count = pluralize(len(status.packs), "pack")
        lines.append(f"packs    {count}, {total}, the newest {newest.slug} of {when(newest.created_at)}")
    lines.append(f"HEAD     {catch_up(status.head)}")
    lines += [line for one in status.models for line in model_lines(one)]
    lines += [f"note     {status.message}"] if status.message else []
    sys.stdout.write("\n".join(map(escape_control, lines)) + "\n")


def model_lines(one: ModelStatus) -> list[str]:
    """Return the stored data of one remote model as lines."""
    form = Descriptor.parse(one.descriptor)
    of_head = f": HEAD has {one.done:,} of {pluralize(one.clusters, 'cluster')}" if one.clusters else ""
    if one.clusters is not None and one.done == one.clusters:
        of_head = ": HEAD is complete"
    since = "configured" if one.configured else "configured before"
    cut = f", {pluralize(one.cut, 'text')} too long and read in part" if one.cut else ""
    lines = [
        f"model    {one.model} ({form.dimensions} {form.precision}), {since}{of_head}{cut}",
        f"  {pluralize(len(one.trees), 'snapshot')}, {size(one.size)}, {one.descriptor}",
    ]
    if not one.configured:
        lines.append(f"  `git ctx gc --drop-descriptor {one.descriptor}` removes it")
    return lines


def snapshot_lines(snapshot: SnapshotStatus) -> list[str]:
    """Return a snapshot as lines."""
    names = ", ".join(map(short_name, snapshot.revisions)) or "no branch or tag"
    chunks = pluralize(snapshot.chunks, "chunk")
    lines = [
        f"tree {snapshot.tree.hex()[:12]}  {snapshot.status}{', pinned' * snapshot.pinned}  ({names})",
        f"  {pluralize(snapshot.files, 'file')}, {size(snapshot.files_size)}, "
        + pluralize(snapshot.lines, "line"),
        f"  {chunks} in {pluralize(snapshot.clusters, 'cluster')}, index {size(snapshot.index_size)}",
        f"  {snapshot.descriptor}",
    ]
    shares = sorted(snapshot.languages.items(), key=lambda item: -item[1])[:6]
    if shares:
        lines.append("  " + ", ".join(f"{name} {share:.0%}" for name, share in shares))
    if snapshot.skipped:
        reasons = ", ".join(f"{count:,} {reason}" for reason, count in sorted(snapshot.skipped.items()))
        lines.append(f"  left out: {reasons}")
    lines += [f"  made {when(line.created_at)} for {origin(line)}" for line in snapshot.provenance[-1:]]
    return lines


def short_name(revision: str) -> str:
    """Return the name of a ref without its prefix, such as `refs/heads/`."""
    for kind in ("refs/heads/", "refs/tags/", "refs/remotes/", "refs/"):
        if revision.startswith(kind):
            return revision.removeprefix(kind)
    return revision


def origin(line: Provenance) -> str:
    """Return revision, version, trigger, user and numbers of chunks of a provenance entry as text."""
    commit = f" ({line.commit.hex()[:12]})" if line.commit else ""
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
        return f"tree {head.tree.hex()[:12]} is indexed"
    if head.missing:
        lacking = pluralize_with(head.missing, "file", "that is", "that are")
        return f"tree {head.tree.hex()[:12]} is indexed but for {lacking} not in this clone"
    cost = f"{pluralize(head.new_blobs, 'new blob')}, about {pluralize(head.chunks, 'chunk')}"
    return f"tree {head.tree.hex()[:12]} is not indexed: {cost}"
