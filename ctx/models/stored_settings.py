"""Settings of requests to model services, stored beside their vectors; no address and no key.

They name a model in the status, and lead to vectors whose descriptor has other settings of queries.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from ctx.errors import Damaged, Decoding, StoreUnusable
from ctx.models.model_files import MODEL
from ctx.models.settings import EmbedderSettings
from ctx.storage.arrays import decode, encode
from ctx.storage.regular_files import read_regular
from ctx.storage.store import Store

_FORMAT = 1
_TYPES: dict[str, type] = {
    "model": str,
    "dialect": str,
    "dimensions": int,
    "precision": str,
    "instruction": str,
    "query_prefix": str,
    "document_prefix": str,
    "query_task": str,
    "document_task": str,
    "path_header": bool,
    "path_cap": int,
    "context": int,
}
"""Stored settings, by the names in `EmbedderSettings`."""


def remember(store: Store, folder: str, settings: EmbedderSettings) -> None:
    """Store the settings of requests to this model; do nothing if the store is not writable."""
    path = os.path.join(folder, MODEL)
    values = {name: getattr(settings, name) for name in _TYPES}
    if _read(path) == values | {"named": settings.named}:
        return
    meta = {"format": _FORMAT, "settings": values, "named": list(settings.named)}
    with suppress(StoreUnusable):
        store.write_file(path, encode({}, meta))


def recalled(store: Store, descriptor: str) -> dict[str, Any] | None:
    """Return the stored settings of a model by the names of `EmbedderSettings`, or None."""
    return _read(os.path.join(store.path, "views", descriptor, MODEL))


def stored_as(
    store: Store, settings: EmbedderSettings, name: Callable[[EmbedderSettings], str]
) -> EmbedderSettings:
    """Return the settings whose descriptor has stored vectors of the same texts.

    These are the given settings, unless only vectors with another descriptor exist, written by an earlier
    version or with another preset.
    """
    if recalled(store, name(settings)) is not None:
        return settings
    for descriptor in _by_age(store):
        values = recalled(store, descriptor)
        other = settings if values is None else settings._replace(named=values["named"])
        # The descriptor includes everything that document vectors depend on.
        if name(other) == descriptor:
            return other
    return settings


def _by_age(store: Store) -> list[str]:
    """Return the descriptors of all models, the most recently written first."""
    views = os.path.join(store.path, "views")
    found: list[tuple[float, str]] = []
    with suppress(OSError):
        for folder in os.scandir(views):
            path = os.path.join(folder.path, MODEL)
            if os.path.exists(path):
                found.append((folder.stat().st_mtime, folder.name))
    return [name for _, name in sorted(found, reverse=True)]


def _read(path: str) -> dict[str, Any] | None:
    with suppress(Damaged), Decoding("settings of a model"):
        _, meta = decode(read_regular(path) or b"")
        values = meta["settings"]
        # Up to 0.1.0 the settings for queries were a part of the name.
        default = [values["instruction"], values["query_prefix"], values["query_task"]]
        named = meta.get("named", default)
        types = {name: type(value) for name, value in values.items()}
        if meta["format"] == _FORMAT and types == _TYPES and list(map(type, named)) == [str] * 3:
            return {**values, "named": tuple(named)}
    return None
