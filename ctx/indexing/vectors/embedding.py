"""Embedding the texts of clusters: full batches across clusters, several concurrent requests.

The number of concurrent requests is bounded. A cluster is stored as soon as its last vector arrives, and an
exclusive run journals every answer, so that an interrupted run can be resumed.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from ctx.indexing.vectors.cluster_map import Pair
from ctx.indexing.vectors.pending import Batch, PendingCluster, SentTexts
from ctx.indexing.vectors.reuse import KnownVectors
from ctx.models.centre import Reference, centred
from ctx.models.document_text import text_hash, texts_of
from ctx.models.embedder import EmbeddingService, tokens_of
from ctx.models.precision import encode_vectors
from ctx.reports import EmbeddingReport, Progress
from ctx.storage.clusters import Document, encode_cluster
from ctx.storage.records import decode_record

if TYPE_CHECKING:
    from ctx.models.embedding_model import EmbeddingModel
    from ctx.session import Session

_UNIT = 32
"""Number of clusters whose vectors are written into one vector file."""
_THREADS = 2
"""Threads for each concurrent request, so that one can wait while another reads an answer."""
_AHEAD = 4
"""Queued batches for each concurrent request, so that none waits for texts."""

Vectors = npt.NDArray[np.uint8]


class Embedding:
    """One run over clusters of a tree without vectors of the model."""

    def __init__(
        self,
        session: Session,
        model: EmbeddingModel,
        embedder: EmbeddingService,
        tree: bytes,
        progress: Callable[[Progress], None],
        *,
        is_alone: bool,
    ) -> None:
        """Initialize; `is_alone` is True if this process may write the journal (`ctx.models.model_files`)."""
        self._session = session
        self._model = model
        self._embedder = embedder
        self._progress = progress
        self._known = KnownVectors(session, model, tree)
        self._is_alone = is_alone
        self._sent = SentTexts(model.journal.read(repair=is_alone))
        self._ready: dict[bytes, Vectors] = {}
        self._total = self._done = self._chunks = self._embedded = self._tokens = 0
        self._worth = 0.0

    def run(self, missing: Sequence[Pair]) -> EmbeddingReport:
        """Embed and store these clusters. Raises `ServiceFailed`, `Damaged`; received vectors are kept."""
        settings = self._model.settings
        self._total = len(missing)
        self._report()
        under_way: deque[tuple[Batch, Future[Vectors]]] = deque()
        reference: Reference | None = None
        with ThreadPoolExecutor(_THREADS * settings.concurrency) as pool:
            try:
                for item in self._batches(missing):
                    if isinstance(item, PendingCluster):
                        self._chunks += len(item.vectors)
                        self._worth += 1 - item.lacking / max(len(item.vectors), 1)
                        if not item.lacking:
                            self._finish(item)
                        continue
                    if reference is None:
                        reference = self._model.check(self._embedder)
                    while len(under_way) >= _AHEAD * settings.concurrency:
                        self._take(*under_way.popleft())
                    under_way.append((item, pool.submit(self._ask, item, reference)))
                while under_way:
                    self._take(*under_way.popleft())
            except BaseException:
                # Pending answers are already paid for and kept; nothing else is sent.
                self._embedder.stop()
                for _, future in under_way:
                    future.cancel()
                raise
            finally:
                self._model.files.add(self._ready)
                self._model.truncated.add(self._embedder.truncated)
        if self._is_alone:
            self._model.journal.clear()
        reused = self._chunks - self._embedded
        return EmbeddingReport(
            model=settings.model,
            embedded=self._embedded,
            reused=reused,
            truncated=len(self._embedder.truncated),
        )

    def _batches(self, missing: Sequence[Pair]) -> Iterator[PendingCluster | Batch]:
        """Yield every cluster, and full batches of new texts across clusters."""
        sent = self._sent
        batch = Batch([], [], [])
        for pair in missing:
            stored = self._session.clusters.stored(pair.local)
            found = texts_of(stored, self._session.reader, self._model.settings)
            hashes = list(map(text_hash, found))
            known = self._known.of(stored, hashes)
            waiting = PendingCluster(
                pair, stored, hashes, [known.get(one) or sent.vector(one) for one in hashes]
            )
            yield waiting
            for place, vector in enumerate(waiting.vectors):
                if vector is not None or sent.join_pending(hashes[place], (waiting, place)):
                    continue
                batch.texts.append(found[place])
                batch.hashes.append(hashes[place])
                batch.owners.append(sent.add_pending(hashes[place], (waiting, place)))
                if len(batch.texts) == self._model.settings.batch:
                    yield batch
                    batch = Batch([], [], [])
        if batch.texts:
            yield batch

    def _ask(self, batch: Batch, reference: Reference) -> Vectors:
        """Return the vectors of a batch; runs in a thread. An exclusive run journals them first."""
        precision = self._model.settings.precision
        found = centred(self._embedder.embed_documents(batch.texts), reference, precision)
        vectors = encode_vectors(found, precision)
        if self._is_alone:
            self._model.journal.add(batch.hashes, vectors)
        return vectors

    def _take(self, batch: Batch, future: Future[Vectors]) -> None:
        """Assign the vectors of a batch to the waiting clusters."""
        for hashed, owners, vector in zip(batch.hashes, batch.owners, future.result(), strict=True):
            self._sent.store(hashed, vector.tobytes())
            for waiting, place in owners:
                waiting.vectors[place] = vector.tobytes()
                waiting.lacking -= 1
                self._worth += 1 / len(waiting.vectors)
                if not waiting.lacking:
                    self._finish(waiting)
        self._embedded += len(batch.texts)
        self._tokens += tokens_of(batch.texts)
        self._report()

    def _report(self) -> None:
        cost = self._tokens * self._model.settings.price / 1e6
        share = min(1.0, self._worth / max(self._total, 1))
        self._progress(
            Progress(
                files_done=self._done,
                files_total=self._total,
                chunks=self._embedded,
                clusters_done=self._done,
                clusters_total=self._total,
                tokens=self._tokens,
                cost=cost,
                share=share,
            )
        )

    def _finish(self, waiting: PendingCluster) -> None:
        """Write a cluster whose vectors are complete."""
        width = self._model.vector_bytes
        every = b"".join(vector or bytes(width) for vector in waiting.vectors)
        kept: list[Document] = []
        at = 0
        for document in waiting.stored.of_members:
            if document is None:
                continue
            end = at + len(decode_record(document.record).positions)
            hashes = b"".join(waiting.hashes[at:end])
            kept.append(Document(document.record, hashes, every[at * width : end * width]))
            at = end
        stored = waiting.stored
        payload = encode_cluster(str(self._model.descriptor), stored.members, stored.skips, kept)
        self._model.clusters.write(waiting.pair.remote, payload)
        self._ready[waiting.pair.local] = np.frombuffer(every, dtype=np.uint8).reshape(-1, width)
        self._done += 1
        if len(self._ready) >= _UNIT:
            self._model.files.add(self._ready)
            self._ready = {}
