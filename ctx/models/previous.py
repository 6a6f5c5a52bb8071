"""Previously configured model services with stored vectors, which serve queries while a new one is indexed.

The settings for queries to such a model are stored beside its vectors, but no address and no key: requests
are sent only to configured addresses at which it has answered before.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from ctx.errors import Damaged, Decoding, StoreUnusable, UsageError
from ctx.models.model_files import MODEL
from ctx.models.precision import check_form
from ctx.models.presets import DIALECTS
from ctx.models.settings import EmbedderSettings, former_addresses
from ctx.storage.arrays import decode, encode
from ctx.storage.regular_files import read_regular

if TYPE_CHECKING:
    from ctx.models.embedding_model import EmbeddingModel, Models
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
    """Store the settings for queries to this model; do nothing if the store is not writable."""
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


def previous_models(models: Models, now: EmbeddingModel) -> Iterator[tuple[EmbeddingModel, bool]]:
    """Yield other models with stored vectors, the last written first, each with True if it is reachable.

    It is if it has answered at a configured address; requests must not be sent to the others.
    """
    settings = now.settings
    addresses = (settings.url, settings.query_url, *former_addresses(models.repository.settings))
    for descriptor in _by_age(models.store):
        model = _recalled_model(models, descriptor, settings)
        if model is None or model.descriptor == now.descriptor:
            continue
        known = [one for one in addresses if model.has_answered(one)]
        if known:
            query_url = settings.query_url if settings.query_url in known else known[0]
            model = models.of(model.settings._replace(url=known[0], query_url=query_url))
        yield model, bool(known)


def _recalled_model(models: Models, descriptor: str, now: EmbedderSettings) -> EmbeddingModel | None:
    """Return the model of a descriptor, None unless its stored settings match and its reference is stored."""
    values = recalled(models.store, descriptor)
    if values is None or values["dialect"] not in DIALECTS:
        return None
    try:
        check_form(values["dimensions"], values["precision"])
    except UsageError:
        return None
    model = models.of(now._replace(price=0.0, **values))
    return model if str(model.descriptor) == descriptor and model.reference is not None else None


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
