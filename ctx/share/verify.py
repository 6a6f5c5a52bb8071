"""Rebuild a sample of stored clusters and compare them with the store.

Fetched clusters are only validated for their form; this checks that vectors and symbols are those of the
files. The built-in model gives the same bits everywhere, so any difference is an error; a model service gives
nearly the same numbers.
"""

from __future__ import annotations

import random
from contextlib import closing
from typing import TYPE_CHECKING, NamedTuple

from ctx.errors import CtxError, Damaged
from ctx.indexing.batch import Batch, build_batch
from ctx.indexing.vectors.cluster_map import ClusterMap
from ctx.models.centre import Reference, centred
from ctx.models.document_text import text_hash, texts_of
from ctx.models.precision import agree
from ctx.share.words import Words

if TYPE_CHECKING:
    from ctx.models.embedder import EmbeddingService
    from ctx.models.embedding_model import EmbeddingModel
    from ctx.search.session import SearchSession


class VerifyReport(NamedTuple):
    """Number of rebuilt clusters; keys of those that differ, and of those whose blobs are missing here.

    `words` are the keys of clusters whose chunks match but whose words differ. `model` is the name of the
    model of the service, "" for the built-in model.
    """

    verified: int
    differing: list[bytes]
    impossible: list[bytes]
    model: str = ""
    words: tuple[bytes, ...] = ()


def verify(session: SearchSession, revision: str | None, sample: int | None, seed: int) -> VerifyReport:
    """Compare `sample` random clusters of a tree, or all of them; damaged ones are skipped.

    Words are compared if the tree has a view for searches. Raises CtxError if nothing of the tree is stored.
    """
    resolved = session.resolve(revision)
    tree = resolved.tree
    root = session.indexer.trees.root(tree)
    view = session.catalog.view(tree)
    words = None if view is None else Words(session, view.segments)
    every = list(root.clusters())
    clusters = [one for one in every if session.clusters.get(one.key) is not None]
    if every and not clusters:
        name = resolved.revision
        raise CtxError(
            f"{name} is not indexed, so there is nothing to verify: run `git ctx index {name}` first"
        )
    if sample is not None and sample < len(clusters):
        clusters = random.Random(seed).sample(clusters, sample)
    differing: list[bytes] = []
    impossible: list[bytes] = []
    other_words: list[bytes] = []
    builder = session.indexer.builder
    for cluster in clusters:
        made: dict[bytes, bytes] = {}

        def write(key: bytes, payload: bytes, partial: bool, made: dict[bytes, bytes] = made) -> None:
            if not partial:
                made[key] = payload

        build_batch(Batch([cluster], {}), builder, write, str(session.descriptor))
        if cluster.key not in made:
            impossible.append(cluster.key)
        elif made[cluster.key] != session.clusters.get(cluster.key):
            differing.append(cluster.key)
        elif words is not None:
            own = words.own(cluster.key)
            if own is not None and own != words.recounted(cluster.key):
                other_words.append(cluster.key)
    return VerifyReport(len(clusters) - len(impossible), differing, impossible, words=tuple(other_words))


def verify_embeddings(
    session: SearchSession, revision: str | None, sample: int, seed: int
) -> VerifyReport | None:
    """Compare `sample` clusters of a tree with new embeddings by the configured service, if there is one.

    Nothing is stored. Raises `ServiceFailed`.
    """
    model = session.embedding_model
    if model is None:
        return None
    every = [pair.remote for pair in ClusterMap(session, model).every(session.resolve(revision).tree)]
    absent = set(model.clusters.absent(every))
    keys = [key for key in every if key not in absent]
    if sample < len(keys):
        keys = random.Random(seed).sample(keys, sample)
    differing: list[bytes] = []
    impossible: list[bytes] = []
    if keys:
        with closing(model.embedder()) as embedder:
            reference = model.check(embedder)
            for key in keys:
                try:
                    if not _is_same(session, model, embedder, reference, key):
                        differing.append(key)
                except Damaged:
                    impossible.append(key)
    return VerifyReport(len(keys) - len(impossible), differing, impossible, model.settings.model)


def _is_same(
    session: SearchSession,
    model: EmbeddingModel,
    embedder: EmbeddingService,
    reference: Reference,
    key: bytes,
) -> bool:
    """Return True if a stored cluster has the texts of its files, and vectors that the service gives now.

    Raises `Damaged` if files are missing.
    """
    stored = model.clusters.stored(key)
    texts = texts_of(stored, session.reader, model.settings)
    hashes = b"".join(one.hashes for one in stored.of_members if one is not None)
    if hashes != b"".join(map(text_hash, texts)):
        return False
    rows, batch, precision = model.rows_of(stored), model.settings.batch, model.settings.precision
    for at in range(0, len(texts), batch):
        vectors = centred(embedder.embed_documents(texts[at : at + batch]), reference, precision)
        if not agree(rows[at : at + batch], vectors, precision):
            return False
    return True
