"""The remote models that a repository is configured to use, from `git config`."""

from __future__ import annotations

import re
from hashlib import blake2b
from typing import NamedTuple

from ctx.errors import UsageError
from ctx.git.settings import Settings
from ctx.models import centre
from ctx.models.path_header import CAP
from ctx.models.precision import BIT, check_form
from ctx.models.presets import DIALECTS, OPENAI, PRESETS, Preset

BATCH = 32
"""Texts in one request."""
_CONCURRENCY = 4
_POOL = 50
RERANK_DIALECTS = ("cohere", "tei", "pointwise", "listwise")


class EmbedderSettings(NamedTuple):
    """How to ask an embedder. `context` and `price` as in `Preset`; `path_cap` in characters."""

    url: str
    query_url: str
    model: str
    dialect: str
    dimensions: int
    precision: str
    batch: int
    concurrency: int
    instruction: str
    query_prefix: str
    document_prefix: str
    query_task: str
    document_task: str
    path_header: bool
    path_cap: int
    context: int
    price: float

    @property
    def form(self) -> str:
        """Eight hexadecimal digits for all that the input of the model depends on besides text and path."""
        parts = (
            self.instruction,
            self.query_prefix,
            self.document_prefix,
            self.query_task,
            self.document_task,
            str(self.path_cap) if self.path_header else "",
            centre.VERSION if self.precision == BIT else "",
        )
        return blake2b("\0".join(parts).encode(), digest_size=4).hexdigest()

    @property
    def model_id(self) -> str:
        """The model's name as a part of a descriptor, which is the name of a directory."""
        return re.sub(r"[^a-z0-9.]+", "-", self.model.rpartition("/")[2].lower()).strip("-.") or "model"


class ServiceSettings(NamedTuple):
    """How to ask a reranker or an expander; `pool` is how many candidates, or new queries."""

    url: str
    model: str
    dialect: str
    pool: int


def embedder_settings(settings: Settings) -> EmbedderSettings | None:
    """The configured embedder, None where there is none. Raises UsageError for values that cannot be."""
    url = settings.get("ctx.embedder.url")
    if not url:
        return None
    name = settings.get("ctx.embedder.preset")
    if name is not None and name not in PRESETS:
        raise UsageError(f"ctx.embedder.preset is {name!r}; there are {', '.join(PRESETS)}")
    preset = PRESETS[name] if name else Preset("")
    model = settings.get("ctx.embedder.model") or preset.model
    if not model:
        raise UsageError("an embedder needs ctx.embedder.model, or ctx.embedder.preset, beside its address")
    dialect = settings.get("ctx.embedder.dialect") or preset.dialect
    if dialect not in DIALECTS:
        raise UsageError(f"ctx.embedder.dialect is {dialect!r}; there are {', '.join(DIALECTS)}")
    dimensions = _number(settings, "ctx.embedder.dimensions", preset.dimensions, 0)
    if not dimensions:
        raise UsageError(f"ctx.embedder.dimensions has to say how many numbers a vector of {model} has")
    precision = settings.get("ctx.embedder.precision") or BIT
    check_form(dimensions, precision)

    def word(key: str, default: str) -> str:
        found = settings.get(f"ctx.embedder.{key}")
        return default if found is None else found

    try:
        price = float(word("price", str(preset.price)))
    except ValueError:
        raise UsageError("ctx.embedder.price has to be dollars for a million tokens") from None
    return EmbedderSettings(
        address(url),
        address(settings.get("ctx.embedder.queryUrl") or url),
        model,
        dialect,
        dimensions,
        precision,
        _number(settings, "ctx.embedder.batch", BATCH, 1),
        _number(settings, "ctx.embedder.concurrency", _CONCURRENCY, 1),
        word("instruction", preset.instruction),
        word("queryPrefix", preset.query_prefix),
        word("documentPrefix", preset.document_prefix),
        word("queryTask", preset.query_task),
        word("documentTask", preset.document_task),
        settings.get_bool("ctx.embedder.pathHeader", True),
        _number(settings, "ctx.embedder.pathCap", CAP, 8),
        _number(settings, "ctx.embedder.context", preset.context, 16),
        price,
    )


def former_addresses(settings: Settings) -> list[str]:
    """Addresses at which models that were configured earlier may still be asked. Raises UsageError."""
    return [address(url) for url in settings.get_all("ctx.embedder.formerUrl")]


def service_settings(
    settings: Settings, kind: str, dialects: tuple[str, ...], pool: int
) -> ServiceSettings | None:
    """The service at `ctx.<kind>.url`, None where none is configured. Raises UsageError."""
    url = settings.get(f"ctx.{kind}.url")
    if not url:
        return None
    dialect = settings.get(f"ctx.{kind}.dialect") or dialects[0]
    if dialect not in dialects:
        raise UsageError(f"ctx.{kind}.dialect is {dialect!r}; there are {', '.join(dialects)}")
    size = _number(settings, f"ctx.{kind}.pool", pool, 1)
    return ServiceSettings(address(url), settings.get(f"ctx.{kind}.model") or "", dialect, size)


def reranker_settings(settings: Settings) -> ServiceSettings | None:
    """The configured reranker."""
    return service_settings(settings, "reranker", RERANK_DIALECTS, _POOL)


def expander_settings(settings: Settings) -> ServiceSettings | None:
    """The configured chat model that proposes further queries; its pool is how many."""
    return service_settings(settings, "expander", (OPENAI,), 3)


def address(url: str) -> str:
    """An address that git-ctx may ask. Raises UsageError for one that holds a password or is not HTTP."""
    if not re.match(r"https?://[^/]", url):
        raise UsageError(f"{url!r} is no address: it has to begin with http:// or https://")
    if "@" in url.split("/")[2]:
        raise UsageError("an address must not hold a name or a password: `git ctx login` keeps them")
    return url.rstrip("/")


def _number(settings: Settings, key: str, default: int, least: int) -> int:
    value = settings.get(key)
    if value is None:
        return default
    if not value.isascii() or not value.isdigit() or int(value) < least:
        raise UsageError(f"{key} is {value!r}: a whole number from {least} on is needed")
    return int(value)
