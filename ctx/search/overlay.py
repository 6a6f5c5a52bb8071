"""The uncommitted states on top of HEAD in the trees that one session opens.

The last state is kept between searches, an earlier one as long as an answer from it is.
"""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING

from ctx.text.contents import MAX_SIZE
from ctx.types import BASE, OURS, STAGED, THEIRS

if TYPE_CHECKING:
    from ctx.git.repository import Repository
    from ctx.git.worktree import WorkTree


class UncommittedStates:
    """The last uncommitted state requested, and earlier ones that answers still read."""

    def __init__(self, repository: Repository) -> None:
        self._repository = repository
        self._state: WorkTree | None = None
        self._opened: weakref.WeakSet[WorkTree] = weakref.WeakSet()

    def now(self, overlay: str) -> WorkTree:
        """Return the current state that `overlay` names. Raises GitFailed and CtxError."""
        from ctx.git.worktree import open_work_tree

        side = overlay if overlay in (OURS, THEIRS, BASE) else None
        state = open_work_tree(
            self._repository, MAX_SIZE, staged=overlay == STAGED, side=side, earlier=self._state
        )
        if state is not self._state:
            if self._state is not None:
                # An answer may still read it; reading starts another process.
                self._state.repository.close()
            self._opened.add(state)
        self._state = state
        return state

    @property
    def reader(self) -> Repository:
        """Reader of the objects of the committed files and of the last state."""
        return self._repository if self._state is None else self._state.repository

    def close(self) -> None:
        """Release the files of all states."""
        for state in list(self._opened):
            state.close()
        self._opened.clear()
        self._state = None
