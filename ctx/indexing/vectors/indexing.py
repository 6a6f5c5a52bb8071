"""Covering a tree with vectors of a model service, on top of its index by the model of the package.

That index has chunked the files already. Missing texts are embedded (`ctx.indexing.vectors.embedding`), then
the nodes and the snapshot of the tree are written, and its vectors are collected in vector files.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from ctx.errors import Damaged, ServiceFailed
from ctx.indexing.lock import lock_file, open_lock
from ctx.indexing.reports import EmbeddingReport
from ctx.indexing.vectors.cluster_map import ClusterMap, Pair
from ctx.indexing.vectors.embedding import Embedding, Vectors
from ctx.indexing.vectors.reuse import KnownVectors
from ctx.models.document_text import text_hash, texts_of
from ctx.models.embedding_model import EmbeddingModel
from ctx.models.model_files import TRUNCATED_TEXTS
from ctx.session import take_shared
from ctx.storage.partition import Node
from ctx.storage.snapshots import NodeRecord
from ctx.storage.store import Store
from ctx.types import Progress

if TYPE_CHECKING:
    from ctx.models.http import TimeBudget
    from ctx.session import Session


def embed_tree(
    session: Session, tree: bytes, progress: Callable[[Progress], None] | None, may_ask: bool = True
) -> EmbeddingReport | None:
    """Cover a tree that is indexed locally; return None if no model is configured.

    Without `may_ask` no request is sent: a tree whose vectors are all stored gets its snapshot; for any other
    tree nothing is done, and the report is None.
    """
    model = session.embedding_model
    if model is None:
        return None
    if model.snapshots.covered(tree) is not None:
        return EmbeddingReport(model=model.settings.model)
    if not may_ask and (pairs := ClusterMap(session, model)).absent(pairs.every(tree)):
        return None
    with exclusive(session.store) as mine:
        if not mine:
            return EmbeddingReport(model=model.settings.model, elsewhere=True) if may_ask else None
        if may_ask:
            # Fetch vectors that others have shared before paying for them.
            take_shared(session, tree, indexing=True)
        try:
            return VectorIndexer(session, model).cover(tree, progress)
        except ServiceFailed as error:
            kept = "the vectors received so far are kept; `git ctx index` continues from there"
            raise ServiceFailed(f"{error}\n{kept}") from error


@contextmanager
def exclusive(store: Store) -> Iterator[bool]:
    """Yield True if this process holds the lock for embedding; two processes would pay twice."""
    handle = open_lock(store, "remote.lock")
    try:
        yield lock_file(handle, fcntl.LOCK_EX)
    finally:
        os.close(handle)


class VectorIndexer:
    """Indexer of the trees of one repository with one model service."""

    def __init__(self, session: Session, model: EmbeddingModel) -> None:
        self._session = session
        self._model = model
        self.pairs = ClusterMap(session, model)

    def count_new_texts(self, tree: bytes, pairs: Sequence[Pair], most: int) -> int:
        """Return the number of texts of these clusters to send; counting ends above `most`.

        Raises `Damaged` if the tree is not indexed, or a file of it is missing.
        """
        known = KnownVectors(self._session, self._model, tree)
        new: set[bytes] = set()
        for pair in pairs:
            stored = self._session.clusters.stored(pair.local)
            hashes = list(map(text_hash, texts_of(stored, self._session.reader, self._model.settings)))
            vectors = known.of(stored, hashes)
            new.update(one for one in hashes if one not in vectors)
            if len(new) > most:
                break
        return len(new)

    def cover(
        self,
        tree: bytes,
        progress: Callable[[Progress], None] | None = None,
        *,
        budget: TimeBudget | None = None,
    ) -> EmbeddingReport:
        """Embed the missing clusters of a locally indexed tree; `budget` is that of a waiting search.

        Raises `ServiceFailed`; finished clusters are kept.
        """
        directories = list(self.pairs.directories(tree))
        every = [pair for _, pairs in directories for pair in pairs]
        missing = [pair for pair in every if not self._model.clusters.use(pair.remote)]
        covered = self.embed(tree, missing, progress, budget=budget)
        if self._session.snapshots.tree(tree) is not None:
            # A tree of uncommitted files has no snapshot, but its clusters are kept.
            truncated = self._model.truncated.read()
            for node, pairs in reversed(directories):
                self._write_node(node, pairs, truncated)
            (_, remote), _ = directories[0]
            self._model.snapshots.write_tree(tree, remote.key)
        keys = [pair.local for pair in every]
        found = self._model.files.find(keys)
        self.restore([pair for pair, rows in zip(every, found, strict=True) if rows is None])
        self._model.files.merge(keys)
        return covered

    def embed(
        self,
        tree: bytes,
        missing: Sequence[Pair],
        progress: Callable[[Progress], None] | None = None,
        *,
        budget: TimeBudget | None = None,
    ) -> EmbeddingReport:
        """Embed these clusters of a tree. Raises `ServiceFailed`; finished clusters are kept.

        With `budget`, a run of another process that holds the `exclusive` lock may be in progress.
        """
        if not missing:
            return EmbeddingReport(model=self._model.settings.model)
        embedder = self._model.embedder(budget=budget)
        try:
            return Embedding(
                self._session,
                self._model,
                embedder,
                tree,
                progress or (lambda _: None),
                is_exclusive=budget is None,
            ).run(missing)
        finally:
            embedder.close()

    def restore(self, pairs: Sequence[Pair]) -> None:
        """Write the stored vectors of these clusters into vector files again."""
        found: dict[bytes, Vectors] = {}
        for pair in pairs:
            with suppress(Damaged):
                found[pair.local] = self._model.rows_of(self._model.clusters.stored(pair.remote))
        self._model.files.add(found)

    def _write_node(self, nodes: tuple[Node, Node], pairs: Sequence[Pair], truncated: set[bytes]) -> None:
        local, remote = nodes
        record = self._session.snapshots.node(local.key)
        if record is None:
            raise Damaged("a manifest node vanished while its tree was being embedded: run it again")
        content = remote.read()
        below = [node.key for node in content.nodes], [cluster.key for cluster in content.clusters]
        totals = record.totals
        if truncated:
            stored = (self._model.clusters.stored(pair.remote) for pair in pairs)
            documents = (document for one in stored for document in one.of_members if document is not None)
            count = sum(one in truncated for document in documents for one in document.text_hashes())
            inner = (self._model.snapshots.node(key) for key in below[0])
            count += sum(one.totals.skipped.get(TRUNCATED_TEXTS, 0) for one in inner if one is not None)
            totals = totals._replace(skipped=totals.skipped | ({TRUNCATED_TEXTS: count} if count else {}))
        self._model.snapshots.write_node(remote.key, NodeRecord(*below, totals))
