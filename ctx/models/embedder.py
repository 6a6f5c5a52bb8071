"""Client of an embedding service: requests and answers of each dialect, batches, checks of vectors."""

from __future__ import annotations

import base64
import math
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from ctx.errors import Damaged, Decoding, ServiceFailed
from ctx.git.repository import Repository
from ctx.models.addresses import full_address
from ctx.models.centre import TEXTS, Reference
from ctx.models.document_text import text_hash, with_path
from ctx.models.http import Service, TooLarge, TooSlow
from ctx.models.ledger import Ledger
from ctx.models.precision import BIT, Vectors, is_same_answer, truncated
from ctx.models.presets import DIALECTS, JINA, OLLAMA, OPENAI, TEI, VOYAGE
from ctx.models.settings import EmbedderSettings
from ctx.text.pluralize import pluralize

PROBE = "def probe(text):\n    return 'git-ctx asks whether it is still the same model'"
_CHARACTERS = 3
"""Characters of code for each token, estimated; for truncating texts."""
_SHORTEST = 64


class EmbeddingService(Service):
    """Client of an embedding service. `embed_documents` may be called by several threads."""

    def __init__(
        self,
        repository: Repository,
        ledger: Ledger,
        settings: EmbedderSettings,
        *,
        for_queries: bool = False,
        **options: Any,
    ) -> None:
        """Initialize; `options` are those of `Service`."""
        self.settings = settings
        self._most = sys.maxsize
        self.truncated: set[bytes] = set()
        """Hashes of texts that were truncated because they were too long for the model."""
        content = "the text of queries" if for_queries else "the text of the indexed files"
        purpose = "query embedding" if for_queries else "embedding"
        url = full_address(settings.query_url if for_queries else settings.url, DIALECTS[settings.dialect])
        options = {"at_once": settings.concurrency} | options
        super().__init__(repository, ledger, url, purpose, content, **options)

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """Return the vectors of documents, not centred, (n, dimensions) float32 of unit length.

        Raises `ServiceFailed`, also for an answer without such vectors.
        """
        prefix = self.settings.document_prefix
        return self._embed([prefix + text for text in texts], self.settings.document_task)

    def embed_query(self, text: str, scope: str = "") -> Vectors:
        """Return the vector (dimensions,) of a query with its instruction; `scope` is a directory."""
        settings = self.settings
        query = with_path(scope, text, settings.path_cap) if scope and settings.path_header else text
        if settings.instruction:
            query = f"Instruct: {settings.instruction}\nQuery: {query}"
        vector: Vectors = self._embed([settings.query_prefix + query], settings.query_task)[0]
        return vector

    def check(self, known: Reference | None) -> Reference:
        """Return the model's answer to fixed texts. Raises `ServiceFailed` if it differs from `known`."""
        settings = self.settings
        more = TEXTS if known is None and settings.precision == BIT else ()
        texts = [PROBE, *(settings.document_prefix + text for text in more)]
        found = self._embed(texts, settings.document_task)
        if known is None:
            centre = found[1:].mean(axis=0) if more else np.zeros(settings.dimensions, dtype=np.float32)
            return Reference(found[0], centre)
        if not is_same_answer(known.probe, found[0]):
            raise ServiceFailed(
                f"{self.url} does not answer as it did when this index was made: another model has "
                f"the name {settings.model!r}. Give it another name in ctx.embedder.model, or remove "
                "its vectors: `git ctx gc --drop-descriptor NAME` (`git ctx status` has the name)"
            )
        return known

    def _embed(self, texts: Sequence[str], task: str) -> Vectors:
        """Embed in one request, or in several if the service rejects the size or is too slow."""
        most = self._most
        if len(texts) > most:
            starts = range(0, len(texts), most)
            return np.concatenate([self._embed(texts[at : at + most], task) for at in starts])
        try:
            return self._request(texts, task)
        except TooSlow:
            # Following requests are limited too.
            self._most = min(self._most, (len(texts) + 1) // 2)
            return self._embed(texts, task)
        except TooLarge as error:
            if len(texts) > 1:
                half = len(texts) // 2
                return np.concatenate([self._embed(texts[:half], task), self._embed(texts[half:], task)])
            return self._embed_truncated(texts[0], task, error)

    def _embed_truncated(self, text: str, task: str, error: TooLarge) -> Vectors:
        """Return the vector of a truncated text; truncate repeatedly until the service accepts it."""
        limit = min(len(text) // 2, self.settings.context * _CHARACTERS)
        while limit >= _SHORTEST:
            try:
                found = self._request([text[:limit]], task)
            except TooLarge as again:
                error, limit = again, limit // 2
                continue
            self.truncated.add(text_hash(text.removeprefix(self.settings.document_prefix)))
            return found
        raise ServiceFailed(
            f"{self.url} rejects a text of {len(text):,} characters even if truncated: {error}"
        ) from error

    def _request(self, texts: Sequence[str], task: str) -> Vectors:
        """Return the first `dimensions` of the vectors of texts; checks the answer."""
        settings = self.settings
        body = request(settings, texts, task)
        answer = self.post(body, len(texts), divisible=len(texts) > 1 and not self.is_optional)
        try:
            vectors = vectors_of(answer, settings.dialect)
        except Damaged as error:
            raise ServiceFailed(f"{self.url} did not answer with vectors: {error}") from error
        problem = None
        if vectors.ndim != 2 or len(vectors) != len(texts):
            problem = f"returned {pluralize(len(vectors), 'vector')} for {pluralize(len(texts), 'text')}"
        elif vectors.shape[1] < settings.dimensions:
            problem = (
                f"returned vectors of {pluralize(vectors.shape[1], 'number')}, but "
                f"ctx.embedder.dimensions is {settings.dimensions}"
            )
        elif not np.isfinite(vectors).all():
            problem = "returned a vector with NaN or infinity"
        elif not np.abs(vectors[:, : settings.dimensions]).max(axis=1, initial=0.0).all():
            problem = "returned a vector of zeros"
        if problem:
            raise ServiceFailed(f"{self.url} {problem}")
        return truncated(vectors, settings.dimensions)


def request(settings: EmbedderSettings, texts: Sequence[str], task: str) -> dict[str, Any]:
    """Return the body of a request."""
    if settings.dialect == TEI:
        return {"inputs": list(texts), "normalize": True, "truncate": False}
    body: dict[str, Any] = {"model": settings.model, "input": list(texts)}
    if settings.dialect == OLLAMA:
        return body | {"truncate": False}
    if settings.dialect == VOYAGE:
        return body | {"input_type": task or "document", "output_dimension": settings.dimensions}
    body["encoding_format"] = "base64" if settings.dialect == OPENAI else "float"
    if settings.dialect == JINA and task:
        body["task"] = task
    if settings.dialect == JINA or settings.model.startswith("text-embedding-3"):
        body["dimensions"] = settings.dimensions
    return body


@Decoding("an answer")
def vectors_of(answer: Any, dialect: str) -> Vectors:
    """Return the vectors of an answer, (n, width). Raises `Damaged` for an answer without any."""
    if dialect == TEI:
        rows = answer
    elif dialect == OLLAMA:
        rows = answer["embeddings"]
    else:
        rows = [one["embedding"] for one in sorted(answer["data"], key=lambda one: one["index"])]
    if not isinstance(rows, list) or not rows:
        raise ValueError("no list of vectors")
    decoded = [
        np.frombuffer(base64.b64decode(row, validate=True), dtype="<f4")
        if isinstance(row, str)
        else np.array(row, dtype=np.float32)
        for row in rows
    ]
    return np.stack(decoded).astype(np.float32)


def tokens_of(texts: Sequence[str]) -> int:
    """Return the estimated number of tokens of texts, for an estimate of the cost."""
    return sum(math.ceil(len(text) / _CHARACTERS) for text in texts)
