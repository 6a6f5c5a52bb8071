"""Trees of the repository as manifest nodes: the partition's source of entries and path rules."""

from __future__ import annotations

from collections.abc import Sequence

from ctx.errors import GitFailed
from ctx.git.formats import TreeEntry
from ctx.git.repository import Repository
from ctx.git.unknown import FETCH_ALL
from ctx.indexing.path_rules import PathRules
from ctx.storage.partition import Node, root_node


class Trees:
    """Bulk reader of trees. Prefetched entry lists are kept until they are requested.

    `warnings` has a message for each rule file that could not be used.
    """

    def __init__(self, repository: Repository, descriptor: str) -> None:
        self._repository = repository
        self._descriptor = descriptor
        self.warnings: list[str] = []
        self._prefetched: dict[bytes, Sequence[TreeEntry]] = {}

    def root(self, tree: bytes) -> Node:
        """Return the node of a root tree. Raises `GitFailed` if a subtree is missing."""
        return root_node(
            self._descriptor,
            tree,
            lambda entries: PathRules.root(self._repository, entries, self.warnings),
            self._entries,
            self._fetch,
        )

    def _fetch(self, trees: Sequence[bytes]) -> None:
        self._prefetched.update(self._repository.trees_entries(trees))

    def _entries(self, tree: bytes) -> Sequence[TreeEntry]:
        if tree in self._prefetched:
            return self._prefetched.pop(tree)
        try:
            return self._repository.tree_entries(tree)
        except KeyError:
            remedy = (
                "`git ctx index --fetch` of this revision gets the missing objects"
                if self._repository.settings.is_partial_clone
                else f"`{FETCH_ALL}` may fetch it, `git fsck` checks for damage"
            )
            raise GitFailed(f"the tree {tree.hex()} is not in this repository: {remedy}") from None
