"""One run of the index command: cover a tree, do what other processes wish for meanwhile, and report."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from ctx.indexing.lock import IndexLock
from ctx.session import take_shared
from ctx.storage.provenance import log_snapshot
from ctx.storage.sharing import storage
from ctx.storage.snapshots import Totals
from ctx.types import ALREADY_INDEXED, INDEXING_IN_PROGRESS, IndexReport, Progress, RemoteReport

if TYPE_CHECKING:
    from ctx.git.revisions import Resolution
    from ctx.indexing.indexer import Indexer
    from ctx.session import Session


def run(
    session: Session,
    indexer: Callable[[], Indexer],
    asked: Resolution,
    trigger: str,
    *,
    jobs: int | None,
    background: bool,
    progress: Callable[[Progress], None] | None,
    ask_model: bool,
) -> IndexReport:
    """Cover a tree. See `Index.index`."""
    started = time.monotonic()
    record = session.snapshots.covered(asked.tree)
    if record is not None:
        log_snapshot(session.repository, session.snapshots, asked, trigger)
        remote = _embed(session, asked.tree, progress, ask_model)
        # Somebody waited for a remote model: there is more to say than that nothing was done.
        skipped = None if remote is not None and remote.embedded else ALREADY_INDEXED
        return _report(session, asked, started, skipped, record.totals)._replace(remote=remote)
    take_shared(session, asked.tree, indexing=True)
    lock = IndexLock(session.store)
    if not lock.acquire():
        lock.wish(asked.tree)
        # The holder may have looked for wishes for the last time just before.
        if not lock.acquire():
            return _report(session, asked, started, INDEXING_IN_PROGRESS, Totals())
    with lock:
        covered = indexer().cover(asked, trigger, jobs=jobs, background=background, progress=progress)
        lock.granted(asked.tree)
        indexer().grant_wishes(lock, jobs, background)
    # A wish that came in between is seen by its process, or here.
    while lock.wishes() and lock.acquire():
        with lock:
            indexer().grant_wishes(lock, jobs, background)
    remote = _embed(session, asked.tree, progress, ask_model) if covered.complete else None
    return _report(
        session, asked, started, None, covered.totals, covered.new_clusters, covered.embedded_chunks
    )._replace(remote=remote)


def _embed(
    session: Session, tree: bytes, progress: Callable[[Progress], None] | None, may_ask: bool
) -> RemoteReport | None:
    """Have a tree that is indexed embedded by the remote model too, where one is configured."""
    if not session.repository.settings.get("ctx.embedder.url") or session.remote_model is None:
        return None
    from ctx.indexing.vectors.indexing import embed_tree

    if may_ask and session.remote_model.snapshots.covered(tree) is None:
        # What somebody else has paid for is asked for first.
        take_shared(session, tree, indexing=True)
    return embed_tree(session, tree, progress, may_ask)


def _report(
    session: Session,
    asked: Resolution,
    started: float,
    skipped: str | None,
    totals: Totals,
    new_clusters: int = 0,
    embedded_chunks: int = 0,
) -> IndexReport:
    return IndexReport(
        skipped=skipped,
        revision=asked.revision,
        commit=asked.commit,
        tree=asked.tree,
        total_clusters=totals.clusters,
        processed_new_clusters=new_clusters,
        reused_clusters=totals.clusters - new_clusters,
        embedded_chunks=embedded_chunks,
        reused_chunks=totals.chunks - embedded_chunks,
        skipped_files=dict(totals.skipped),
        storage=storage(session.repository, session.store),
        seconds=time.monotonic() - started,
    )
