"""Workers that build batches of clusters, and the picklable values that they start from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from ctx.git.location import Location
from ctx.git.permissions import Permissions
from ctx.git.repository import Repository
from ctx.indexing.batch import Made, make_batch
from ctx.indexing.documents import Maker
from ctx.models.static_embedding import static_embedding
from ctx.storage.cluster_store import ClusterStore
from ctx.storage.clusters import Document
from ctx.storage.descriptor import Descriptor
from ctx.storage.partition import Cluster
from ctx.storage.store import Store
from ctx.storage.views.segments import Key


class Task(NamedTuple):
    """A batch for a worker: clusters to build, and what is already known of their blobs.

    `known` holds a document, or the reason to skip the file by its content.
    """

    clusters: list[Cluster]
    known: Mapping[Key, Document | str]


class WorkerSetup(NamedTuple):
    """Location of the repository and the store of a worker."""

    location: Location
    descriptor: Descriptor
    permissions: Permissions


class Worker:
    """Builder of batches in this process."""

    def __init__(self, setup: WorkerSetup, store: Store) -> None:
        repository = Repository(setup.location)
        self.maker = Maker(repository, static_embedding())
        self._clusters = ClusterStore(store, setup.descriptor)
        self._descriptor = str(setup.descriptor)

    def run(self, task: Task) -> Made:
        """Build and store the clusters of a batch."""
        return make_batch(task.clusters, task.known, self.maker, self._clusters.write, self._descriptor)
