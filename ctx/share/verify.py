"""Rebuild a sample of stored clusters and compare them with the store.

Fetched clusters are only validated for their form; this checks that vectors and symbols are those of the
files. The built-in model gives the same bits everywhere, so any difference is an error; a remote model gives
nearly the same numbers.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, NamedTuple

from ctx.indexing.batch import Batch, build_batch
from ctx.share.words import Words

if TYPE_CHECKING:
    from ctx.search.session import SearchSession


class VerifyReport(NamedTuple):
    """Number of rebuilt clusters; keys of those that differ, and of those whose blobs are missing here.

    `words` are the keys of clusters whose chunks match but whose words differ. `model` is the name of the
    remote model, "" for the built-in model.
    """

    verified: int
    differing: list[bytes]
    impossible: list[bytes]
    model: str = ""
    words: tuple[bytes, ...] = ()


def verify(session: SearchSession, revision: str | None, sample: int | None, seed: int) -> VerifyReport:
    """Compare `sample` random clusters of a tree, or all of them; damaged ones are skipped.

    Words are compared if the tree has a view for searches.
    """
    tree = session.resolve(revision).tree
    root = session.indexer.trees.root(tree)
    view = session.catalog.view(tree)
    words = None if view is None else Words(session, view.segments)
    clusters = [one for one in root.clusters() if session.clusters.get(one.key) is not None]
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


def verify_remote(
    session: SearchSession, revision: str | None, sample: int, seed: int
) -> VerifyReport | None:
    """Compare `sample` clusters of a tree with new embeddings by the remote model, if one is configured.

    Nothing is stored. Raises `ServiceFailed`.
    """
    model = session.embedding_model
    if model is None:
        return None
    from ctx.indexing.vectors.cluster_map import ClusterMap
    from ctx.indexing.vectors.comparing import differing as differing_from

    every = [pair.remote for pair in ClusterMap(session, model).every(session.resolve(revision).tree)]
    absent = set(model.clusters.absent(every))
    keys = [key for key in every if key not in absent]
    if sample < len(keys):
        keys = random.Random(seed).sample(keys, sample)
    differing, impossible = differing_from(session, model, keys)
    return VerifyReport(len(keys) - len(impossible), differing, impossible, model.settings.model)
