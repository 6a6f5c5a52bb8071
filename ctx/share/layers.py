"""Layers of an index that are shared: of the built-in model and, if one is configured, of a model service.

Each has its own descriptor, clusters and snapshots. Data from a remote is validated here before use.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from ctx.errors import Damaged, RemoteFailed
from ctx.git.repository import Repository
from ctx.indexing.tree_walk import TreeReader
from ctx.models.precision import are_vectors, is_same_answer
from ctx.share import layout
from ctx.share.transport import ShareRepository
from ctx.share.words import decode_words
from ctx.storage.cluster_key import cluster_key
from ctx.storage.cluster_store import ClusterStore
from ctx.storage.descriptor import Descriptor
from ctx.storage.partition import Cluster
from ctx.storage.records import decode_record
from ctx.storage.snapshots import Snapshots
from ctx.storage.views.segments import SegmentPart

if TYPE_CHECKING:
    from ctx.models.embedding_model import EmbeddingModel
    from ctx.search.session import SearchSession
    from ctx.storage.clusters import StoredCluster


class Layer:
    """Clusters and snapshots of one model. `model` is None for the built-in model, which chunks the files.

    `catalog` has the words of the chunks; it is None if the layer only embeds chunks.
    """

    def __init__(self, session: SearchSession, model: EmbeddingModel | None = None) -> None:
        source = session if model is None else model
        self.descriptor: Descriptor = source.descriptor
        self.snapshots: Snapshots = source.snapshots
        self.clusters: ClusterStore = source.clusters
        self.catalog = session.catalog if model is None else None
        self.model = model
        self._session = session

    @property
    def name(self) -> str:
        """Descriptor as used in the paths under the ref."""
        return str(self.descriptor)

    @property
    def model_name(self) -> str:
        """Name of the model of the service, "" for the built-in model."""
        return self.model.settings.model if self.model is not None else ""

    def missing(self, trees: Iterable[bytes], repository: Repository) -> list[Cluster]:
        """Return the clusters of trees that are not stored, each once, without reading files."""
        found = {
            cluster.key: cluster
            for tree in trees
            for _, content in TreeReader(repository, self.name).root(tree).walk(self.snapshots.has_node)
            for cluster in content.clusters
        }
        return [found[key] for key in self.clusters.absent(found)]

    def checked(self, key: bytes, data: bytes) -> bytes:
        """Return the payload of a cluster file from a remote. Raises `Damaged` unless it matches `key`.

        It must have exactly these paths and blobs, chunks and vectors that fit them, and finite numbers.
        """
        payload = layout.decode_shared(key, data)
        stored = self.clusters.decoded(key, payload)
        sizes = self._session.repository.blob_sizes([oid for oid, _ in stored.documents])
        for size, document in zip(sizes, stored.documents.values(), strict=True):
            # A blob may be absent in a partial clone.
            if size is not None and decode_record(document.record).size != size:
                raise Damaged("a file size does not match")
        vectors = b"".join(document.vectors for document in stored.of_members if document is not None)
        if not are_vectors(vectors, self.descriptor.dimensions, self.descriptor.precision):
            raise Damaged("it has a zero vector, or one with values that are not finite")
        if self.model is not None:
            self._check_chunks(stored)
        return payload

    def checked_words(self, key: bytes, data: bytes) -> tuple[bytes, SegmentPart]:
        """Return the payload of a words file from a remote, and the documents of a stored cluster with them.

        Raises `Damaged` unless it fits the cluster `key`; only recounting can show that the counts are right.
        """
        assert self.catalog is not None, "only the layer that chunked the files has words"
        payload = layout.decode_shared(key, data)
        stored = self.clusters.stored(key)
        return payload, decode_words(payload, self.catalog.group, stored, self.descriptor.vector_bytes)

    def _check_chunks(self, stored: StoredCluster) -> None:
        """Raise `Damaged` if a cluster has other chunks than that of the built-in model, if it is stored."""
        try:
            own = self._session.clusters.stored(
                cluster_key(str(self._session.descriptor), stored.members)
            ).of_members
        except Damaged:
            return
        if [one and one.record for one in own] != [one and one.record for one in stored.of_members]:
            raise Damaged("its chunks do not match its files")

    def check_model(self, share: ShareRepository, files: Mapping[str, str]) -> None:
        """Raise `RemoteFailed` if the vectors on a remote come from another model of the same name.

        A model's embeddings of fixed texts are published with its vectors. If none are known here, those of
        the remote are kept, and compared at the first request to the model.
        """
        oid = files.get(layout.probe_path(self.name))
        if self.model is None or oid is None:
            return
        share.fetch_blobs([oid])
        (data,) = share.blobs([oid])
        try:
            theirs = layout.decode_probe(data or b"", self.descriptor.dimensions)
        except Damaged:
            return
        own = self.model.reference
        if own is None:
            self.model.reference = theirs
        elif not is_same_answer(own.probe, theirs.probe):
            raise RemoteFailed(
                f"the vectors of {self.descriptor.embed_model_id} at '{share.remote.shown}' were made by "
                "another model of the same name: give yours another name in ctx.embedder.model, or remove "
                f"its local vectors: `git ctx gc --drop-descriptor {self.name}`"
            )


def layers_of(session: SearchSession) -> list[Layer]:
    """Return the layers of an index, the one that chunked the files first. Raises UsageError (settings)."""
    model = session.embedding_model
    return [Layer(session), *([] if model is None else [Layer(session, model)])]
