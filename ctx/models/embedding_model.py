"""The model of an embedding service in one repository: its descriptor, stored vectors and client."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from contextlib import suppress
from functools import cached_property
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import numpy.typing as npt

from ctx import chunking
from ctx.chunking.grammar_version import grammar_version
from ctx.errors import Damaged, Decoding, StoreUnusable
from ctx.git.repository import Repository
from ctx.models.centre import Reference
from ctx.models.ledger import Ledger
from ctx.models.model_files import CONFIRMED, PROBE, Journal, TruncatedTexts
from ctx.models.settings import EmbedderSettings, embedder_settings
from ctx.models.stored_settings import remember, stored_as
from ctx.storage.arrays import decode, encode
from ctx.storage.cluster_store import ClusterStore
from ctx.storage.clusters import StoredCluster
from ctx.storage.descriptor import CLUSTER_VERSION, SCOPE, Descriptor
from ctx.storage.regular_files import read_regular
from ctx.storage.snapshots import Snapshots
from ctx.storage.store import Store
from ctx.storage.views.vectors import VectorFiles

if TYPE_CHECKING:
    from ctx.models.embedder import EmbeddingService
    from ctx.storage.views.view import View

_CONFIRMED_FOR = 86400.0
"""Seconds for which a successful check of a model is valid."""
_KEPT = 4
"""Number of views whose derived values are cached."""

Kept = TypeVar("Kept")


def descriptor_of(settings: EmbedderSettings) -> Descriptor:
    """Return the descriptor of the vectors of an embedder."""
    version = f"{CLUSTER_VERSION}.{chunking.VERSION}+{grammar_version()}.{settings.form}"
    return Descriptor(SCOPE, settings.model_id, settings.dimensions, settings.precision, version)


class EmbeddingModel:
    """The model of an embedding service in one repository, with its stored vectors."""

    def __init__(self, repository: Repository, store: Store, settings: EmbedderSettings) -> None:
        self._repository = repository
        self._store = store
        self.settings = stored_as(store, settings, lambda one: str(descriptor_of(one)))
        self.descriptor = descriptor_of(self.settings)
        self.vector_bytes = self.descriptor.vector_bytes
        self.snapshots = Snapshots(store, str(self.descriptor))
        self.clusters = ClusterStore(store, self.descriptor)
        self.files = VectorFiles(store, str(self.descriptor), self.vector_bytes)
        self._folder = os.path.join(store.path, "views", str(self.descriptor))
        self.journal = Journal(store, self._folder, self.vector_bytes)
        self.truncated = TruncatedTexts(store, self._folder)
        self._of_views: dict[int, tuple[View, Any]] = {}

    def kept_for(self, view: View, make: Callable[[], Kept]) -> Kept:
        """Return the result of `make` for a view, cached for later queries of this process."""
        known = self._of_views.get(id(view))
        if known is None or known[0] is not view:
            made = make()
            while len(self._of_views) >= _KEPT:
                del self._of_views[next(iter(self._of_views))]
            known = self._of_views[id(view)] = view, made
        kept: Kept = known[1]
        return kept

    @cached_property
    def ledger(self) -> Ledger:
        """Ledger of sent data."""
        return Ledger(self._repository.common_dir)

    def rows_of(self, stored: StoredCluster) -> npt.NDArray[np.uint8]:
        """Return the vectors of a stored cluster, (chunks, vector bytes) uint8."""
        vectors = b"".join(document.vectors for document in stored.of_members if document is not None)
        return np.frombuffer(vectors, dtype=np.uint8).reshape(-1, self.vector_bytes)

    def embedder(self, **options: Any) -> EmbeddingService:
        """Return a client with these options of `EmbeddingService`; close it after use.

        Raises CtxError if the settings forbid requests.
        """
        from ctx.models.embedder import EmbeddingService

        return EmbeddingService(self._repository, self.ledger, self.settings, **options)

    @cached_property
    def query_embedder(self) -> EmbeddingService:
        """Client for queries; its connections are kept until `close`. Raises CtxError."""
        return self.embedder(for_queries=True)

    def close(self) -> None:
        """Close the client for queries."""
        if "query_embedder" in self.__dict__:
            self.query_embedder.close()

    def check(self, embedder: EmbeddingService) -> Reference:
        """Compare the model's answer to fixed texts with its first one. Raises `ServiceFailed`."""
        known = self.reference
        found = embedder.check(known)
        if known is None:
            self.reference = found
        self._confirm(embedder.url)
        remember(self._store, self._folder, self.settings)
        return found

    def check_query(self, embedder: EmbeddingService) -> Reference:
        """Check the address for queries once a day, also if the store is not writable."""
        known = self.reference
        remember(self._store, self._folder, self.settings)
        with suppress(OSError):
            if known and time.time() - os.stat(self._confirmation(embedder.url)).st_mtime < _CONFIRMED_FOR:
                return known
        found = embedder.check(known)
        with suppress(StoreUnusable):
            if known is None:
                self.reference = found
            self._confirm(embedder.url)
        return found

    def _confirm(self, url: str) -> None:
        self._store.write_file(self._confirmation(url), encode({}, {"format": 1}))

    def _confirmation(self, url: str) -> str:
        """Return the path of the file whose modification time is that of the last check of an address."""
        digest = blake2b(url.encode("utf-8", "surrogateescape"), digest_size=8).hexdigest()
        return os.path.join(self._folder, f"{CONFIRMED}{digest}")

    @property
    def reference(self) -> Reference | None:
        """First answer of the model to fixed texts, or None."""
        with suppress(Damaged), Decoding("the answer to fixed texts"):
            arrays, _ = decode(read_regular(os.path.join(self._folder, PROBE)) or b"")
            found = Reference(arrays["probe"].astype(np.float32), arrays["centre"].astype(np.float32))
            if {one.shape for one in found} == {(self.settings.dimensions,)}:
                return found
        return None

    @reference.setter
    def reference(self, found: Reference) -> None:
        arrays = {name: one.astype("<f4") for name, one in found._asdict().items()}
        self._store.write_file(os.path.join(self._folder, PROBE), encode(arrays, {"format": 1}))


class Models:
    """The configured embedding model, kept until a setting changes."""

    def __init__(self, repository: Repository, store: Store) -> None:
        self.repository = repository
        self.store = store
        self._model: EmbeddingModel | None = None
        self._digest = b""

    @property
    def configured(self) -> EmbeddingModel | None:
        """The configured embedder with its stored vectors, or None. Raises UsageError."""
        now = self.repository.settings.digest
        if now != self._digest:
            # Proxies, certificates and permissions are settings too.
            self.close()
            settings = embedder_settings(self.repository.settings)
            if settings is not None:
                self._model = EmbeddingModel(self.repository, self.store, settings)
            self._digest = now
        return self._model

    def close(self) -> None:
        """Close the connections of the model."""
        if self._model is not None:
            self._model.close()
        self._model, self._digest = None, b""
