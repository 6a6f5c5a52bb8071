"""Layers of an index that are shared: the built-in model's and, if one is configured, a remote model's.

Each has its own descriptor, clusters and snapshots. Data from a remote is validated here before use.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
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
    from ctx.storage.views.catalog import Catalog


class Layer:
    """Clusters and snapshots of one model in one repository. `model` is None for the built-in model."""

    def __init__(
        self,
        repository: Repository,
        descriptor: Descriptor,
        snapshots: Snapshots,
        clusters: ClusterStore,
        catalog: Catalog | None = None,
        model: EmbeddingModel | None = None,
        below: Layer | None = None,
    ) -> None:
        """Store the parts of a layer.

        `below` is the layer that chunked the files, if this one only embeds its chunks.
        `catalog` has the words of the layer that chunked the files.
        """
        self._repository = repository
        self.descriptor = descriptor
        self.snapshots = snapshots
        self.clusters = clusters
        self.catalog = catalog
        self.model = model
        self._below = below

    @property
    def name(self) -> str:
        """Descriptor as used in the paths under the ref."""
        return str(self.descriptor)

    @property
    def model_name(self) -> str:
        """Name of the remote model, "" for the built-in model."""
        return self.model.settings.model if self.model is not None else ""

    def missing(self, tree: bytes, repository: Repository) -> Iterator[Cluster]:
        """Yield the clusters of a tree that are not stored, without reading its files."""
        open_ = [TreeReader(repository, self.name).root(tree)]
        while open_:
            node = open_.pop()
            if self.snapshots.has_node(node.key):
                continue
            content = node.read()
            open_ += reversed(content.nodes)
            yield from (one for one in content.clusters if self.clusters.absent([one.key]))

    def checked(self, key: bytes, data: bytes) -> bytes:
        """Return the payload of a cluster file from a remote. Raises `Damaged` unless it matches `key`.

        It must have exactly these paths and blobs, chunks and vectors that fit them, and finite numbers.
        """
        payload = layout.decode_shared(key, data)
        stored = self.clusters.decoded(key, payload)
        sizes = self._repository.blob_sizes([oid for oid, _ in stored.documents])
        for size, document in zip(sizes, stored.documents.values(), strict=True):
            # A blob may be absent in a partial clone.
            if size is not None and decode_record(document.record).size != size:
                raise Damaged("a file size does not match")
        vectors = b"".join(document.vectors for document in stored.of_members if document is not None)
        if not are_vectors(vectors, self.descriptor.dimensions, self.descriptor.precision):
            raise Damaged("it has a zero vector, or one with values that are not finite")
        if self._below is not None:
            self._below.agrees(stored)
        return payload

    def checked_words(self, key: bytes, data: bytes) -> tuple[bytes, SegmentPart]:
        """Return the payload of a words file from a remote, and the documents of a stored cluster with them.

        Raises `Damaged` unless it fits the cluster `key`; only recounting can show that the counts are right.
        """
        assert self.catalog is not None, "only the layer that chunked the files has words"
        payload = layout.decode_shared(key, data)
        stored = self.clusters.stored(key)
        return payload, decode_words(payload, self.catalog.group, stored, self.descriptor.vector_bytes)

    def agrees(self, other: StoredCluster) -> None:
        """Raise `Damaged` if a cluster of another layer has other chunks of the same files."""
        try:
            own = self.clusters.stored(cluster_key(self.name, other.members))
        except Damaged:
            return
        for mine, theirs in zip(own.of_members, other.of_members, strict=True):
            if (mine is None) != (theirs is None) or (mine and theirs and mine.record != theirs.record):
                raise Damaged("its chunks do not match its files")


def layers_of(session: SearchSession) -> list[Layer]:
    """Return the layers of an index, the one that chunked the files first. Raises UsageError (settings)."""
    own = Layer(session.repository, session.descriptor, session.snapshots, session.clusters, session.catalog)
    model = session.embedding_model
    if model is None:
        return [own]
    remote = (model.descriptor, model.snapshots, model.clusters, None, model, own)
    return [own, Layer(session.repository, *remote)]


def insist_on_same_model(share: ShareRepository, layer: Layer, there: Mapping[str, str]) -> None:
    """Raise `RemoteFailed` if the vectors on a remote come from another model of the same name.

    A remote model's embeddings of fixed texts are published with its vectors. If none are known here, those
    of the remote are kept, and compared at the first request to the model.
    """
    oid = there.get(layout.probe_path(layer.name))
    if layer.model is None or oid is None:
        return
    share.fetch_blobs([oid])
    (data,) = share.blobs([oid])
    try:
        theirs = layout.decode_probe(data or b"", layer.descriptor.dimensions)
    except Damaged:
        return
    own = layer.model.reference
    if own is None:
        layer.model.reference = theirs
    elif not is_same_answer(own.probe, theirs.probe):
        raise RemoteFailed(
            f"the vectors of {layer.descriptor.embed_model_id} at '{share.remote.name}' were made by another "
            "model of the same name: give yours another name in ctx.embedder.model, or remove its local "
            f"vectors: `git ctx gc --drop-descriptor {layer.name}`"
        )
