"""Embedding the texts of clusters: full batches across clusters, several concurrent requests.

The number of concurrent requests is bounded. A cluster is stored as soon as its last vector arrives, and an
exclusive run journals every answer, so that an interrupted run can be resumed.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from ctx.indexing.reports import EmbeddingReport
from ctx.indexing.vectors.cluster_map import Pair
from ctx.indexing.vectors.reuse import KnownVectors
from ctx.models.centre import Reference, centred
from ctx.models.document_text import text_hash, texts_of
from ctx.models.embedder import EmbeddingService, tokens_of
from ctx.models.precision import encode_vectors
from ctx.storage.clusters import Document, StoredCluster, encode_cluster
from ctx.storage.records import decode_record
from ctx.types import Progress

if TYPE_CHECKING:
    from ctx.models.embedding_model import EmbeddingModel
    from ctx.session import Session

_UNIT = 32
"""Number of clusters whose vectors are written into one vector file."""
_THREADS = 2
"""Threads for each concurrent request, so that one can wait while another reads an answer."""
_AHEAD = 4
"""Queued batches for each concurrent request, so that none waits for texts."""

_KEPT_BYTES = 32 << 20
"""Bytes of vectors of this run that are kept for equal texts in other clusters."""

Vectors = npt.NDArray[np.uint8]


class PendingCluster:
    """A cluster that waits for vectors; `missing` is their number."""

    def __init__(
        self, pair: Pair, stored: StoredCluster, hashes: list[bytes], vectors: list[bytes | None]
    ) -> None:
        self.pair = pair
        self.stored = stored
        self.hashes = hashes
        self.vectors = vectors
        self.missing = vectors.count(None)


class Text(NamedTuple):
    """A text to embed, and its hash."""

    text: str
    hashed: bytes


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
        is_exclusive: bool,
    ) -> None:
        """Initialize; an `is_exclusive` run writes the journal (`ctx.models.model_files`)."""
        self._session = session
        self._model = model
        self._embedder = embedder
        self._progress = progress
        self._known = KnownVectors(session, model, tree)
        self._is_exclusive = is_exclusive
        # Equal texts are sent once: the clusters that wait for each, with the index of the chunk.
        self._pending: dict[bytes, list[tuple[PendingCluster, int]]] = {}
        self._received = model.journal.read(repair=is_exclusive)
        self._received_bytes = sum(map(len, self._received.values()))
        self._ready: dict[bytes, Vectors] = {}
        self._total = self._done = self._chunks = self._embedded = self._tokens = 0
        self._worth = 0.0

    def run(self, missing: Sequence[Pair]) -> EmbeddingReport:
        """Embed and store these clusters. Raises `ServiceFailed`, `Damaged`; received vectors are kept."""
        settings = self._model.settings
        self._total = len(missing)
        self._report()
        under_way: deque[tuple[list[Text], Future[Vectors]]] = deque()
        reference: Reference | None = None
        with ThreadPoolExecutor(_THREADS * settings.concurrency) as pool:
            try:
                for item in self._batches(missing):
                    if isinstance(item, PendingCluster):
                        self._chunks += len(item.vectors)
                        self._worth += 1 - item.missing / max(len(item.vectors), 1)
                        if not item.missing:
                            self._finish(item)
                        continue
                    if reference is None:
                        reference = self._model.check(self._embedder)
                    while len(under_way) >= _AHEAD * settings.concurrency:
                        self._receive(*under_way.popleft())
                    under_way.append((item, pool.submit(self._send, item, reference)))
                while under_way:
                    self._receive(*under_way.popleft())
            except BaseException:
                # Pending answers are already paid for and kept; nothing else is sent.
                self._embedder.stop()
                for _, future in under_way:
                    future.cancel()
                raise
            finally:
                self._model.files.add(self._ready)
                self._model.truncated.add(self._embedder.truncated)
        if self._is_exclusive:
            self._model.journal.clear()
        reused = self._chunks - self._embedded
        return EmbeddingReport(
            model=settings.model,
            embedded=self._embedded,
            reused=reused,
            truncated=len(self._embedder.truncated),
        )

    def _batches(self, missing: Sequence[Pair]) -> Iterator[PendingCluster | list[Text]]:
        """Yield every cluster, and full batches of new texts across clusters."""
        batch: list[Text] = []
        for pair in missing:
            stored = self._session.clusters.stored(pair.local)
            texts = texts_of(stored, self._session.reader, self._model.settings)
            hashes = list(map(text_hash, texts))
            known = self._known.of(stored, hashes)
            vectors = [known.get(one) or self._received.get(one) for one in hashes]
            cluster = PendingCluster(pair, stored, hashes, vectors)
            yield cluster
            for place, vector in enumerate(vectors):
                if vector is not None:
                    continue
                owners = self._pending.setdefault(hashes[place], [])
                owners.append((cluster, place))
                if len(owners) == 1:
                    batch.append(Text(texts[place], hashes[place]))
                if len(batch) == self._model.settings.batch:
                    yield batch
                    batch = []
        if batch:
            yield batch

    def _send(self, batch: Sequence[Text], reference: Reference) -> Vectors:
        """Return the vectors of a batch; runs in a thread. An exclusive run journals them first."""
        precision = self._model.settings.precision
        found = self._embedder.embed_documents([one.text for one in batch])
        vectors = encode_vectors(centred(found, reference, precision), precision)
        if self._is_exclusive:
            self._model.journal.add([one.hashed for one in batch], vectors)
        return vectors

    def _receive(self, batch: Sequence[Text], future: Future[Vectors]) -> None:
        """Assign the vectors of a batch to the clusters that wait for them."""
        for (_, hashed), row in zip(batch, future.result(), strict=True):
            vector = row.tobytes()
            if self._received_bytes < _KEPT_BYTES:
                self._received[hashed] = vector
                self._received_bytes += len(vector)
            for cluster, place in self._pending.pop(hashed):
                cluster.vectors[place] = vector
                cluster.missing -= 1
                self._worth += 1 / len(cluster.vectors)
                if not cluster.missing:
                    self._finish(cluster)
        self._embedded += len(batch)
        self._tokens += tokens_of([one.text for one in batch])
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

    def _finish(self, cluster: PendingCluster) -> None:
        """Write a cluster whose vectors are complete."""
        width = self._model.vector_bytes
        every = b"".join(vector or bytes(width) for vector in cluster.vectors)
        kept: list[Document] = []
        at = 0
        for document in cluster.stored.of_members:
            if document is None:
                continue
            end = at + len(decode_record(document.record).positions)
            hashes = b"".join(cluster.hashes[at:end])
            kept.append(Document(document.record, hashes, every[at * width : end * width]))
            at = end
        stored = cluster.stored
        payload = encode_cluster(str(self._model.descriptor), stored.members, stored.skips, kept)
        self._model.clusters.write(cluster.pair.remote, payload)
        self._ready[cluster.pair.local] = np.frombuffer(every, dtype=np.uint8).reshape(-1, width)
        self._done += 1
        if len(self._ready) >= _UNIT:
            self._model.files.add(self._ready)
            self._ready = {}
