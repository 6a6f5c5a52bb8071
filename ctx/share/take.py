"""Taking clusters from a remote: only those that wanted trees lack, each checked before it is stored.

A key is computed here, from a tree that is here, so it says which paths and blobs its cluster must be of;
what under that key is anything else is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from ctx.cluster_key import Member
from ctx.errors import Damaged, RemoteFailed
from ctx.partition import Cluster
from ctx.share import layout
from ctx.share.layers import Layer, insist_on_same_model
from ctx.share.transport import ShareRepository


class Taken(NamedTuple):
    """What a fetch did for one layer, in clusters and bytes.

    `refused` has the key of each cluster that was not what its name says, and why; `problem` says why
    nothing at all was taken. `model` is the name of the remote model whose vectors these are, "" for the
    model of the package.
    """

    model: str
    taken: int
    size: int
    lacking: int
    refused: list[tuple[bytes, str]]
    problem: str | None = None


class FetchReport(NamedTuple):
    """What a fetch did; `published` is False where the remote has no index at all.

    `remote` is None where no remote model is configured.
    """

    published: bool
    own: Taken
    remote: Taken | None


def take(
    share: ShareRepository,
    wishes: Sequence[tuple[Layer, Sequence[Cluster]]],
    *,
    wanted: Callable[[Member], bool] | None = None,
    signed: bool = False,
) -> list[Taken] | None:
    """Take what a remote has of the clusters that are missing of each layer; None where it has no index.

    `wanted` lets through the clusters with a member that it is true of. With `signed`, nothing is taken from
    a tip whose signature git does not accept. Raises `RemoteFailed`.
    """
    tip = share.fetch_tip()
    if tip is None:
        return None
    if signed and (said := share.signature(tip)) is not None:
        raise RemoteFailed(
            f"the index at '{share.remote.name}' is not signed by anybody whom git trusts "
            f"({said}): set ctx.requireSigned to false to take it all the same"
        )
    there = share.listing(tip)
    return [_take(share, there, layer, missing, wanted) for layer, missing in wishes]


def _take(
    share: ShareRepository,
    there: Mapping[str, str],
    layer: Layer,
    missing: Sequence[Cluster],
    wanted: Callable[[Member], bool] | None,
) -> Taken:
    found: dict[bytes, str] = {}
    lacking = 0
    for cluster in missing:
        if wanted is not None and not any(map(wanted, cluster.members)):
            continue
        oid = there.get(layout.cluster_path(layer.name, cluster.key))
        if oid is None:
            lacking += 1
        else:
            found[cluster.key] = oid
    try:
        insist_on_same_model(share, layer, there)
    except RemoteFailed as error:
        return Taken(layer.model_name, 0, 0, lacking + len(found), [], str(error))
    share.fetch_blobs(found.values())
    size = 0
    refused: list[tuple[bytes, str]] = []
    for key, data in zip(found, share.blobs(list(found.values())), strict=True):
        try:
            if data is None:
                raise Damaged("it is larger than any cluster of ours, or did not come")
            layer.clusters.write(key, layer.checked(key, data))
            size += len(data)
        except Damaged as error:
            refused.append((key, str(error)))
    return Taken(layer.model_name, len(found) - len(refused), size, lacking, refused)
