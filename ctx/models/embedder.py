"""Client of an embedding service: requests and answers of each dialect, batches, checks of vectors."""

from __future__ import annotations

import base64
import copy
import math
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ctx.errors import Damaged, Decoding, ServiceFailed, UsageError
from ctx.git.settings import Settings
from ctx.models.addresses import embedding_address
from ctx.models.centre import TEXTS, Reference
from ctx.models.http import Patience, Service, TooLarge, TooSlow
from ctx.models.ledger import Ledger
from ctx.models.path_header import with_path
from ctx.models.precision import BIT, is_same_answer, truncated
from ctx.models.presets import JINA, OLLAMA, OPENAI, TEI, VOYAGE
from ctx.models.settings import EmbedderSettings
from ctx.models.texts import text_hash
from ctx.text.pluralize import pluralize

PROBE = "def probe(text):\n    return 'git-ctx asks whether it is still the same model'"
_CHARACTERS = 3
"""Characters of code for each token, estimated; for truncating texts."""
_SHORTEST = 64
Floats = npt.NDArray[np.float32]


class RemoteEmbedder:
    """Client of an embedding service. `embed_documents` may be called by several threads."""

    def __init__(
        self,
        wanted: EmbedderSettings,
        directory: str,
        settings: Settings,
        ledger: Ledger,
        *,
        for_queries: bool = False,
        patience: Patience | None = None,
        **service: Any,
    ) -> None:
        """Initialize; `patience` as in `Service`."""
        self.settings = wanted
        self._is_patient = patience is None
        self._most = sys.maxsize
        self.cut: set[bytes] = set()
        """Hashes of texts that were truncated because they were too long for the model."""
        what = "the text of queries" if for_queries else "the text of the indexed files"
        purpose = "query embedding" if for_queries else "embedding"
        url = embedding_address(wanted.query_url if for_queries else wanted.url, wanted.dialect)
        service = {"patience": patience, "at_once": wanted.concurrency} | service
        self._service = Service(url, purpose, what, directory, settings, ledger, **service)

    def within(self, patience: Patience) -> RemoteEmbedder:
        """Return the same embedder, with the same connections, for one search."""
        other = copy.copy(self)
        other._service = self._service.within(patience)
        other._is_patient = False
        return other

    def close(self) -> None:
        """Close the connections."""
        self._service.close()

    def stop(self) -> None:
        """Send no more requests; pending ones may end."""
        self._service.stop()

    def account(self) -> None:
        """Write the ledger; keep the connections."""
        self._service.account()

    @property
    def url(self) -> str:
        """Full address of the service."""
        return self._service.url

    def embed_documents(self, texts: Sequence[str]) -> Floats:
        """Return the vectors of documents, not centred, (n, dimensions) float32 of unit length.

        Raises `ServiceFailed`, also for an answer without such vectors.
        """
        wanted = self.settings
        given = [wanted.document_prefix + text for text in texts]
        return self._embed(given, wanted.document_task)

    def embed_query(self, text: str, scope: str = "") -> Floats:
        """Return the vector (dimensions,) of a query with its instruction; `scope` is a directory."""
        wanted = self.settings
        asked = with_path(scope, text, wanted.path_cap) if scope and wanted.path_header else text
        if wanted.instruction:
            asked = f"Instruct: {wanted.instruction}\nQuery: {asked}"
        vector: Floats = self._embed([wanted.query_prefix + asked], wanted.query_task)[0]
        return vector

    def check(self, known: Reference | None) -> Reference:
        """Return the model's answer to fixed texts. Raises `ServiceFailed` if it differs from `known`."""
        wanted = self.settings
        more = TEXTS if known is None and wanted.precision == BIT else ()
        texts = [wanted.document_prefix + text for text in more]
        found = self._embed([PROBE, *texts], wanted.document_task)
        if known is None:
            centre = found[1:].mean(axis=0) if more else np.zeros(wanted.dimensions, dtype=np.float32)
            return Reference(found[0], centre)
        if not is_same_answer(known.probe, found[0]):
            raise ServiceFailed(
                f"{self._service.url} does not answer as when this index was made: another model is behind "
                f"the name {self.settings.model!r}. Give it another name in ctx.embedder.model, or forget "
                "what was made with it: `git ctx gc --drop-descriptor NAME` (`git ctx status` has the name)"
            )
        return known

    def _embed(self, texts: Sequence[str], task: str) -> Floats:
        """Embed in one request, or in several if the service rejects the size or is too slow."""
        most = self._most
        if len(texts) > most:
            starts = range(0, len(texts), most)
            return np.concatenate([self._embed(texts[at : at + most], task) for at in starts])
        try:
            return self._asked(texts, task)
        except TooSlow:
            # Following requests are limited too.
            self._most = min(self._most, (len(texts) + 1) // 2)
            return self._embed(texts, task)
        except TooLarge as error:
            if len(texts) > 1:
                half = len(texts) // 2
                return np.concatenate([self._embed(texts[:half], task), self._embed(texts[half:], task)])
            return self._cut(texts[0], task, error)

    def _cut(self, text: str, task: str, error: TooLarge) -> Floats:
        """Return the vector of a truncated text; truncate repeatedly until the service accepts it."""
        limit = min(len(text) // 2, self.settings.context * _CHARACTERS)
        while limit >= _SHORTEST:
            try:
                found = self._asked([text[:limit]], task)
            except TooLarge as again:
                error, limit = again, limit // 2
                continue
            self.cut.add(text_hash(text.removeprefix(self.settings.document_prefix)))
            return found
        raise ServiceFailed(
            f"{self._service.url} takes not even {len(text):,} characters: {error}"
        ) from error

    def _asked(self, texts: Sequence[str], task: str) -> Floats:
        wanted = self.settings
        body = request(wanted, texts, task)
        answer = self._service.post(body, len(texts), divisible=self._is_patient and len(texts) > 1)
        try:
            found = vectors_of(answer, wanted.dialect)
        except Damaged as error:
            raise ServiceFailed(f"{self._service.url} did not answer with vectors: {error}") from error
        return self._sound(found, len(texts))

    def _sound(self, vectors: Floats, count: int) -> Floats:
        url, wanted = self._service.url, self.settings
        if vectors.ndim != 2 or len(vectors) != count:
            raise ServiceFailed(
                f"{url} gave {pluralize(len(vectors), 'vector')} for {pluralize(count, 'text')}"
            )
        width = vectors.shape[1]
        if width < wanted.dimensions:
            raise ServiceFailed(
                f"{url} gives vectors of {pluralize(width, 'number')}, "
                f"ctx.embedder.dimensions says {wanted.dimensions}"
            )
        if not np.isfinite(vectors).all():
            raise ServiceFailed(f"{url} gave a vector that holds no numbers (NaN or infinity)")
        if not np.abs(vectors[:, : wanted.dimensions]).max(axis=1, initial=0.0).all():
            raise ServiceFailed(f"{url} gave a vector of zeros")
        return truncated(vectors, wanted.dimensions)


def request(wanted: EmbedderSettings, texts: Sequence[str], task: str) -> dict[str, Any]:
    """Return the body of a request."""
    if wanted.dialect == TEI:
        return {"inputs": list(texts), "normalize": True, "truncate": False}
    body: dict[str, Any] = {"model": wanted.model, "input": list(texts)}
    if wanted.dialect == OLLAMA:
        return body | {"truncate": False}
    if wanted.dialect == VOYAGE:
        return body | {"input_type": task or "document", "output_dimension": wanted.dimensions}
    body["encoding_format"] = "base64" if wanted.dialect == OPENAI else "float"
    if wanted.dialect == JINA and task:
        body["task"] = task
    if wanted.dialect == JINA or wanted.model.startswith("text-embedding-3"):
        body["dimensions"] = wanted.dimensions
    return body


@Decoding("an answer")
def vectors_of(answer: Any, dialect: str) -> Floats:
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


def refuse_threshold(precision: str) -> None:
    """Raise UsageError: scores of this precision have no absolute meaning."""
    raise UsageError(
        f"scores of vectors kept as {precision} only order the hits of one answer: --min-score needs a "
        "reranker, or ctx.embedder.precision int8, f16 or f32"
    )
