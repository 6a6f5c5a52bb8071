"""Status of an index, from its snapshots and their logs, and of remote models. No request is sent."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING

from ctx.chunking.languages import display_name
from ctx.errors import CtxError, Damaged, UsageError
from ctx.indexing.cost import plan
from ctx.indexing.tree_walk import TreeReader
from ctx.maintenance.inventory import inventory
from ctx.maintenance.pins import pins
from ctx.models.model_files import TRUNCATED_TEXTS
from ctx.models.previous import recalled
from ctx.pack.store import PackStore
from ctx.storage.cluster_store import ClusterStore
from ctx.storage.descriptor import Descriptor
from ctx.storage.sharing import storage
from ctx.storage.snapshots import Snapshots, Totals
from ctx.storage.vectors import BITS_A_DIMENSION
from ctx.text.pluralize import pluralize
from ctx.types import CatchUp, KeptPack, ModelStatus, SnapshotStatus, Status

if TYPE_CHECKING:
    from ctx.search.session import SearchSession

COMPLETE = "complete"
DAMAGED = "damaged"


def status(session: SearchSession) -> Status:
    """Return everything that `git ctx status` shows."""
    names = _names(session)
    pinned = {pin.tree for pin in pins(session.store)}
    found = [
        _snapshot(session, tree, names.get(tree, []), tree in pinned) for tree in session.snapshots.trees()
    ]
    found.sort(key=lambda one: (-max((entry.created_at for entry in one.provenance), default=0), one.tree))
    return Status(
        session.repository_id,
        session.store.path,
        session.store.size(),
        found,
        _catch_up(session),
        storage(session.repository, session.store),
        session.store.alternates,
        tuple(KeptPack(one.slug, one.created // 10**9, one.size) for one in PackStore(session.store).list()),
        tuple(_models(session)),
        "; ".join(_warnings(session)) or None,
    )


def _without_words(session: SearchSession) -> int:
    """Return the number of files of HEAD whose words cannot be counted, since they are not in this clone."""
    try:
        blobs = session.indexer.uncounted(session.resolve().tree)
        return session.repository.blob_sizes(blobs).count(None)
    except CtxError:
        return 0


def _warnings(session: SearchSession) -> Iterator[str]:
    settings = session.repository.settings
    if settings.is_partial_clone and (count := _without_words(session)):
        yield (
            f"the words of {pluralize(count, 'file')} of HEAD are missing, since the text is not in this "
            "clone, so searches use symbols, paths and vectors only: `git ctx index --fetch` gets it, "
            "or fetch an index that was published by `git ctx push --with-words`"
        )
    # Reading the whole history just to check it would be slow.
    if settings.is_partial_clone and session.past_unread is not None:
        yield session.past_unread
    for name, _ in settings.sections("remote", "mirror"):
        if settings.get_bool(f"remote.{name}.mirror", False):
            yield (
                f"`git push {name}` mirrors (remote.{name}.mirror) and so deletes the index that is "
                f"published there, or sets it back: `git ctx push {name}` publishes it again"
            )


def _names(session: SearchSession) -> dict[bytes, list[str]]:
    """Return the names of branches, tags and HEAD by tree."""
    repository = session.repository
    names: dict[bytes, list[str]] = {}
    _, head = repository.head()
    pairs = [(b"HEAD", head)] if head else []
    pairs += list(repository.references())
    covered = set(session.snapshots.trees())
    for name, commit in pairs:
        try:
            tree = repository.commit_info(commit).tree
        except KeyError:
            continue
        if tree in covered:
            names.setdefault(tree, []).append(os.fsdecode(name))
    return names


def _snapshot(session: SearchSession, tree: bytes, revisions: list[str], pinned: bool) -> SnapshotStatus:
    root = session.snapshots.tree(tree)
    record = root and session.snapshots.node(root)
    totals = record.totals if record else Totals()
    state, size = DAMAGED, 0
    with suppress(OSError, Damaged):
        for key in session.snapshots.cluster_keys(root) if root else ():
            size += session.clusters.size(key)
        state = COMPLETE if record else DAMAGED
    lines = max(1, totals.lines)
    languages = {
        display_name(language or None): count / lines
        for language, count in sorted(totals.languages.items(), key=lambda pair: (-pair[1], pair[0]))
    }
    return SnapshotStatus(
        tree,
        state,
        revisions,
        session.snapshots.log(tree),
        totals.clusters,
        totals.files,
        totals.size,
        totals.lines,
        totals.chunks,
        languages,
        size,
        str(session.descriptor),
        dict(totals.skipped),
        pinned,
    )


def _catch_up(session: SearchSession) -> CatchUp:
    try:
        asked = session.resolve()
    except CtxError:
        return CatchUp(None, 0, 0, False)
    tree = asked.tree
    if session.snapshots.tree(tree) is not None:
        return CatchUp(tree, 0, 0, True)
    if (partial := session.snapshots.still_lacks(tree, session.repository)) is not None:
        return CatchUp(tree, 0, 0, False, len(partial.missing))
    cost = plan(session, lambda: session.indexer, asked)
    return CatchUp(tree, cost.new_blobs, cost.chunks, False)


def _models(session: SearchSession) -> list[ModelStatus]:
    """Return the status of each remote model, the current one first; a misconfigured one is not current."""
    sizes: Counter[str] = Counter()
    for file in inventory(session.store):
        sizes[file.group] += file.size
    found = {name: one for name in sizes if (one := _remote_descriptor(name)) is not None}
    if not found and not session.repository.settings.get("ctx.embedder.url"):
        return []
    try:
        now = session.embedding_model
    except UsageError:
        now = None
    if now is not None:
        found[str(now.descriptor)] = now.descriptor
    models = []
    for name, descriptor in found.items():
        values = recalled(session.store, name)
        configured = now is not None and descriptor == now.descriptor
        model = now.settings.model if now is not None and configured else None
        model = model or (values["model"] if values is not None else descriptor.embed_model_id)
        snapshots = Snapshots(session.store, name)
        clusters, done, cut = _of_head(session, descriptor, snapshots)
        trees = sorted(snapshots.trees())
        models.append(ModelStatus(model, name, configured, trees, clusters, done, cut, sizes[name]))
    return sorted(models, key=lambda one: (not one.configured, one.descriptor))


def _remote_descriptor(name: str) -> Descriptor | None:
    try:
        found = Descriptor.parse(name)
    except ValueError:
        return None
    # A foreign directory may have any name.
    is_ours = found.precision in BITS_A_DIMENSION and found.by_member and str(found) == name
    return found if is_ours else None


def _of_head(
    session: SearchSession, descriptor: Descriptor, snapshots: Snapshots
) -> tuple[int | None, int | None, int]:
    """Return the number of clusters of HEAD's tree, of those with vectors, and of truncated texts.

    The first two are None if unknown.
    """
    try:
        tree = session.resolve().tree
        root = snapshots.tree(tree)
        record = snapshots.node(root) if root is not None else None
        if record is not None:
            totals = record.totals
            return totals.clusters, totals.clusters, totals.skipped.get(TRUNCATED_TEXTS, 0)
        every = TreeReader(session.repository, str(descriptor)).root(tree).clusters()
        keys = [cluster.key for cluster in every]
    except CtxError:
        return None, None, 0
    return len(keys), len(keys) - len(ClusterStore(session.store, descriptor).absent(keys)), 0
