"""The remote models of one open repository: the configured one, and others by their settings."""

from __future__ import annotations

from ctx.git.repository import Repository
from ctx.models.remote import RemoteModel
from ctx.models.settings import EmbedderSettings, embedder_settings
from ctx.storage.store import Store


class Models:
    """Cache of open remote models; emptied when a setting changes."""

    def __init__(self, repository: Repository, store: Store) -> None:
        self.repository = repository
        self.store = store
        self._models: dict[EmbedderSettings, RemoteModel] = {}
        self._under = b""

    @property
    def configured(self) -> RemoteModel | None:
        """The configured embedder with its stored vectors, or None. Raises UsageError."""
        settings = embedder_settings(self.repository.settings)
        return None if settings is None else self.of(settings)

    def of(self, settings: EmbedderSettings) -> RemoteModel:
        """Return the model with these settings, cached."""
        now = self.repository.settings.digest
        if now != self._under:
            # Proxies, certificates and permissions are settings too.
            self.close()
            self._under = now
        if settings not in self._models:
            self._models[settings] = RemoteModel(self.repository, self.store, settings)
        return self._models[settings]

    def close(self) -> None:
        """Close the connections of all models."""
        while self._models:
            self._models.popitem()[1].close()
