"""Building the clusters of one batch: the unit of work of a worker process."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from ctx.git.location import Location
from ctx.git.permissions import Permissions
from ctx.git.repository import Repository
from ctx.indexing.documents import DocumentBuilder, Source, documents_of
from ctx.models.static_embedding import static_embedding
from ctx.storage.cluster_store import ClusterStore
from ctx.storage.clusters import Document, StoredCluster, document_key, encode_cluster
from ctx.storage.descriptor import Descriptor
from ctx.storage.partition import Cluster
from ctx.storage.records import summarize
from ctx.storage.snapshots import Totals
from ctx.storage.store import Store
from ctx.storage.views.segments import Key, SegmentPart
from ctx.text.contents import MISSING


class Batch(NamedTuple):
    """Clusters to build, and what is already known of their blobs.

    `known` holds a document, or the reason to skip the file by its content.
    """

    clusters: Sequence[Cluster]
    known: dict[Key, Document | str]


class BatchResult(NamedTuple):
    """Result of a batch. `totals` is keyed by cluster key; `parts` hold the new documents.

    `incomplete` maps each cluster with missing blobs to these blobs.
    """

    totals: dict[bytes, Totals]
    parts: list[SegmentPart]
    incomplete: dict[bytes, list[bytes]]


class WorkerSetup(NamedTuple):
    """The picklable values that a worker process starts from."""

    location: Location
    descriptor: Descriptor
    permissions: Permissions


class Worker:
    """Builder of batches in this process."""

    def __init__(self, repository: Repository, store: Store, descriptor: Descriptor) -> None:
        self.builder = DocumentBuilder(repository, static_embedding())
        self._clusters = ClusterStore(store, descriptor)
        self._descriptor = str(descriptor)

    def run(self, batch: Batch) -> BatchResult:
        """Build and store the clusters of a batch."""
        return build_batch(batch, self.builder, self._clusters.write, self._descriptor)


def build_batch(
    batch: Batch, builder: DocumentBuilder, write: Callable[[bytes, bytes, bool], None], descriptor: str
) -> BatchResult:
    """Build and store the clusters of a batch.

    `write` takes key, payload, and True for a cluster with missing blobs. Such clusters are stored apart,
    because the bytes stored under a cluster key must not depend on which blobs are present.
    """
    documents = {key: found for key, found in batch.known.items() if not isinstance(found, str)}
    skips = {key: found for key, found in batch.known.items() if isinstance(found, str)}
    keys = dict.fromkeys(document_key(member) for cluster in batch.clusters for member in cluster.members)
    new = [key for key in keys if key not in batch.known]

    def sources() -> Iterator[Source]:
        for key, source in zip(new, builder.chunked(new), strict=True):
            if isinstance(source, str):
                skips[key] = source
            else:
                yield source

    parts: list[SegmentPart] = []
    for counted, part in builder.parts(sources()):
        documents |= documents_of(counted, part)
        parts.append(part)
    totals = {}
    incomplete = {}
    for cluster in batch.clusters:
        stored = StoredCluster(
            cluster.members, [skips.get(document_key(member)) for member in cluster.members], documents
        )
        if missing := missing_blobs(stored):
            incomplete[cluster.key] = missing
        write(cluster.key, encode_cluster(descriptor, *stored[:3]), bool(missing))
        totals[cluster.key] = cluster_totals(stored)
    return BatchResult(totals, parts, incomplete)


def missing_blobs(stored: StoredCluster) -> list[bytes]:
    """Return the blobs of a cluster that were missing when it was made."""
    return [member.oid for member, skip in zip(stored.members, stored.skips, strict=True) if skip == MISSING]


def cluster_totals(stored: StoredCluster) -> Totals:
    """Return the totals that a cluster adds to its directory."""
    files = chunks = size = lines = 0
    languages: dict[str, int] = {}
    skipped: dict[str, int] = {}
    for member, skip in zip(stored.members, stored.skips, strict=True):
        if skip is not None:
            skipped[skip] = skipped.get(skip, 0) + 1
            continue
        record = summarize(stored.documents[document_key(member)].record)
        files += 1
        chunks += len(record.kinds)
        size += record.size
        lines += record.lines
        language = member.language or ""
        languages[language] = languages.get(language, 0) + record.lines
    return Totals(1, files, chunks, size, lines, languages, skipped)
