"""An embedder behind HTTP: requests and answers of each dialect, batches, and what is wrong with a vector."""

from __future__ import annotations

import base64
import math
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ctx.errors import ServiceFailed, UsageError
from ctx.git.settings import Settings
from ctx.models.addresses import embedding_address
from ctx.models.centre import TEXTS, Reference
from ctx.models.http import IMPATIENT, Service, TooLarge, TooSlow
from ctx.models.ledger import Ledger
from ctx.models.path_header import with_path
from ctx.models.precision import BIT, is_same_answer, truncated
from ctx.models.presets import JINA, OLLAMA, OPENAI, TEI, VOYAGE
from ctx.models.settings import EmbedderSettings
from ctx.models.texts import text_hash
from ctx.text.pluralize import counted

PROBE = "def probe(text):\n    return 'git-ctx asks whether it is still the same model'"
_CHARACTERS = 3
"""A token of code has about so many characters, for cutting what a model cannot read."""
_SHORTEST = 64
Floats = npt.NDArray[np.float32]


class RemoteEmbedder:
    """Turns texts into vectors by asking a service. `embed_documents` may be called by several threads."""

    def __init__(
        self,
        wanted: EmbedderSettings,
        directory: str,
        settings: Settings,
        ledger: Ledger,
        *,
        for_queries: bool = False,
        somebody_waits: bool = False,
        **service: Any,
    ) -> None:
        """Where somebody waits for an answer that can do without the service, it is not asked for long."""
        self.settings = wanted
        self._is_patient = not somebody_waits
        self._most = sys.maxsize
        self.cut: set[bytes] = set()
        """Hashes of texts of which only the beginning was read, since they were too long for the model."""
        what = "the text of queries" if for_queries else "the text of the indexed files"
        purpose = "query embedding" if for_queries else "embedding"
        url = embedding_address(wanted.query_url if for_queries else wanted.url, wanted.dialect)
        if somebody_waits:
            service = IMPATIENT | service
        self._service = Service(
            url, purpose, what, directory, settings, ledger, at_once=wanted.concurrency, **service
        )

    def close(self) -> None:
        """Close the connections."""
        self._service.close()

    def stop(self) -> None:
        """Send nothing more; what is under way may end."""
        self._service.stop()

    def account(self) -> None:
        """Write down what was sent, and keep the connections."""
        self._service.account()

    @property
    def url(self) -> str:
        """The whole address that is asked."""
        return self._service.url

    def embed_documents(self, texts: Sequence[str]) -> Floats:
        """The vectors of documents as they are, (n, dimensions) float32 of unit length.

        Raises `ServiceFailed`, also for an answer that holds no such vectors.
        """
        wanted = self.settings
        given = [wanted.document_prefix + text for text in texts]
        return self._embed(given, wanted.document_task)

    def embed_query(self, text: str, scope: str = "") -> Floats:
        """The vector of a question, (dimensions,), with the model's instruction; `scope` is a directory."""
        wanted = self.settings
        asked = with_path(scope, text, wanted.path_cap) if scope and wanted.path_header else text
        if wanted.instruction:
            asked = f"Instruct: {wanted.instruction}\nQuery: {asked}"
        vector: Floats = self._embed([wanted.query_prefix + asked], wanted.query_task)[0]
        return vector

    def check(self, known: Reference | None) -> Reference:
        """What the model says to fixed texts. Raises `ServiceFailed` where that is not as it was."""
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
        """One request, or several where the service will not take so much, or not in time."""
        most = self._most
        if len(texts) > most:
            starts = range(0, len(texts), most)
            return np.concatenate([self._embed(texts[at : at + most], task) for at in starts])
        try:
            return self._asked(texts, task)
        except TooSlow:
            # It is as slow with the next ones.
            self._most = min(self._most, (len(texts) + 1) // 2)
            return self._embed(texts, task)
        except TooLarge as error:
            if len(texts) > 1:
                half = len(texts) // 2
                return np.concatenate([self._embed(texts[:half], task), self._embed(texts[half:], task)])
            return self._cut(texts[0], task, error)

    def _cut(self, text: str, task: str, error: TooLarge) -> Floats:
        """The vector of the beginning of a text that is too long, shorter and shorter until it is taken."""
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
        except (KeyError, TypeError, ValueError, IndexError) as error:
            raise ServiceFailed(f"{self._service.url} did not answer with vectors ({error!r})") from error
        return self._sound(found, len(texts))

    def _sound(self, vectors: Floats, count: int) -> Floats:
        url, wanted = self._service.url, self.settings
        if vectors.ndim != 2 or len(vectors) != count:
            raise ServiceFailed(f"{url} gave {counted(len(vectors), 'vector')} for {counted(count, 'text')}")
        width = vectors.shape[1]
        if width < wanted.dimensions:
            raise ServiceFailed(
                f"{url} gives vectors of {counted(width, 'number')}, "
                f"ctx.embedder.dimensions says {wanted.dimensions}"
            )
        if not np.isfinite(vectors).all():
            raise ServiceFailed(f"{url} gave a vector that holds no numbers (NaN or infinity)")
        if not np.abs(vectors[:, : wanted.dimensions]).max(axis=1, initial=0.0).all():
            raise ServiceFailed(f"{url} gave a vector of zeros")
        return truncated(vectors, wanted.dimensions)


def request(wanted: EmbedderSettings, texts: Sequence[str], task: str) -> dict[str, Any]:
    """The body of a request."""
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


def vectors_of(answer: Any, dialect: str) -> Floats:
    """The vectors of an answer, (n, width). Raises KeyError, TypeError, ValueError for what is none."""
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
    """About how many tokens texts have, for an estimate of what they cost."""
    return sum(math.ceil(len(text) / _CHARACTERS) for text in texts)


def refuse_threshold(precision: str) -> None:
    """Raises UsageError where a score has no meaning by itself."""
    raise UsageError(
        f"scores of vectors kept as {precision} only order the hits of one answer: --min-score needs a "
        "reranker, or ctx.embedder.precision int8, f16 or f32"
    )
