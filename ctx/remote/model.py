"""The remote model of a repository: its descriptor, where what it made is stored, and how it is asked."""

from __future__ import annotations

import os
import time
from functools import cached_property
from hashlib import blake2b
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from ctx import chunking
from ctx.arrays import decode, encode
from ctx.chunking.grammar_version import grammar_version
from ctx.cluster_store import ClusterStore
from ctx.descriptor import CLUSTER_VERSION, SCOPE, Descriptor
from ctx.embed.precision import vector_bytes
from ctx.errors import Damaged, StoreUnusable
from ctx.git.repository import Repository
from ctx.regular_files import open_regular
from ctx.remote.arrived import Arrived
from ctx.remote.ledger import Ledger
from ctx.remote.settings import EmbedderSettings
from ctx.snapshots import Snapshots
from ctx.store import Store
from ctx.views.vectors import VectorFiles

if TYPE_CHECKING:
    from ctx.remote.embedder import RemoteEmbedder

PROBE, CONFIRMED = "probe-0", "confirmed-"
"""Names of files beside the vectors."""
_CONFIRMED_FOR = 86400.0
"""Seconds for which a model that has answered as before is not asked again."""


class RemoteModel:
    """What one repository has of one remote model."""

    def __init__(self, repository: Repository, store: Store, settings: EmbedderSettings) -> None:
        self._repository = repository
        self._store = store
        self.settings = settings
        version = f"{CLUSTER_VERSION}.{chunking.VERSION}+{grammar_version()}.{settings.form}"
        self.descriptor = Descriptor(
            SCOPE, settings.model_id, settings.dimensions, settings.precision, version
        )
        self.vector_bytes = vector_bytes(settings.dimensions, settings.precision)
        self.snapshots = Snapshots(store, str(self.descriptor))
        self.clusters = ClusterStore(store, self.descriptor)
        self.files = VectorFiles(store, str(self.descriptor), self.vector_bytes)
        self._folder = os.path.join(store.path, "views", str(self.descriptor))
        self.arrived = Arrived(store, self._folder, self.vector_bytes)

    @cached_property
    def ledger(self) -> Ledger:
        """Where it is written down what was sent."""
        return Ledger(os.path.realpath(self._repository.common_dir))

    def embedder(self, *, for_queries: bool = False) -> RemoteEmbedder:
        """The service, for documents or for queries; close it. Raises CtxError where the user is offline."""
        from ctx.remote.embedder import RemoteEmbedder

        return RemoteEmbedder(
            self.settings,
            self._repository.place.directory,
            self._repository.settings,
            self.ledger,
            for_queries=for_queries,
        )

    @cached_property
    def query_embedder(self) -> RemoteEmbedder:
        """The service for queries; its connections are kept until `close`. Raises CtxError."""
        return self.embedder(for_queries=True)

    def close(self) -> None:
        """Close what was opened for queries."""
        if "query_embedder" in self.__dict__:
            self.query_embedder.close()

    def check(self, embedder: RemoteEmbedder) -> None:
        """Compare what the model says to a fixed text with what it said first. Raises `ServiceFailed`."""
        found = embedder.check(self.probe)
        if self.probe is None:
            self.probe = found
        self._confirm(embedder.url)

    def check_query(self, embedder: RemoteEmbedder) -> None:
        """The same for an address that queries go to, once a day and where there is anything to compare."""
        if self.probe is None:
            return
        path = self._confirmation(embedder.url)
        try:
            if time.time() - os.stat(path).st_mtime < _CONFIRMED_FOR:
                return
        except OSError:
            pass
        embedder.check(self.probe)
        try:
            self._confirm(embedder.url)
        except StoreUnusable:
            return

    def _confirm(self, url: str) -> None:
        self._store.write_file(self._confirmation(url), encode({}, {"format": 1}))

    def _confirmation(self, url: str) -> str:
        """The file whose age says when the model at an address was last found to be the same."""
        digest = blake2b(url.encode("utf-8", "surrogateescape"), digest_size=8).hexdigest()
        return os.path.join(self._folder, f"{CONFIRMED}{digest}")

    @property
    def probe(self) -> npt.NDArray[np.float32] | None:
        """What the model said to a fixed text when it was first asked, (dimensions,)."""
        try:
            with open_regular(os.path.join(self._folder, PROBE)) as file:
                arrays, _ = decode(file.read())
            return arrays["probe"].astype(np.float32)
        except (OSError, Damaged, KeyError):
            return None

    @probe.setter
    def probe(self, found: npt.NDArray[np.float32]) -> None:
        path = os.path.join(self._folder, PROBE)
        self._store.write_file(path, encode({"probe": found.astype("<f4")}, {"format": 1}))
