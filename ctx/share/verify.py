"""Making a sample of stored clusters anew and comparing them with what is stored.

What was fetched was checked for its form; whether its vectors and symbols are those of the files only this
can tell. The model inside the package gives the same bits everywhere, so that any difference is a fault; a
remote one gives nearly the same numbers.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, NamedTuple

from ctx.indexing.batch import make_batch
from ctx.share.words import Words

if TYPE_CHECKING:
    from ctx.search.open_index import OpenIndex


class VerifyReport(NamedTuple):
    """How many clusters were made anew; keys of those that differ, and of those whose blobs are not here.

    `words` are the keys of those whose chunks are as they should be, but not the words by which they are
    found. `model` is the name of the remote model that was asked, "" for that of the package.
    """

    verified: int
    differing: list[bytes]
    impossible: list[bytes]
    model: str = ""
    words: tuple[bytes, ...] = ()


def verify(index: OpenIndex, revision: str | None, sample: int | None, seed: int) -> VerifyReport:
    """Compare `sample` clusters of a tree, chosen at random, or all of them; damaged ones count as none.

    Words are compared where the tree has been made ready for a search.
    """
    tree = index.resolve(revision).tree
    root = index.indexer.trees.root(tree)
    view = index.catalog.view(tree)
    words = None if view is None else Words(index, view.segments)
    clusters = [one for one in index.indexer.coverer.every(root) if index.clusters.get(one.key) is not None]
    if sample is not None and sample < len(clusters):
        clusters = random.Random(seed).sample(clusters, sample)
    differing: list[bytes] = []
    impossible: list[bytes] = []
    other_words: list[bytes] = []
    maker = index.indexer.coverer.worker.maker
    for cluster in clusters:
        made: dict[bytes, bytes] = {}

        def write(key: bytes, payload: bytes, partial: bool, made: dict[bytes, bytes] = made) -> None:
            if not partial:
                made[key] = payload

        make_batch([cluster], {}, maker, write, str(index.descriptor))
        if cluster.key not in made:
            impossible.append(cluster.key)
        elif made[cluster.key] != index.clusters.get(cluster.key):
            differing.append(cluster.key)
        elif words is not None:
            own = words.own(cluster.key)
            if own is not None and own != words.anew(cluster.key):
                other_words.append(cluster.key)
    return VerifyReport(len(clusters) - len(impossible), differing, impossible, words=tuple(other_words))


def verify_remote(index: OpenIndex, revision: str | None, sample: int, seed: int) -> VerifyReport | None:
    """Have `sample` clusters of a tree embedded anew by the remote model; None where none is configured.

    Nothing that comes back is stored. Raises `ServiceFailed`.
    """
    model = index.remote_model
    if model is None:
        return None
    from ctx.indexing.vectors.cluster_map import ClusterMap
    from ctx.indexing.vectors.comparing import differing as differing_from

    every = [pair.remote for pair in ClusterMap(index, model).every(index.resolve(revision).tree)]
    absent = set(model.clusters.absent(every))
    keys = [key for key in every if key not in absent]
    if sample < len(keys):
        keys = random.Random(seed).sample(keys, sample)
    differing, impossible = differing_from(index, model, keys)
    return VerifyReport(len(keys) - len(impossible), differing, impossible, model.settings.model)
