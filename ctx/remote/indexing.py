"""Covering a tree with the vectors of a remote model, on top of its index by the model of the package.

That index has cut the files already. Here the texts are read, those that the model has seen before in an
earlier state of the files keep their vectors, and the others are embedded: full batches over clusters,
several requests at once, a bounded number of them under way. A cluster is stored as soon as its last vector
is there, so that a run that is stopped goes on where it was.
"""

from __future__ import annotations

import fcntl
import os
from collections import deque
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from hashlib import blake2b
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from ctx.chunking.normalise import embedded_text
from ctx.cluster_key import cluster_key
from ctx.clusters import Document, Stored, document_key, encode_members
from ctx.contents import to_text
from ctx.document_index import DocumentIndex
from ctx.embed.precision import agree, encode_vectors
from ctx.errors import Damaged
from ctx.partition import Node
from ctx.records import decode_record
from ctx.remote.centre import Reference, centred
from ctx.remote.embedder import RemoteEmbedder, tokens_of
from ctx.remote.model import RemoteModel
from ctx.remote.path_header import with_path
from ctx.remote.waiting import Batch, Pair, Seen, Waiting
from ctx.snapshots import NodeRecord
from ctx.store import Store, unusable
from ctx.trees import Trees
from ctx.values import Progress, RemoteReport
from ctx.views.view import View

if TYPE_CHECKING:
    from ctx.engine import RepositoryIndex

_UNIT = 32
"""Clusters whose vectors are written into one search-ready file."""
_THREADS = 2
"""For each request that may be under way: while one answer is being read, another one is waited for."""
_AHEAD = 4
"""Batches for each request that may be under way, so that none waits for texts."""

_BASES = 4
"""Earlier trees that are looked through for vectors of equal texts."""

Vectors = npt.NDArray[np.uint8]


class RemoteProgress(NamedTuple):
    """How far the embedding is; `cost` in dollars, an estimate by the length of the texts."""

    clusters_done: int
    clusters_total: int
    embedded: int
    tokens: int
    cost: float


class RemoteCovered(NamedTuple):
    """What covering a tree took; `cut` texts were too long and read in part."""

    new_clusters: int
    embedded_chunks: int
    reused_chunks: int
    cut: int


def embed_tree(
    index: RepositoryIndex, tree: bytes, progress: Callable[[Progress], None] | None, may_ask: bool = True
) -> RemoteReport | None:
    """Cover a tree that is indexed locally; None where another process asks the model at this moment.

    Without `may_ask` the model is not asked: a tree of which all vectors are stored gets its snapshot, for
    another one nothing is done.
    """
    model = index.remote_model
    if model is None:
        return None
    if model.snapshots.covered(tree) is not None:
        return RemoteReport(model.settings.model, 0, 0, 0)
    if not may_ask and VectorIndexer(index, model).lacking(tree):
        return None
    report = progress or (lambda _: None)

    def step(state: RemoteProgress) -> None:
        done, total = state.clusters_done, state.clusters_total
        report(Progress(done, total, state.embedded, done, total, state.tokens, state.cost))

    with alone(index.store) as mine:
        if not mine:
            return None
        covered = VectorIndexer(index, model).cover(tree, step)
    return RemoteReport(model.settings.model, covered.embedded_chunks, covered.reused_chunks, covered.cut)


