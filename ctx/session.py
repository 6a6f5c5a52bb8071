"""An open repository with its store: the values that every operation starts from.

A session opens each part on first use and has no operations of its own.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cached_property
from hashlib import blake2b
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar

from ctx import text
from ctx.git.alternates import alternates_with
from ctx.git.repository import Repository, open_repository
from ctx.storage.descriptor import Descriptor, embedded_model
from ctx.storage.snapshots import Snapshots
from ctx.storage.store import DIRECTORY, Store

if TYPE_CHECKING:
    from ctx.models.embedding_model import EmbeddingModel, Models
    from ctx.storage.cluster_store import ClusterStore
    from ctx.storage.views.catalog import Catalog
    from ctx.types import IndexPlan, Progress

SessionType = TypeVar("SessionType", bound="Session")


class Session:
    """A repository, its store and the stored objects. Close it after use.

    `on_miss` is called with the session and an uncovered tree if the user permits fetching from a remote; it
    returns a message about a failure or None. `fetch_failed` is the last such message. `on_progress` is
    called while a tree is indexed, `on_commits` with the number of indexed commits and of all commits while a
    history is (it returns False to answer from these), `on_plan` with the cost of indexing a named revision
    before a search does so. Callbacks must not refer to the session, or a dropped session would not end its
    git processes at once.
    """

    def __init__(self, path: str | os.PathLike[str] = ".", *, repository: Repository | None = None) -> None:
        """Open the repository that contains `path`, or use an open one, which is closed with the session."""
        self.repository: Repository = repository or open_repository(path)
        self.descriptor: Descriptor = embedded_model()
        alternates = alternates_with(self.repository.alternates, DIRECTORY)
        self.store = Store(self.repository.common_dir, alternates, self.repository.permissions)
        self.store.check_layout()
        self.snapshots = Snapshots(self.store, str(self.descriptor))
        self.on_miss: Callable[[Any, bytes], str | None] | None = None
        self.on_progress: Callable[[Progress], None] | None = None
        self.on_commits: Callable[[int, int], bool] | None = None
        self.on_plan: Callable[[IndexPlan], None] | None = None
        self.fetch_failed: str | None = None

    def __enter__(self: SessionType) -> SessionType:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Release the files, connections and processes of the repository, and the views kept in memory."""
        if (catalog := self.__dict__.get("catalog")) is not None:
            catalog.close()
        if (models := self.__dict__.get("models")) is not None:
            models.close()
        self.repository.close()

    @property
    def reader(self) -> Repository:
        """Repository from which objects are read."""
        return self.repository

    @property
    def repository_id(self) -> str:
        """16 hexadecimal digits that identify this repository on this machine."""
        place = os.fsencode(os.path.realpath(self.repository.common_dir))
        return blake2b(place, digest_size=8).hexdigest()

    # Imported on first use: an up-to-date index is recognized without numpy.

    @cached_property
    def clusters(self) -> ClusterStore:
        """The stored clusters."""
        from ctx.storage.cluster_store import ClusterStore

        return ClusterStore(self.store, self.descriptor)

    @cached_property
    def catalog(self) -> Catalog:
        """The views and segments."""
        from ctx.storage.views.catalog import Catalog

        return Catalog(self.store, str(self.descriptor), text.VERSION)

    @cached_property
    def models(self) -> Models:
        """The model services of this repository."""
        from ctx.models.embedding_model import Models

        return Models(self.repository, self.store)

    @property
    def has_model_services(self) -> bool:
        """Return True if a search sends requests to a model service."""
        settings = self.repository.settings
        return any(settings.get(f"ctx.{kind}.url") for kind in ("embedder", "reranker"))

    @property
    def embedding_model(self) -> EmbeddingModel | None:
        """The configured embedder with its stored vectors, or None. Raises UsageError."""
        return self.models.configured if self.repository.settings.get("ctx.embedder.url") else None


def take_shared(session: Session, tree: bytes, *, indexing: bool) -> None:
    """Fetch missing objects of a tree from a remote, if the configuration permits it."""
    from ctx.storage import sharing

    if session.on_miss is not None and sharing.may_fetch(session.repository, indexing=indexing):
        session.fetch_failed = session.on_miss(session, tree)
