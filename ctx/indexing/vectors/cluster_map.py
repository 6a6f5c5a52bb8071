"""The clusters of a tree under two descriptors: that of the package, which has cut the files, and a model's.

Both partitions are the same, since they know no descriptor but in their keys.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from ctx.indexing.tree_walk import Trees
from ctx.storage.partition import Node

if TYPE_CHECKING:
    from ctx.models.remote import RemoteModel
    from ctx.session import Session


class Pair(NamedTuple):
    """One cluster under both descriptors."""

    local: bytes
    remote: bytes


class Pairs:
    """The trees of one repository as one remote model has them."""

    def __init__(self, session: Session, model: RemoteModel) -> None:
        self._session = session
        self._model = model

    def roots(self, tree: bytes) -> tuple[Node, Node]:
        """The node of a whole tree under both descriptors."""
        repository = self._session.reader
        return (
            Trees(repository, str(self._session.descriptor)).root(tree),
            Trees(repository, str(self._model.descriptor)).root(tree),
        )

    def directories(self, tree: bytes) -> Iterator[tuple[tuple[Node, Node], list[Pair]]]:
        """Each directory of a tree as its nodes and clusters under both descriptors, the upper ones first."""
        open_ = [self.roots(tree)]
        while open_:
            local, remote = open_.pop()
            one, other = local.read(), remote.read()
            open_ += reversed(list(zip(one.nodes, other.nodes, strict=True)))
            pairs = zip(one.clusters, other.clusters, strict=True)
            yield (local, remote), [Pair(mine.key, theirs.key) for mine, theirs in pairs]

    def every(self, tree: bytes) -> list[Pair]:
        """All clusters of a tree."""
        return [pair for _, pairs in self.directories(tree) for pair in pairs]

    def lacking(self, tree: bytes) -> list[Pair]:
        """The clusters of a tree that the model has no vectors for."""
        return self.absent(self.every(tree))

    def absent(self, pairs: Sequence[Pair]) -> list[Pair]:
        """Those of some clusters that the model has no vectors for."""
        absent = set(self._model.clusters.absent(pair.remote for pair in pairs))
        return [pair for pair in pairs if pair.remote in absent]
