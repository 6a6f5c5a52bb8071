"""Settings of the remote models of a repository, from `git config`."""

from __future__ import annotations

import re
from hashlib import blake2b
from typing import NamedTuple

from ctx.errors import UsageError
from ctx.git.settings import Settings
from ctx.models import centre
from ctx.models.addresses import origin
from ctx.models.path_header import CAP
from ctx.models.precision import BIT, check_form
from ctx.models.presets import DIALECTS, OPENAI, PRESETS, Preset

BATCH = 32
"""Texts in one request."""
_CONCURRENCY = 4
_POOL = 50
_TIMEOUT, _LONGEST_TIMEOUT = 2.0, 600.0
_MIN_SCORE = 0.3
_HOST = re.compile(r"(?:\[[0-9A-Fa-f:.]+\]|[\w.~-]+)(?::[0-9]{1,5})?")
RERANK_DIALECTS = ("cohere", "tei", "pointwise", "listwise")


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
    min_score: float = 0.0


def embedder_settings(settings: Settings) -> EmbedderSettings | None:
    """Return the configured embedder, or None. Raises UsageError for invalid values."""
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
        (preset.instruction, preset.query_prefix, preset.query_task),
    )


def former_addresses(settings: Settings) -> list[str]:
    """Return the addresses for earlier models (`ctx.embedder.formerUrl`). Raises UsageError."""
    return [address(url) for url in settings.get_all("ctx.embedder.formerUrl")]


def service_settings(
    settings: Settings, kind: str, dialects: tuple[str, ...], pool: int
) -> ServiceSettings | None:
    """Return the service at `ctx.<kind>.url`, or None. Raises UsageError."""
    url = settings.get(f"ctx.{kind}.url")
    if not url:
        return None
    dialect = settings.get(f"ctx.{kind}.dialect") or dialects[0]
    if dialect not in dialects:
        raise UsageError(f"ctx.{kind}.dialect is {dialect!r}; there are {', '.join(dialects)}")
    size = _number(settings, f"ctx.{kind}.pool", pool, 1)
    return ServiceSettings(address(url), settings.get(f"ctx.{kind}.model") or "", dialect, size)


def reranker_settings(settings: Settings) -> ServiceSettings | None:
    """Return the configured reranker. Raises UsageError."""
    found = service_settings(settings, "reranker", RERANK_DIALECTS, _POOL)
    if found is None:
        return None
    return found._replace(min_score=_decimal(settings, "ctx.reranker.minScore", _MIN_SCORE, 1.0))


def expander_settings(settings: Settings) -> ServiceSettings | None:
    """Return the configured chat model for query expansion; `pool` is the number of queries."""
    return service_settings(settings, "expander", (OPENAI,), 3)


def model_timeout(settings: Settings) -> float:
    """Return the seconds that a search waits for models, for all of them together. Raises UsageError."""
    return _decimal(settings, "ctx.modelTimeout", _TIMEOUT, _LONGEST_TIMEOUT)


def address(url: str) -> str:
    """Return a valid address of a service, without trailing slashes.

    Raises UsageError for an address that is not HTTP, contains a password, or is ambiguous.
    """
    shown = "what is configured" if "@" in url else repr(url)
    if not re.match(r"https?://[^/]", url):
        raise UsageError(f"{shown} is no address: it has to begin with http:// or https://")
    host = re.split(r"[/?#]", url, maxsplit=3)[2]
    if "@" in host:
        raise UsageError("an address must not hold a name or a password: `git ctx model login` keeps them")
    if not url.isprintable() or " " in url or not _HOST.fullmatch(host) or not origin(url)[1]:
        raise UsageError(f"{shown} is no address: it has to name a host, and a port if need be")
    return url.rstrip("/")


def _number(settings: Settings, key: str, default: int, least: int) -> int:
    value = settings.get(key)
    if value is None:
        return default
    if not value.isascii() or not value.isdigit() or int(value) < least:
        raise UsageError(f"{key} is {value!r}: a whole number from {least} on is needed")
    return int(value)


def _decimal(settings: Settings, key: str, default: float, most: float) -> float:
    value = settings.get(key)
    if value is None:
        return default
    if not re.fullmatch(r"[0-9]{1,6}(\.[0-9]{0,9})?|\.[0-9]{1,9}", value) or float(value) > most:
        raise UsageError(f"{key} is {value!r}: a number from 0 to {most:g} is needed")
    return float(value)
