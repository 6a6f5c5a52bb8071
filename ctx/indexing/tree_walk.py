"""A tree of this repository as manifest nodes: where the partition gets its entries and path rules from."""

from __future__ import annotations

from collections.abc import Sequence

from ctx.errors import GitFailed
from ctx.git.formats import TreeEntry
from ctx.git.repository import Repository
from ctx.git.unknown import FETCH_ALL
from ctx.indexing.path_rules import PathRules
from ctx.storage.partition import Node, root_node


class Trees:
    """Reads trees in bulk; an entry list is kept from when it is announced until it is asked for.

    `warnings` has a sentence for each rule file that was met and could not be used.
    """

    def __init__(self, repository: Repository, descriptor: str) -> None:
        self._repository = repository
        self._descriptor = descriptor
        self.warnings: list[str] = []
        self._announced: dict[bytes, Sequence[TreeEntry]] = {}

    def root(self, tree: bytes) -> Node:
        """The node of a whole tree. Raises `GitFailed` when a part of it is not here."""
        return root_node(
            self._descriptor,
            tree,
            lambda entries: PathRules.root(self._repository, entries, self.warnings),
            self._entries,
            self._fetch,
        )

    def _fetch(self, trees: Sequence[bytes]) -> None:
        self._announced.update(self._repository.trees_entries(trees))

    def _entries(self, tree: bytes) -> Sequence[TreeEntry]:
        if tree in self._announced:
            return self._announced.pop(tree)
        try:
            return self._repository.tree_entries(tree)
        except KeyError:
            way_out = (
                "`git ctx index --fetch` of this revision gets all that it lacks"
                if self._repository.settings.is_partial_clone
                else f"`{FETCH_ALL}` may bring it, `git fsck` looks for damage"
            )
            raise GitFailed(f"the tree {tree.hex()} is not in this repository: {way_out}") from None
