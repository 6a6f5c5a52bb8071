"""Taking clusters from a remote: only those that wanted trees lack, each checked before it is stored.

A key is computed here, from a tree that is here, so it says which paths and blobs its cluster must be of;
what under that key is anything else is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from ctx.cluster_key import Member
from ctx.cluster_store import ClusterStore
from ctx.descriptor import Descriptor
from ctx.errors import Damaged, RemoteFailed
from ctx.git.repository import Repository
from ctx.partition import Cluster
from ctx.records import decode_record
from ctx.share import layout
from ctx.share.transport import ShareRepository


class FetchReport(NamedTuple):
    """What a fetch did, in clusters and bytes; `published` is False where the remote has no index at all.

    `refused` has the key of each cluster that was not what its name says, and why.
    """

    published: bool
    taken: int
    size: int
    lacking: int
    refused: list[tuple[bytes, str]]


class Taker:
    """Takes clusters of one descriptor from one remote into one store."""

    def __init__(
        self,
        share: ShareRepository,
        repository: Repository,
        clusters: ClusterStore,
        descriptor: Descriptor,
    ) -> None:
        self._share = share
        self._repository = repository
        self._clusters = clusters
        self._descriptor = descriptor

    def take(
        self,
        missing: Sequence[Cluster],
        *,
        wanted: Callable[[Member], bool] | None = None,
        signed: bool = False,
    ) -> FetchReport:
        """Take what the remote has of `missing`: all, or the clusters with a member that is `wanted`.

        With `signed`, nothing is taken from a tip whose signature git does not accept. Raises `RemoteFailed`.
        """
        tip = self._share.fetch_tip()
        if tip is None:
            return FetchReport(False, 0, 0, len(missing), [])
        if signed and (said := self._share.signature(tip)) is not None:
            raise RemoteFailed(
                f"the index at '{self._share.remote.name}' is not signed by anybody whom git trusts "
                f"({said}): set ctx.requireSigned to false to take it all the same"
            )
        there = self._share.listing(tip)
        name = str(self._descriptor)
        found: dict[bytes, str] = {}
        lacking = 0
        for cluster in missing:
            if wanted is not None and not any(map(wanted, cluster.members)):
                continue
            oid = there.get(layout.cluster_path(name, cluster.key))
            if oid is None:
                lacking += 1
            else:
                found[cluster.key] = oid
        self._share.fetch_blobs(found.values())
        size = 0
        refused: list[tuple[bytes, str]] = []
        for key, data in zip(found, self._share.blobs(list(found.values())), strict=True):
            try:
                if data is None:
                    raise Damaged("it is larger than any cluster of ours, or did not come")
                self._clusters.put(key, self._checked(key, data))
                size += len(data)
            except Damaged as error:
                refused.append((key, str(error)))
        return FetchReport(True, len(found) - len(refused), size, lacking, refused)

    def _checked(self, key: bytes, data: bytes) -> bytes:
        """The payload of a cluster from elsewhere. Raises `Damaged` unless it is what the key promises."""
        payload = layout.decode_shared(key, data)
        stored = self._clusters.decoded(key, payload)
        sizes = self._repository.blob_sizes([oid for oid, _ in stored.documents])
        for size, document in zip(sizes, stored.documents.values(), strict=True):
            # A blob may be absent in a partial clone.
            if size is not None and decode_record(document.record).size != size:
                raise Damaged("it describes a file of another size")
        return payload
