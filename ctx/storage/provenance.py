"""Noting beside a snapshot for which commit it serves."""

from __future__ import annotations

import time

from ctx._version import __version__
from ctx.git.repository import Repository
from ctx.git.revisions import Resolution
from ctx.storage.snapshots import Snapshots
from ctx.types import Provenance


def log_snapshot(repository: Repository, snapshots: Snapshots, asked: Resolution, trigger: str) -> None:
    """Add a line to the log of a tree's snapshot, unless another store lends it. Raises `StoreUnusable`."""
    if not snapshots.owns(asked.tree):
        return
    committed = repository.commit_info(asked.commit).committer_time if asked.commit else None
    entry = Provenance(asked.commit, asked.revision, committed, int(time.time()), __version__, trigger)
    snapshots.add_to_log(asked.tree, entry)
