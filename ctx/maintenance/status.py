"""Status of an index, from its snapshots and their logs."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ctx.chunking.languages import display_name
from ctx.errors import CtxError, Damaged
from ctx.indexing.cost import plan
from ctx.maintenance.models import models_of
from ctx.maintenance.pins import pins
from ctx.pack.store import PackStore
from ctx.storage.sharing import storage
from ctx.text.pluralize import pluralize
from ctx.types import CatchUp, KeptPack, SnapshotStatus, Status

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
        tuple(models_of(session)),
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
    log = session.snapshots.log(tree)
    descriptor = str(session.descriptor)
    if not root or not record:
        return SnapshotStatus(tree, DAMAGED, revisions, log, 0, 0, 0, 0, 0, {}, 0, descriptor, {}, pinned)
    totals = record.totals
    state, size = COMPLETE, 0
    try:
        for key in session.snapshots.cluster_keys(root):
            size += session.clusters.size(key)
    except (OSError, Damaged):
        state = DAMAGED
    lines = max(1, totals.lines)
    languages = {
        display_name(language or None): count / lines
        for language, count in sorted(totals.languages.items(), key=lambda pair: (-pair[1], pair[0]))
    }
    return SnapshotStatus(
        tree,
        state,
        revisions,
        log,
        totals.clusters,
        totals.files,
        totals.size,
        totals.lines,
        totals.chunks,
        languages,
        size,
        descriptor,
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
