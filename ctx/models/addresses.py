"""The whole addresses of methods, where only that of a server, or of its API, is configured."""

from __future__ import annotations

from urllib.parse import urlsplit

from ctx.models.presets import JINA, OLLAMA, OPENAI, TEI, VOYAGE

_EMBEDDING = {
    OPENAI: "/v1/embeddings",
    TEI: "/embed",
    OLLAMA: "/api/embed",
    JINA: "/v1/embeddings",
    VOYAGE: "/v1/embeddings",
}


def embedding_address(url: str, dialect: str) -> str:
    """Where an embedder of this dialect takes texts."""
    return completed(url, _EMBEDDING[dialect])


def completed(url: str, method: str) -> str:
    """The address of a method, given by its path on a server, unless `url` names another one already."""
    path = urlsplit(url).path.rstrip("/")
    if not path:
        return url + method
    if method.startswith(f"{path}/"):
        return url + method.removeprefix(path)
    return url
