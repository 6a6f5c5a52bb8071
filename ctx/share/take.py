"""Takes missing clusters from a remote and validates each before it is stored.

Keys are computed locally from trees, so a key determines the paths and blobs of its cluster; a cluster that
does not match its key is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from typing import NamedTuple

from ctx.errors import Damaged, Decoding, RemoteFailed
from ctx.share import layout
from ctx.share.layers import Layer, insist_on_same_model
from ctx.share.transport import ShareRepository
from ctx.storage.cluster_key import Member
from ctx.storage.partition import Cluster
from ctx.storage.views.catalog import SegmentWriter
from ctx.storage.views.segments import Key, Segment, SegmentPart, build


class TakenWords(NamedTuple):
    """Words taken with clusters: number of clusters, bytes, and the refused keys with the reasons."""

    taken: int
    size: int
    refused: list[tuple[bytes, str]]


class Taken(NamedTuple):
    """Result of a fetch for one layer, in clusters and bytes.

    `refused` has the key of each cluster that does not match it, and the reason; `problem` is the reason why
    nothing was taken. `model` is the name of the remote model, "" for the built-in model. `words` is None if
    no words were published for these clusters.
    """

    model: str
    taken: int
    size: int
    lacking: int
    refused: list[tuple[bytes, str]]
    problem: str | None = None
    words: TakenWords | None = None


class FetchReport(NamedTuple):
    """Result of a fetch; `published` is False if the remote has no index.

    `remote` is None if no remote model is configured. `whole` is True if the remote can only send its whole
    index.
    """

    published: bool
    own: Taken
    remote: Taken | None
    whole: bool = False


def take(
    share: ShareRepository,
    requests: Sequence[tuple[Layer, Sequence[Cluster]]],
    *,
    wanted: Callable[[Member], bool] | None = None,
    signed: bool = False,
) -> list[Taken] | None:
    """Take the requested clusters of each layer from a remote; None if it has no index.

    `wanted` selects clusters with at least one matching member. With `signed`, a tip whose signature git does
    not accept is refused. Raises `RemoteFailed`.
    """
    tip = share.fetch_tip()
    if tip is None:
        return None
    if signed and (said := share.signature(tip.commit)) is not None:
        raise RemoteFailed(
            f"the index at '{share.remote.name}' is not signed by a key that git trusts "
            f"({said}): set ctx.requireSigned to false to take it anyway"
        )
    return [_take(share, tip.files, layer, missing, wanted) for layer, missing in requests]


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

    size, refused = _each(share, found, keep, "it is too large for a cluster, or was not sent")
    bad = {key for key, _ in refused}
    share.agree(oid for key, oid in found.items() if key not in bad)
    counted = _take_words(share, layer, {key: oid for key, oid in words.items() if key not in bad})
    return Taken(layer.model_name, len(found) - len(refused), size, lacking, refused, None, counted)


def _each(
    share: ShareRepository, wanted: Mapping[bytes, str], keep: Callable[[bytes, bytes], None], absent: str
) -> tuple[int, list[tuple[bytes, str]]]:
    """Pass fetched blobs to `keep` by key; return the bytes kept, and the refused keys with the reasons.

    `keep` raises `Damaged` to refuse one; `absent` is the reason for a blob that is missing.
    """
    size = 0
    refused: list[tuple[bytes, str]] = []
    for key, data in zip(wanted, share.blobs(list(wanted.values())), strict=True):
        try:
            if data is None:
                raise Damaged(absent)
            with Decoding("it"):
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
    """Write segments of the words of taken clusters, without documents that are already counted."""
    if layer.catalog is None or not wanted:
        return None
    counted = [segment for _, segment in layer.catalog.segments()]
    writer = SegmentWriter(layer.catalog.add_segment)
    seen: set[Key] = set()

    def keep(key: bytes, data: bytes) -> None:
        _, part = layer.checked_words(key, data)
        if (own := _without(part, counted, seen)).documents:
            seen.update(own.documents)
            writer.add([own])

    size, refused = _each(share, wanted, keep, "its words are too large, or were not sent")
    writer.flush()
    return TakenWords(len(wanted) - len(refused), size, refused)


def _without(part: SegmentPart, counted: Sequence[Segment], seen: Set[Key]) -> SegmentPart:
    """Return a part without documents of the segments `counted` and without those in `seen`."""
    found = [segment.find(part.documents) for segment in counted]
    left = [
        place
        for place, key in enumerate(part.documents)
        if key not in seen and all(one[place] < 0 for one in found)
    ]
    if len(left) == len(part.documents):
        return part
    return Segment(*build([part])).part(left)
