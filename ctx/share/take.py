"""Taking clusters from a remote: only those that wanted trees lack, each checked before it is stored.

A key is computed here, from a tree that is here, so it says which paths and blobs its cluster must be of;
what under that key is anything else is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from typing import NamedTuple

from ctx.errors import Damaged, RemoteFailed
from ctx.share import layout
from ctx.share.layers import Layer, insist_on_same_model
from ctx.share.transport import ShareRepository
from ctx.storage.cluster_key import Member
from ctx.storage.partition import Cluster
from ctx.storage.views.segments import Key, Part, Segment, build
from ctx.storage.views.writer import SegmentWriter


class TakenWords(NamedTuple):
    """The words that came with clusters: of how many, bytes, and whose were refused and why."""

    taken: int
    size: int
    refused: list[tuple[bytes, str]]


class Taken(NamedTuple):
    """What a fetch did for one layer, in clusters and bytes.

    `refused` has the key of each cluster that was not what its name says, and why; `problem` says why
    nothing at all was taken. `model` is the name of the remote model whose vectors these are, "" for the
    model of the package. `words` is None where there were none for what was taken.
    """

    model: str
    taken: int
    size: int
    lacking: int
    refused: list[tuple[bytes, str]]
    problem: str | None = None
    words: TakenWords | None = None


class FetchReport(NamedTuple):
    """What a fetch did; `published` is False where the remote has no index at all.

    `remote` is None where no remote model is configured. `whole` is on where the remote gives its index only
    as a whole, however little of it is wanted.
    """

    published: bool
    own: Taken
    remote: Taken | None
    whole: bool = False


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
    words = _words_wanted(layer, there, found)
    share.fetch_blobs([*found.values(), *words.values()])

    def keep(key: bytes, data: bytes) -> None:
        layer.clusters.write(key, layer.checked(key, data))

    size, refused = _each(share, found, keep, "it is larger than any cluster of ours, or did not come")
    bad = {key for key, _ in refused}
    share.agree(oid for key, oid in found.items() if key not in bad)
    counted = _take_words(share, layer, {key: oid for key, oid in words.items() if key not in bad})
    return Taken(layer.model_name, len(found) - len(refused), size, lacking, refused, None, counted)


def _each(
    share: ShareRepository, wanted: Mapping[bytes, str], keep: Callable[[bytes, bytes], None], absent: str
) -> tuple[int, list[tuple[bytes, str]]]:
    """Keep what came of some blobs by key: the bytes of those that were, and what was refused and why.

    `keep` raises `Damaged` for what it does not take; `absent` is why where nothing came.
    """
    size = 0
    refused: list[tuple[bytes, str]] = []
    for key, data in zip(wanted, share.blobs(list(wanted.values())), strict=True):
        try:
            if data is None:
                raise Damaged(absent)
            keep(key, data)
        except Damaged as error:
            refused.append((key, str(error)))
        else:
            size += len(data)
    return size, refused


def _words_wanted(layer: Layer, there: Mapping[str, str], keys: Iterable[bytes]) -> dict[bytes, str]:
    if layer.catalog is None:
        return {}
    paths = {key: layout.words_path(layer.catalog.group, key) for key in keys}
    return {key: there[path] for key, path in paths.items() if path in there}


def _take_words(share: ShareRepository, layer: Layer, wanted: Mapping[bytes, str]) -> TakenWords | None:
    """Make segments of the words of clusters that were taken, but for documents that are counted already."""
    if layer.catalog is None or not wanted:
        return None
    counted = [segment for _, segment in layer.catalog.segments()]
    writer = SegmentWriter(layer.catalog)
    seen: set[Key] = set()

    def keep(key: bytes, data: bytes) -> None:
        _, part = layer.checked_words(key, data)
        if (own := _without(part, counted, seen)).documents:
            seen.update(own.documents)
            writer.add([own])

    size, refused = _each(share, wanted, keep, "its words are more than any of ours, or did not come")
    writer.flush()
    return TakenWords(len(wanted) - len(refused), size, refused)


def _without(part: Part, counted: Sequence[Segment], seen: Set[Key]) -> Part:
    """A part without the documents that some segments have, or that were seen before."""
    found = [segment.find(part.documents) for segment in counted]
    left = [
        place
        for place, key in enumerate(part.documents)
        if key not in seen and all(one[place] < 0 for one in found)
    ]
    if len(left) == len(part.documents):
        return part
    return Segment(*build([part])).part(left)
