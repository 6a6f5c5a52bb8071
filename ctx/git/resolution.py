"""The tree that a command is about, and the rules that choose it (docs/design.md, "Resolution")."""

from __future__ import annotations

from typing import NamedTuple

REVISION = "revision"
BRANCH = "branch"
CONFIG = "ctx.revision"
HEAD = "HEAD"
DEFAULT_BRANCH = "default branch"
LATEST_SNAPSHOT = "latest snapshot"

FALLBACK = "ctx.fallback"


class Resolution(NamedTuple):
    """A tree to answer from. `revision` is its displayed name, `resolved_by` the rule that applied."""

    tree: bytes
    commit: bytes | None
    revision: str
    resolved_by: str = REVISION

    @property
    def commit_id(self) -> str | None:
        """The id of the commit, hexadecimal; None if a tree was named."""
        return None if self.commit is None else self.commit.hex()
