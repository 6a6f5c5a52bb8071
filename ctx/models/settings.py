"""Settings of the model services of a repository, from `git config`."""

from __future__ import annotations

import re
from collections.abc import Collection
from hashlib import blake2b
from typing import NamedTuple

from ctx.errors import UsageError
from ctx.git.settings import Settings
from ctx.models import centre
from ctx.models.addresses import origin
from ctx.models.precision import BIT, check_form
from ctx.models.presets import DIALECTS, OPENAI, PRESETS, RERANKER_DIALECTS, Preset

_HOST = re.compile(r"(?:\[[0-9A-Fa-f:.]+\]|[\w.~-]+)(?::[0-9]{1,5})?")


class EmbedderSettings(NamedTuple):
    """Settings of an embedder. `context` and `price` as in `Preset`; `path_cap` in characters.

    `named` are the instruction, prefix and task of queries in the descriptor of stored vectors: those of the
    preset, or those of an earlier version. Only the descriptor uses them, so that the settings of queries can
    change.
    """

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
    named: tuple[str, str, str] = ("", "", "")

    @property
    def form(self) -> str:
        """Hash, 8 hexadecimal digits, of everything that vectors depend on besides model, text and path."""
        instruction, query_prefix, query_task = self.named
        parts = (
            instruction,
            query_prefix,
            self.document_prefix,
            query_task,
            self.document_task,
            str(self.path_cap) if self.path_header else "",
            centre.VERSION if self.precision == BIT else "",
        )
        return blake2b("\0".join(parts).encode(), digest_size=4).hexdigest()

    @property
    def model_id(self) -> str:
        """Name of the model in a descriptor, which is a directory name."""
        return re.sub(r"[^a-z0-9.]+", "-", self.model.rpartition("/")[2].lower()).strip("-.") or "model"


class ServiceSettings(NamedTuple):
    """Settings of a reranker or an expander; `pool` is the number of candidates or of new queries.

    Candidates with a reranker score below `min_score`, in 0..1, are dropped.
    """

    url: str
    model: str
    dialect: str
    pool: int
    min_score: float


def embedder_settings(settings: Settings) -> EmbedderSettings | None:
    """Return the configured embedder, or None. Raises UsageError for invalid values."""
    url = settings.get("ctx.embedder.url")
    if not url:
        return None
    name = _one_of(settings, "ctx.embedder.preset", PRESETS, "")
    preset = PRESETS[name] if name else Preset("")
    model = settings.get("ctx.embedder.model") or preset.model
    if not model:
        raise UsageError("an embedder needs ctx.embedder.model or ctx.embedder.preset besides its address")
    dialect = _one_of(settings, "ctx.embedder.dialect", DIALECTS, preset.dialect)
    dimensions = _number(settings, "ctx.embedder.dimensions", preset.dimensions, 0)
    if not dimensions:
        raise UsageError(f"ctx.embedder.dimensions must be the number of dimensions of a vector of {model}")
    precision = settings.get("ctx.embedder.precision") or BIT
    check_form(dimensions, precision)

    def word(key: str, default: str) -> str:
        found = settings.get(f"ctx.embedder.{key}")
        return default if found is None else found

    return EmbedderSettings(
        address(url),
        address(settings.get("ctx.embedder.queryUrl") or url),
        model,
        dialect,
        dimensions,
        precision,
        _number(settings, "ctx.embedder.batch", 32, 1),
        _number(settings, "ctx.embedder.concurrency", 4, 1),
        word("instruction", preset.instruction),
        word("queryPrefix", preset.query_prefix),
        word("documentPrefix", preset.document_prefix),
        word("queryTask", preset.query_task),
        word("documentTask", preset.document_task),
        settings.get_bool("ctx.embedder.pathHeader", True),
        _number(settings, "ctx.embedder.pathCap", 96, 8),
        _number(settings, "ctx.embedder.context", preset.context, 16),
        _decimal(settings, "ctx.embedder.price", preset.price, 1e5),
        (preset.instruction, preset.query_prefix, preset.query_task),
    )


def reranker_settings(settings: Settings) -> ServiceSettings | None:
    """Return the configured reranker, or None. Raises UsageError."""
    found = _service_settings(settings, "reranker", 50)
    if found is None:
        return None
    dialect = _one_of(settings, "ctx.reranker.dialect", RERANKER_DIALECTS, next(iter(RERANKER_DIALECTS)))
    return found._replace(dialect=dialect, min_score=_decimal(settings, "ctx.reranker.minScore", 0.3, 1.0))


def expander_settings(settings: Settings) -> ServiceSettings | None:
    """Return the configured chat model for query expansion, or None. Raises UsageError."""
    return _service_settings(settings, "expander", 3)


def _service_settings(settings: Settings, kind: str, pool: int) -> ServiceSettings | None:
    url = settings.get(f"ctx.{kind}.url")
    if not url:
        return None
    model = settings.get(f"ctx.{kind}.model") or ""
    return ServiceSettings(address(url), model, OPENAI, _number(settings, f"ctx.{kind}.pool", pool, 1), 0.0)


def model_timeout(settings: Settings) -> float:
    """Return the seconds that a search waits for models, for all of them together. Raises UsageError."""
    return _decimal(settings, "ctx.modelTimeout", 2.0, 600.0)


def address(url: str) -> str:
    """Return a valid address of a service, without trailing slashes.

    Raises UsageError for an address that is not HTTP, contains a password, or is ambiguous.
    """
    shown = "what is configured" if "@" in url else repr(url)
    if not re.match(r"https?://[^/]", url):
        raise UsageError(f"{shown} is not an address: it must begin with http:// or https://")
    host = re.split(r"[/?#]", url, maxsplit=3)[2]
    if "@" in host:
        raise UsageError("an address must not contain a name or a password: use `git ctx model login`")
    if not url.isprintable() or " " in url or not _HOST.fullmatch(host) or not origin(url)[1]:
        raise UsageError(f"{shown} is not an address: it must name a host, with or without a port")
    return url.rstrip("/")


def _one_of(settings: Settings, key: str, values: Collection[str], default: str) -> str:
    value = settings.get(key) or default
    if value and value not in values:
        raise UsageError(f"{key} is {value!r}; it must be one of {', '.join(values)}")
    return value


def _number(settings: Settings, key: str, default: int, least: int) -> int:
    value = settings.get(key)
    if value is None:
        return default
    if not value.isascii() or not value.isdigit() or int(value) < least:
        raise UsageError(f"{key} is {value!r}: it must be a whole number of at least {least}")
    return int(value)


def _decimal(settings: Settings, key: str, default: float, most: float) -> float:
    value = settings.get(key)
    if value is None:
        return default
    if not re.fullmatch(r"[0-9]{1,6}(\.[0-9]{0,9})?|\.[0-9]{1,9}", value) or float(value) > most:
        raise UsageError(f"{key} is {value!r}: it must be a number from 0 to {most:g}")
    return float(value)
