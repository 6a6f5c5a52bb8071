"""Selection of blocks of commits to remove: not needed by any branch or HEAD, and not used lately."""

from __future__ import annotations

from collections.abc import Iterable

from ctx.git.commits import history_of
from ctx.git.repository import Repository
from ctx.history.blocks import block_key, runs
from ctx.maintenance.inventory import BLOCK, BLOCK_VIEW, Stored

_MOST_TIPS = 100
"""With more tips than this all blocks are kept, so that a collection stays fast."""


def idle_history(repository: Repository, files: Iterable[Stored], cutoff: float) -> list[Stored]:
    """Return the blocks and views of histories to remove. Raises GitFailed."""
    old = [file for file in files if file.kind in (BLOCK, BLOCK_VIEW) and file.mtime < cutoff]
    if not any(file.kind == BLOCK for file in old):
        return old
    tips = repository.tips()
    if len(tips) > _MOST_TIPS:
        return [file for file in old if file.kind == BLOCK_VIEW]
    needed: set[str] = set()
    for tip in tips:
        history = history_of(repository, tip)
        needed.update(
            block_key(history.commits[start:end], history.shallow).hex()
            for start, end in runs(history.commits)
        )
    return [file for file in old if file.name not in needed]
