"""The clusters of a tree under two descriptors: that of the package, which has chunked it, and a model's.

Both partitions are the same, because the descriptor affects only the keys.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from ctx.indexing.tree_walk import TreeReader
from ctx.storage.partition import Node

if TYPE_CHECKING:
    from ctx.models.embedding_model import EmbeddingModel
    from ctx.session import Session


class Pair(NamedTuple):
    """One cluster under both descriptors."""

    local: bytes
    remote: bytes


class ClusterMap:
    """Map of clusters of the local descriptor to those of a model service."""

    def __init__(self, session: Session, model: EmbeddingModel) -> None:
        self._session = session
        self._model = model

    def directories(self, tree: bytes) -> Iterator[tuple[tuple[Node, Node], list[Pair]]]:
        """Yield the nodes and clusters of each directory under both descriptors, parents first."""
        nodes = (
            TreeReader(self._session.reader, str(descriptor)).root(tree).walk()
            for descriptor in (self._session.descriptor, self._model.descriptor)
        )
        for (local, one), (remote, other) in zip(*nodes, strict=True):
            pairs = zip(one.clusters, other.clusters, strict=True)
            yield (local, remote), [Pair(mine.key, theirs.key) for mine, theirs in pairs]

    def every(self, tree: bytes) -> list[Pair]:
        """Return all clusters of a tree."""
        return [pair for _, pairs in self.directories(tree) for pair in pairs]

    def absent(self, pairs: Sequence[Pair]) -> list[Pair]:
        """Return the given clusters without vectors of the model."""
        absent = set(self._model.clusters.absent(pair.remote for pair in pairs))
        return [pair for pair in pairs if pair.remote in absent]
