"""Log lines of snapshots: commit, user, and amount of work."""

from __future__ import annotations

import time

from ctx._version import __version__
from ctx.git.repository import Repository
from ctx.git.revisions import Resolution
from ctx.storage.snapshots import Snapshots, Totals
from ctx.types import Provenance


def log_snapshot(
    repository: Repository,
    snapshots: Snapshots,
    asked: Resolution,
    trigger: str,
    totals: Totals,
    made: tuple[int, int] = (0, 0),
) -> None:
    """Add a line to the log of a tree's snapshot, unless it is in an alternate. Raises `StoreUnusable`.

    `totals` are those of the tree, of which `made` clusters and chunks are new.
    """
    if not snapshots.owns(asked.tree):
        return
    committed = repository.commit_info(asked.commit).committer_time if asked.commit else None
    clusters, chunks = made
    entry = Provenance(
        asked.commit,
        asked.revision,
        committed,
        int(time.time()),
        __version__,
        trigger,
        repository.settings.user_name or None,
        totals.files,
        clusters,
        chunks,
        totals.chunks - chunks,
    )
    snapshots.add_to_log(asked.tree, entry)