@contextmanager
def alone(store: Store) -> Iterator[bool]:
    """Whether this process is the one that asks the model: two would pay twice."""
    store.prepare()
    try:
        handle = os.open(
            os.path.join(store.path, "remote.lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666
        )
    except OSError as error:
        raise unusable(store.path, error) from error
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
        else:
            yield True
    finally:
        os.close(handle)


class VectorIndexer:
    """Makes and finds the vectors that one remote model has for the trees of one repository."""

    def __init__(self, index: RepositoryIndex, model: RemoteModel) -> None:
        self._index = index
        self._model = model
        self._of_paths: dict[bytes, dict[bytes, bytes]] = {}

    def lacking(self, tree: bytes) -> list[Pair]:
        """The clusters of a tree that the model has no vectors for."""
        return [
            pair
            for _, pairs in self._directories(tree)
            for pair in pairs
            if self._model.clusters.absent([pair.remote])
        ]

    def chunks_of(self, pairs: Sequence[Pair]) -> int:
        """How many chunks these clusters have. Raises `Damaged` where the tree is not indexed."""
        return sum(
            len(decode_record(document.record).positions)
            for pair in pairs
            for document in self._index.clusters.stored(pair.local).of_members
            if document is not None
        )

    def cover(self, tree: bytes, progress: Callable[[RemoteProgress], None] | None = None) -> RemoteCovered:
        """Embed what a tree lacks that is indexed locally. Raises `ServiceFailed`; what is done is kept."""
        directories = list(self._directories(tree))
        missing = [
            pair for _, pairs in directories for pair in pairs if not self._model.clusters.use(pair.remote)
        ]
        covered = RemoteCovered(0, 0, 0, 0)
        if missing:
            embedder = self._model.embedder()
            try:
                covered = self._embed(tree, missing, embedder, progress or (lambda _: None))
            finally:
                embedder.close()
        if self._index.snapshots.tree(tree) is not None:
            # A tree of uncommitted files has no snapshot; its clusters are kept all the same.
            for node, _ in reversed(directories):
                self._write_node(node)
            _, remote = self._roots(tree)
            self._model.snapshots.write_tree(tree, remote.key)
        keys = [pair.local for _, pairs in directories for pair in pairs]
        found = self._model.files.find(keys)
        self.restore(tree, [key for key, rows in zip(keys, found, strict=True) if rows is None])
        self._model.files.unite(keys)
        return covered

    def stored(self, tree: bytes) -> list[bytes]:
        """The keys of the clusters of a tree that the model has vectors for."""
        every = [pair.remote for _, pairs in self._directories(tree) for pair in pairs]
        absent = set(self._model.clusters.absent(every))
        return [key for key in every if key not in absent]

    def differing(self, keys: Sequence[bytes]) -> tuple[list[bytes], list[bytes]]:
        """Those of some clusters that the model embeds otherwise now, and those whose files are not here.

        Every text is sent again. Raises `ServiceFailed`.
        """
        differing: list[bytes] = []
        impossible: list[bytes] = []
        settings = self._model.settings
        embedder = self._model.embedder()
        try:
            if not keys:
                return [], []
            reference = self._model.check(embedder)
            for key in keys:
                try:
                    stored = self._model.clusters.stored(key)
                    found = self._texts(stored)
                except Damaged:
                    impossible.append(key)
                    continue
                rows = self._rows(stored)
                hashes = b"".join(one.hashes for one in stored.of_members if one is not None)
                same = hashes == b"".join(map(_text_hash, found)) and all(
                    agree(
                        rows[at : at + settings.batch],
                        centred(
                            embedder.embed_documents(found[at : at + settings.batch]),
                            reference,
                            settings.precision,
                        ),
                        settings.precision,
                    )
                    for at in range(0, len(found), settings.batch)
                )
                if not same:
                    differing.append(key)
        finally:
            embedder.close()
        return differing, impossible

    def restore(self, tree: bytes, lost: Sequence[bytes]) -> None:
        """Make search-ready again what is stored of clusters, given by their keys of the local descriptor."""
        wanted = set(lost)
        found: dict[bytes, Vectors] = {}
        for _, pairs in self._directories(tree):
            for pair in pairs:
                if pair.local in wanted:
                    try:
                        found[pair.local] = self._rows(self._model.clusters.stored(pair.remote))
                    except Damaged:
                        continue
        self._model.files.add(found)

    # -- which clusters

    def _roots(self, tree: bytes) -> tuple[Node, Node]:
        repository = self._index.reader
        return (
            Trees(repository, str(self._index.descriptor)).root(tree),
            Trees(repository, str(self._model.descriptor)).root(tree),
        )

    def _directories(self, tree: bytes) -> Iterator[tuple[tuple[Node, Node], list[Pair]]]:
        """Each directory of a tree as its nodes and clusters under both descriptors, the upper ones first.

        Both partitions are the same, since they know no descriptor but in their keys.
        """
        open_ = [self._roots(tree)]
        while open_:
            local, remote = open_.pop()
            one, other = local.read(), remote.read()
            open_ += reversed(list(zip(one.nodes, other.nodes, strict=True)))
            pairs = zip(one.clusters, other.clusters, strict=True)
            yield (local, remote), [Pair(mine.key, theirs.key) for mine, theirs in pairs]

    def _write_node(self, nodes: tuple[Node, Node]) -> None:
        local, remote = nodes
        record = self._index.snapshots.node(local.key)
        if record is None:
            raise Damaged("a manifest node vanished while its tree was being embedded: run it again")
        content = remote.read()
        below = [node.key for node in content.nodes], [cluster.key for cluster in content.clusters]
        self._model.snapshots.write_node(remote.key, NodeRecord(*below, record.totals))

    # -- embedding

    def _embed(
        self,
        tree: bytes,
        missing: list[Pair],
        embedder: RemoteEmbedder,
        progress: Callable[[RemoteProgress], None],
    ) -> RemoteCovered:
        settings = self._model.settings
        done = embedded = reused = tokens = 0
        ready: dict[bytes, Vectors] = {}

        def finish(waiting: Waiting) -> None:
            nonlocal done, reused
            self._store(waiting)
            ready[waiting.pair.local] = _stacked(waiting.vectors, self._model.vector_bytes)
            done += 1
            if len(ready) >= _UNIT:
                self._model.files.add(ready)
                ready.clear()

        def take(batch: Batch, future: Future[Vectors]) -> None:
            nonlocal embedded, tokens
            for hashed, owners, vector in zip(batch.hashes, batch.owners, future.result(), strict=True):
                seen.arrived(hashed, vector.tobytes())
                for waiting, place in owners:
                    waiting.vectors[place] = vector.tobytes()
                    waiting.lacking -= 1
                    if not waiting.lacking:
                        finish(waiting)
            embedded += len(batch.texts)
            tokens += tokens_of(batch.texts)
            progress(RemoteProgress(done, len(missing), embedded, tokens, tokens * settings.price / 1e6))

        def ask(batch: Batch) -> Vectors:
            assert reference is not None
            found = centred(embedder.embed_documents(batch.texts), reference, settings.precision)
            vectors = encode_vectors(found, settings.precision)
            self._model.arrived.add(batch.hashes, vectors)
            return vectors

        progress(RemoteProgress(0, len(missing), 0, 0, 0.0))
        seen = Seen(self._model.arrived.read())
        under_way: deque[tuple[Batch, Future[Vectors]]] = deque()
        total = 0
        reference: Reference | None = None
        with ThreadPoolExecutor(_THREADS * settings.concurrency) as pool:
            try:
                for item in self._batches(tree, missing, settings.batch, seen):
                    if isinstance(item, Waiting):
                        total += len(item.vectors)
                        if not item.lacking:
                            finish(item)
                        continue
                    if reference is None:
                        reference = self._model.check(embedder)
                    while len(under_way) >= _AHEAD * settings.concurrency:
                        take(*under_way.popleft())
                    under_way.append((item, pool.submit(ask, item)))
                while under_way:
                    take(*under_way.popleft())
            finally:
                for _, future in under_way:
                    future.cancel()
                self._model.files.add(ready)
        self._model.arrived.clear()
        return RemoteCovered(len(missing), embedded, total - embedded, embedder.cut)

    def _batches(self, tree: bytes, missing: list[Pair], size: int, seen: Seen) -> Iterator[Waiting | Batch]:
        """Every cluster, and full batches of the texts that have to be embedded, across clusters."""
        batch = Batch([], [], [])
        bases = [view for view in self._index.catalog.views() if view.tree != tree][:_BASES]
        for pair in missing:
            stored = self._index.clusters.stored(pair.local)
            found = self._texts(stored)
            hashes = list(map(_text_hash, found))
            known: dict[bytes, bytes] = {}
            for clusters in self._having(stored, bases):
                if all(one in known for one in hashes):
                    break
                known |= self._vectors_of(clusters)
            waiting = Waiting(pair, stored, hashes, [known.get(one) or seen.vector(one) for one in hashes])
            yield waiting
            for place, vector in enumerate(waiting.vectors):
                if vector is not None or seen.joined(hashes[place], (waiting, place)):
                    continue
                batch.texts.append(found[place])
                batch.hashes.append(hashes[place])
                batch.owners.append(seen.asked(hashes[place], (waiting, place)))
                if len(batch.texts) == size:
                    yield batch
                    batch = Batch([], [], [])
        if batch.texts:
            yield batch

    def _texts(self, stored: Stored) -> list[str]:
        """What the model is to read of each chunk of each file of a cluster."""
        settings = self._model.settings
        members = [
            (member, document)
            for member, document in zip(stored.members, stored.of_members, strict=True)
            if document is not None
        ]
        found: list[str] = []
        blobs = self._index.reader.read_blobs([member.oid for member, _ in members])
        for (member, document), blob in zip(members, blobs, strict=True):
            if blob is None:
                raise Damaged(
                    f"the blob {member.oid.hex()} is not in this repository: fetch it, then index again"
                )
            path = member.path.decode("utf-8", "replace")
            for position in decode_record(document.record).positions:
                text = embedded_text(to_text(blob, position.start, position.end), member.language)
                found.append(with_path(path, text, settings.path_cap) if settings.path_header else text)
        return found

    def _having(self, stored: Stored, bases: Sequence[View]) -> Iterator[set[bytes]]:
        """Local clusters that may have texts of a new one: those of its paths earlier, then of its blobs."""
        for base in bases:
            yield self._earlier(stored, base)
        documents = DocumentIndex(self._index.store, str(self._index.descriptor))
        yield set(documents.clusters_of(map(document_key, stored.members)).values())

    def _vectors_of(self, clusters: Collection[bytes]) -> dict[bytes, bytes]:
        """Vectors by the hash of their text, from some clusters of the local descriptor."""
        known: dict[bytes, bytes] = {}
        width = self._model.vector_bytes
        for key in clusters:
            try:
                local = self._index.clusters.stored(key)
                remote = self._model.clusters.stored(cluster_key(str(self._model.descriptor), local.members))
            except Damaged:
                continue
            for document in filter(None, remote.of_members):
                for at in range(len(document.hashes) // 8):
                    known[document.hashes[at * 8 : at * 8 + 8]] = document.vectors[
                        at * width : (at + 1) * width
                    ]
        return known

    def _earlier(self, stored: Stored, base: View) -> set[bytes]:
        keys = set(base.clusters_of([document_key(member) for member in stored.members]).values())
        if base.tree not in self._of_paths:
            clusters = [base.cluster_of(file) for file in range(base.files)]
            self._of_paths[base.tree] = dict(zip(base.paths, clusters, strict=True))
        places = self._of_paths[base.tree]
        return keys | {places[member.path] for member in stored.members if member.path in places}

    def _store(self, waiting: Waiting) -> None:
        """Write a cluster whose vectors are all there."""
        width = self._model.vector_bytes
        kept: list[Document] = []
        at = 0
        for document in waiting.stored.of_members:
            if document is None:
                continue
            end = at + len(decode_record(document.record).positions)
            vectors = b"".join(vector or bytes(width) for vector in waiting.vectors[at:end])
            kept.append(Document(document.record, b"".join(waiting.hashes[at:end]), vectors))
            at = end
        stored = waiting.stored
        payload = encode_members(str(self._model.descriptor), stored.members, stored.skips, kept)
        self._model.clusters.write(waiting.pair.remote, payload)

    def _rows(self, stored: Stored) -> Vectors:
        vectors = b"".join(document.vectors for document in stored.of_members if document is not None)
        return np.frombuffer(vectors, dtype=np.uint8).reshape(-1, self._model.vector_bytes)


def _text_hash(text: str) -> bytes:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()


def _stacked(vectors: Sequence[bytes | None], width: int) -> Vectors:
    return np.frombuffer(b"".join(filter(None, vectors)), dtype=np.uint8).reshape(-1, width)
