"""Previously configured remote models with stored vectors, which serve queries while a new one is indexed.

The settings for queries to such a model are stored beside its vectors, but no address and no key: requests
are sent only to configured addresses at which it has answered before.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from ctx.errors import Damaged, StoreUnusable, UsageError
from ctx.models.file_names import MODEL
from ctx.models.precision import check_form
from ctx.models.presets import DIALECTS
from ctx.models.settings import EmbedderSettings, former_addresses
from ctx.storage.arrays import decode, encode
from ctx.storage.regular_files import open_regular

if TYPE_CHECKING:
    from ctx.models.configured import Models
    from ctx.models.remote import RemoteModel
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
    if _read(path) == (values, settings.named):
        return
    meta = {"format": _FORMAT, "settings": values, "named": list(settings.named)}
    with suppress(StoreUnusable):
        store.write_file(path, encode({}, meta))


def recalled(store: Store, descriptor: str) -> dict[str, Any] | None:
    """Return the stored settings of a model by the names of `EmbedderSettings`, or None."""
    found = _read(os.path.join(store.path, "views", descriptor, MODEL))
    if found is None:
        return None
    values, named = found
    if set(values) != set(_TYPES) or any(type(values[name]) is not kind for name, kind in _TYPES.items()):
        return None
    if named is None:
        # Up to 0.1.0 the settings for queries were a part of the name.
        named = values["instruction"], values["query_prefix"], values["query_task"]
    return values | {"named": named}


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


def former_models(models: Models, now: RemoteModel) -> Iterator[RemoteModel]:
    """Yield earlier models that can replace the configured one, the last used first."""
    wanted = now.settings
    for model, known in _earlier(models, now):
        if known:
            query_url = wanted.query_url if wanted.query_url in known else known[0]
            yield models.of(model.settings._replace(url=known[0], query_url=query_url))


def unreachable_models(models: Models, now: RemoteModel) -> Iterator[RemoteModel]:
    """Yield earlier models without a configured address; never send requests to them."""
    return (model for model, known in _earlier(models, now) if not known)


def _earlier(models: Models, now: RemoteModel) -> Iterator[tuple[RemoteModel, list[str]]]:
    """Yield each earlier model, with the configured addresses at which it has answered."""
    settings = now.settings
    addresses = (settings.url, settings.query_url, *former_addresses(models.repository.settings))
    for descriptor in _by_age(models.store):
        model = _recalled_model(models, descriptor, settings)
        if model is not None and model.descriptor != now.descriptor:
            yield model, [one for one in addresses if model.has_answered(one)]


def _recalled_model(models: Models, descriptor: str, now: EmbedderSettings) -> RemoteModel | None:
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


def _read(path: str) -> tuple[dict[str, Any], tuple[str, str, str] | None] | None:
    """Return the stored settings, and the query settings of the descriptor if stored separately."""
    try:
        with open_regular(path) as file:
            _, meta = decode(file.read())
    except (OSError, Damaged):
        return None
    values, named = meta.get("settings"), meta.get("named")
    if meta.get("format") != _FORMAT or not isinstance(values, dict):
        return None
    if named is None:
        return values, None
    if not isinstance(named, list) or [type(one) for one in named] != [str, str, str]:
        return None
    return values, (named[0], named[1], named[2])
