"""One run of the index command: cover a tree, serve requests of other processes, and report."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from ctx.indexing.lock import IndexLock
from ctx.indexing.reports import ALREADY_INDEXED, INDEXING_IN_PROGRESS, EmbeddingReport, IndexReport
from ctx.session import take_shared
from ctx.storage.sharing import storage_mode
from ctx.storage.snapshots import Totals, log_snapshot
from ctx.types import Progress

if TYPE_CHECKING:
    from ctx.git.resolution import Resolution
    from ctx.indexing.indexer import Indexer
    from ctx.session import Session

_OWN_SHARE = 0.1
"""Share of a run for the local index if a model service embeds too."""


def run(
    session: Session,
    indexer: Callable[[], Indexer],
    resolution: Resolution,
    trigger: str,
    *,
    jobs: int | None,
    background: bool,
    ask_model: bool,
) -> IndexReport:
    """Cover a tree. See `Index.index`."""
    report = partial(_report, session, resolution, time.monotonic())
    tree = resolution.tree
    record = session.snapshots.covered(tree)
    if record is not None:
        log_snapshot(session.repository, session.snapshots, resolution, trigger, record.totals)
        remote = _embed(session, tree, session.on_progress, ask_model)
        is_new = remote is not None and (remote.embedded or remote.elsewhere)
        return report(record.totals, skipped=None if is_new else ALREADY_INDEXED, remote=remote)
    take_shared(session, tree, indexing=True)
    lock = IndexLock(session.store)
    if not lock.acquire():
        lock.request(tree)
        # The holder may have read the queue for the last time just before.
        if not lock.acquire():
            return report(Totals(), skipped=INDEXING_IN_PROGRESS)
    embeds = ask_model and bool(session.repository.settings.get("ctx.embedder.url"))
    own = _stage(session, 0.0, _OWN_SHARE) if embeds else session.on_progress
    with lock:
        covered = indexer().cover(resolution, trigger, jobs=jobs, background=background, progress=own)
        lock.discard_request(tree)
    # A request queued after that is seen by its process, or here.
    if lock.requests():
        indexer().serve_requests(lock, jobs, background)
    rest = _stage(session, _OWN_SHARE, 1.0)
    remote = None if covered.missing else _embed(session, tree, rest, ask_model)
    return report(covered.totals, covered.new_clusters, covered.embedded_chunks, remote=remote)


def _embed(
    session: Session, tree: bytes, progress: Callable[[Progress], None] | None, may_ask: bool
) -> EmbeddingReport | None:
    """Embed an indexed tree with the model service, if one is configured."""
    if not session.repository.settings.get("ctx.embedder.url") or session.embedding_model is None:
        return None
    from ctx.indexing.vectors.indexing import embed_tree

    return embed_tree(session, tree, progress, may_ask)


def _stage(session: Session, start: float, end: float) -> Callable[[Progress], None] | None:
    """Return a callback that reports a stage of a run from share `start` to share `end`, in 0..1."""
    report = session.on_progress
    if report is None:
        return None

    def step(state: Progress) -> None:
        done = state.files_done / max(state.files_total, 1) if state.share is None else state.share
        report(replace(state, share=start + (end - start) * done))

    return step


def _report(
    session: Session,
    resolution: Resolution,
    started: float,
    totals: Totals,
    new_clusters: int = 0,
    embedded_chunks: int = 0,
    *,
    skipped: str | None = None,
    remote: EmbeddingReport | None = None,
) -> IndexReport:
    if remote is not None and remote.elsewhere:
        skipped = INDEXING_IN_PROGRESS
    return IndexReport(
        skipped=skipped,
        revision=resolution.revision,
        commit=resolution.commit_id,
        tree=resolution.tree.hex(),
        total_clusters=totals.clusters,
        processed_new_clusters=new_clusters,
        reused_clusters=totals.clusters - new_clusters,
        embedded_chunks=embedded_chunks,
        reused_chunks=totals.chunks - embedded_chunks,
        skipped_files=dict(totals.skipped),
        storage=storage_mode(session.repository, session.store),
        seconds=time.monotonic() - started,
        remote=remote,
    )
