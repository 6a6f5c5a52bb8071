"""The uncommitted state that lies on HEAD in the trees that one index opens, held open between searches."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ctx.search.opening import BASE, OURS, STAGED, THEIRS
from ctx.text.contents import MAX_SIZE

if TYPE_CHECKING:
    from ctx.git.repository import Repository
    from ctx.git.worktree import WorkTree


class Uncommitted:
    """The last state of uncommitted files that was asked for: only that one can be read."""

    def __init__(self, repository: Repository) -> None:
        self._repository = repository
        self._state: WorkTree | None = None

    def now(self, overlay: str) -> WorkTree:
        """The state that `overlay` names, as it is at this moment. Raises GitFailed and CtxError."""
        from ctx.git.worktree import open_work_tree

        side = overlay if overlay in (OURS, THEIRS, BASE) else None
        state = open_work_tree(
            self._repository, MAX_SIZE, staged=overlay == STAGED, side=side, earlier=self._state
        )
        if state is not self._state:
            self.close()
        self._state = state
        return state

    @property
    def reader(self) -> Repository:
        """What reads the objects of the committed files and of those of the last state."""
        return self._repository if self._state is None else self._state.repository

    def close(self) -> None:
        """Let go of the files of the last state."""
        if self._state is not None:
            self._state.close()
            self._state = None
