"""Reuse of stored vectors of a model service for equal texts: of earlier versions of a file, or of its blob.

Embedding a text costs money, so stored vectors are searched first.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING

from ctx.errors import Damaged
from ctx.storage.cluster_key import cluster_key
from ctx.storage.clusters import StoredCluster, document_key
from ctx.storage.document_index import DocumentIndex
from ctx.storage.views.view import View

if TYPE_CHECKING:
    from ctx.models.embedding_model import EmbeddingModel
    from ctx.session import Session

_BASES = 4
"""Number of earlier trees that are searched."""


class KnownVectors:
    """Stored vectors of one model, other than the clusters of `tree` itself."""

    def __init__(self, session: Session, model: EmbeddingModel, tree: bytes) -> None:
        self._session = session
        self._model = model
        self._bases = [view for view in session.catalog.views() if view.tree != tree][:_BASES]
        self._of_paths: dict[bytes, dict[bytes, bytes]] = {}

    def of(self, stored: StoredCluster, hashes: Sequence[bytes]) -> dict[bytes, bytes]:
        """Return the known vectors of a cluster by the hashes of their texts."""
        known: dict[bytes, bytes] = {}
        for clusters in self._having(stored):
            if all(one in known for one in hashes):
                break
            known |= self._vectors_of(clusters)
        return known

    def _having(self, stored: StoredCluster) -> Iterator[set[bytes]]:
        """Yield local clusters that may have equal texts: of equal paths in earlier trees, then of blobs."""
        for base in self._bases:
            yield self._earlier(stored, base)
        documents = DocumentIndex(self._session.store, str(self._session.descriptor))
        yield set(documents.clusters_of(map(document_key, stored.members)).values())

    def _vectors_of(self, clusters: Collection[bytes]) -> dict[bytes, bytes]:
        """Return the vectors of the given local clusters by the hashes of their texts."""
        known: dict[bytes, bytes] = {}
        width = self._model.vector_bytes
        for key in clusters:
            try:
                local = self._session.clusters.stored(key)
                remote = self._model.clusters.stored(cluster_key(str(self._model.descriptor), local.members))
            except Damaged:
                continue
            for document in filter(None, remote.of_members):
                for number, hashed in enumerate(document.text_hashes()):
                    known[hashed] = document.vectors[number * width : (number + 1) * width]
        return known

    def _earlier(self, stored: StoredCluster, base: View) -> set[bytes]:
        keys = set(base.clusters_of([document_key(member) for member in stored.members]).values())
        if base.tree not in self._of_paths:
            clusters = [base.cluster_of(file) for file in range(base.files)]
            self._of_paths[base.tree] = dict(zip(base.paths, clusters, strict=True))
        places = self._of_paths[base.tree]
        return keys | {places[member.path] for member in stored.members if member.path in places}
