"""Git trees as manifest nodes: the source of entries and path rules for the partition."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ctx.errors import CtxError, GitFailed
from ctx.git.formats import TreeEntry
from ctx.git.path_rules import PathRules
from ctx.git.repository import Repository
from ctx.git.unknown import FETCH_ALL
from ctx.storage.partition import Node, root_node

MOST_ENTRIES = 5_000_000
"""Maximum number of entries of a tree with repeated subtrees; each occurrence counts."""
_FEW_REPEATED = 10_000


class TreeReader:
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
            self._bounded(tree),
            self._fetch,
        )

    def _bounded(self, root: bytes) -> Callable[[bytes], Sequence[TreeEntry]]:
        """Return a function for the entries of trees on a walk from `root`.

        A few objects can refer to each other so often that a walk takes exponential time. The whole tree is
        counted as soon as many repeated entries are met.
        """
        seen: set[bytes] = set()
        repeated = 0

        def entries(tree: bytes) -> Sequence[TreeEntry]:
            nonlocal repeated
            found = self._entries(tree)
            if tree not in seen:
                seen.add(tree)
            elif repeated <= _FEW_REPEATED:
                repeated += 1 + len(found)
                if repeated > _FEW_REPEATED:
                    check_size(self._repository, root)
            return found

        return entries

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


def check_size(repository: Repository, tree: bytes) -> None:
    """Raise CtxError if a tree has more than MOST_ENTRIES entries."""
    total = 0
    for level, found in repository.tree_levels(tree):
        total += sum(level[oid] * len(entries) for oid, entries in found.items())
        if total > MOST_ENTRIES:
            raise CtxError(
                f"the tree {tree.hex()} holds the same directories again and again, more than "
                f"{MOST_ENTRIES:,} entries in all: name a directory of it with <revision>:<path>"
            )
