"""One run of the index command: cover a tree, serve requests of other processes, and report."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from ctx.indexing.lock import IndexLock
from ctx.reports import ALREADY_INDEXED, INDEXING_IN_PROGRESS, EmbeddingReport, IndexReport, Progress
from ctx.session import take_shared
from ctx.storage.sharing import storage_mode
from ctx.storage.snapshots import Totals, log_snapshot

if TYPE_CHECKING:
    from ctx.git.revisions import Resolution
    from ctx.indexing.indexer import Indexer
    from ctx.session import Session

_OWN_SHARE = 0.1
"""Share of a run for the local index if a remote model embeds too."""


def run(
    session: Session,
    indexer: Callable[[], Indexer],
    asked: Resolution,
    trigger: str,
    *,
    jobs: int | None,
    background: bool,
    ask_model: bool,
) -> IndexReport:
    """Cover a tree. See `Index.index`."""
    started = time.monotonic()
    record = session.snapshots.covered(asked.tree)
    if record is not None:
        log_snapshot(session.repository, session.snapshots, asked, trigger, record.totals)
        remote = _embed(session, asked.tree, session.on_progress, ask_model)
        skipped = _left(remote)
        if remote is None or not (remote.embedded or skipped):
            # Otherwise the remote model embedded something, which the report shows.
            skipped = ALREADY_INDEXED
        return replace(_report(session, asked, started, skipped, record.totals), remote=remote)
    take_shared(session, asked.tree, indexing=True)
    lock = IndexLock(session.store)
    if not lock.acquire():
        lock.request(asked.tree)
        # The holder may have read the queue for the last time just before.
        if not lock.acquire():
            return _report(session, asked, started, INDEXING_IN_PROGRESS, Totals())
    embeds = ask_model and bool(session.repository.settings.get("ctx.embedder.url"))
    own = _part(session.on_progress, 0.0, _OWN_SHARE) if embeds else session.on_progress
    with lock:
        covered = indexer().cover(asked, trigger, jobs=jobs, background=background, progress=own)
        lock.discard_request(asked.tree)
    # A request queued after that is seen by its process, or here.
    if lock.requests():
        indexer().serve_requests(lock, jobs, background)
    rest = _part(session.on_progress, _OWN_SHARE, 1.0)
    remote = _embed(session, asked.tree, rest, ask_model) if not covered.missing else None
    return replace(
        _report(
            session,
            asked,
            started,
            _left(remote),
            covered.totals,
            covered.new_clusters,
            covered.embedded_chunks,
        ),
        remote=remote,
    )


def _embed(
    session: Session, tree: bytes, progress: Callable[[Progress], None] | None, may_ask: bool
) -> EmbeddingReport | None:
    """Embed an indexed tree with the remote model, if one is configured."""
    if not session.repository.settings.get("ctx.embedder.url") or session.embedding_model is None:
        return None
    from ctx.indexing.vectors.indexing import embed_tree

    return embed_tree(session, tree, progress, may_ask)


def _left(remote: EmbeddingReport | None) -> str | None:
    """Return the reason for which the remote model was not run, or None."""
    return INDEXING_IN_PROGRESS if remote is not None and remote.elsewhere else None


def _part(
    progress: Callable[[Progress], None] | None, start: float, end: float
) -> Callable[[Progress], None] | None:
    """Return a callback that reports a stage of a run from share `start` to share `end`, in 0..1."""
    if progress is None:
        return None
    report = progress

    def step(state: Progress) -> None:
        done = state.files_done / max(state.files_total, 1) if state.share is None else state.share
        report(replace(state, share=start + (end - start) * done))

    return step


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
        commit=asked.commit_id,
        tree=asked.tree.hex(),
        total_clusters=totals.clusters,
        processed_new_clusters=new_clusters,
        reused_clusters=totals.clusters - new_clusters,
        embedded_chunks=embedded_chunks,
        reused_chunks=totals.chunks - embedded_chunks,
        skipped_files=dict(totals.skipped),
        storage=storage_mode(session.repository, session.store),
        seconds=time.monotonic() - started,
    )
