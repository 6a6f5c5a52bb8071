"""The remote model of a repository: its descriptor, where what it made is stored, and how it is asked."""

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
from ctx.models.addresses import embedding_address
from ctx.models.centre import Reference
from ctx.models.file_names import CONFIRMED, PROBE
from ctx.models.journal import Arrived
from ctx.models.ledger import Ledger
from ctx.models.previous import remember, stored_as
from ctx.models.settings import EmbedderSettings
from ctx.models.truncated import CutTexts
from ctx.storage.arrays import decode, encode
from ctx.storage.cluster_store import ClusterStore
from ctx.storage.clusters import Stored
from ctx.storage.descriptor import CLUSTER_VERSION, SCOPE, Descriptor
from ctx.storage.regular_files import open_regular
from ctx.storage.snapshots import Snapshots
from ctx.storage.store import Store
from ctx.storage.views.vectors import VectorFiles

if TYPE_CHECKING:
    from ctx.models.embedder import RemoteEmbedder
    from ctx.models.http import Patience
    from ctx.storage.views.view import View

_CONFIRMED_FOR = 86400.0
"""Seconds for which a model that has answered as before is not asked again."""
_KEPT = 4
"""Views of which it is kept where their vectors are."""

Kept = TypeVar("Kept")


def descriptor_of(settings: EmbedderSettings) -> Descriptor:
    """Return the name under which the vectors of an embedder are stored."""
    version = f"{CLUSTER_VERSION}.{chunking.VERSION}+{grammar_version()}.{settings.form}"
    return Descriptor(SCOPE, settings.model_id, settings.dimensions, settings.precision, version)


class RemoteModel:
    """What one repository has of one remote model."""

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
        self.arrived = Arrived(store, self._folder, self.vector_bytes)
        self.cut = CutTexts(store, self._folder)
        self._near: dict[int, tuple[View, Any]] = {}
        self._remembered = False

    def kept_for(self, view: View, make: Callable[[], Kept]) -> Kept:
        """Return what `make` gives for a view, made once for a process that answers many questions."""
        known = self._near.get(id(view))
        if known is None or known[0] is not view:
            made = make()
            while len(self._near) >= _KEPT:
                del self._near[next(iter(self._near))]
            known = self._near[id(view)] = view, made
        kept: Kept = known[1]
        return kept

    def has_answered(self, url: str) -> bool:
        """Whether this model was found at an address before."""
        return os.path.exists(self._confirmation(embedding_address(url, self.settings.dialect)))

    @cached_property
    def ledger(self) -> Ledger:
        """Where it is written down what was sent."""
        return Ledger(os.path.realpath(self._repository.common_dir))

    def rows_of(self, stored: Stored) -> npt.NDArray[np.uint8]:
        """The vectors of a stored cluster, (chunks, vector bytes)."""
        vectors = b"".join(document.vectors for document in stored.of_members if document is not None)
        return np.frombuffer(vectors, dtype=np.uint8).reshape(-1, self.vector_bytes)

    def embedder(self, *, for_queries: bool = False, patience: Patience | None = None) -> RemoteEmbedder:
        """Return the service, for documents or for queries; close it. `patience` as in `Service`.

        Raises CtxError where nothing may be sent.
        """
        from ctx.models.embedder import RemoteEmbedder

        return RemoteEmbedder(
            self.settings,
            self._repository.place.directory,
            self._repository.settings,
            self.ledger,
            for_queries=for_queries,
            patience=patience,
        )

    @cached_property
    def query_embedder(self) -> RemoteEmbedder:
        """The service for queries; its connections are kept until `close`. Raises CtxError."""
        return self.embedder(for_queries=True)

    def close(self) -> None:
        """Close what was opened for queries."""
        if "query_embedder" in self.__dict__:
            self.query_embedder.close()

    def check(self, embedder: RemoteEmbedder) -> Reference:
        """Compare what the model says to fixed texts with what it said first. Raises `ServiceFailed`."""
        known = self.reference
        found = embedder.check(known)
        if known is None:
            self.reference = found
        self._confirm(embedder.url)
        self._remember()
        return found

    def check_query(self, embedder: RemoteEmbedder) -> Reference:
        """The same for an address that queries go to, once a day, also where nothing may be written."""
        known = self.reference
        self._remember()
        try:
            if known and time.time() - os.stat(self._confirmation(embedder.url)).st_mtime < _CONFIRMED_FOR:
                return known
        except OSError:
            pass
        found = embedder.check(known)
        with suppress(StoreUnusable):
            if known is None:
                self.reference = found
            self._confirm(embedder.url)
        return found

    def _remember(self) -> None:
        if not self._remembered:
            remember(self._store, self._folder, self.settings)
        self._remembered = True

    def _confirm(self, url: str) -> None:
        self._store.write_file(self._confirmation(url), encode({}, {"format": 1}))

    def _confirmation(self, url: str) -> str:
        """The file whose age says when the model at an address was last found to be the same."""
        digest = blake2b(url.encode("utf-8", "surrogateescape"), digest_size=8).hexdigest()
        return os.path.join(self._folder, f"{CONFIRMED}{digest}")

    @property
    def reference(self) -> Reference | None:
        """What the model said to fixed texts when it was first asked."""
        try:
            with Decoding("what a model said"), open_regular(os.path.join(self._folder, PROBE)) as file:
                arrays, _ = decode(file.read())
                found = Reference(arrays["probe"].astype(np.float32), arrays["centre"].astype(np.float32))
        except (OSError, Damaged):
            return None
        return found if {one.shape for one in found} == {(self.settings.dimensions,)} else None

    @reference.setter
    def reference(self, found: Reference) -> None:
        arrays = {name: one.astype("<f4") for name, one in found._asdict().items()}
        self._store.write_file(os.path.join(self._folder, PROBE), encode(arrays, {"format": 1}))
