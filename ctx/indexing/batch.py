"""Making the clusters of one batch: the unit of work of a worker process."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from ctx.indexing.documents import Maker, Source, documents_of
from ctx.storage.cluster_key import Member
from ctx.storage.clusters import Document, document_key, encode_cluster
from ctx.storage.partition import Cluster
from ctx.storage.records import measure
from ctx.storage.snapshots import Totals
from ctx.storage.views.segments import Key, Part
from ctx.text.contents import MISSING

_PART_BYTES = 1 << 18
"""Text that is counted at once: sixteen bytes of arrays are needed for each byte."""


class Made(NamedTuple):
    """What became of a batch. `totals` by cluster key; `parts` hold the documents that are new.

    `incomplete` are the clusters that were not stored because blobs of theirs are not here.
    """

    totals: dict[bytes, Totals]
    parts: list[Part]
    chunks: int
    incomplete: set[bytes]


def make_batch(
    clusters: Sequence[Cluster],
    known: Mapping[Key, Document | str],
    maker: Maker,
    write: Callable[[bytes, bytes], None],
    descriptor: str,
) -> Made:
    """Make and store clusters; `known` are those of a `Task`, `write` takes key and payload."""
    documents = {key: found for key, found in known.items() if not isinstance(found, str)}
    skips = {key: found for key, found in known.items() if isinstance(found, str)}
    parts: list[Part] = []
    sources: list[Source] = []
    size = 0
    keys = dict.fromkeys(document_key(member) for cluster in clusters for member in cluster.members)
    wanted = [key for key in keys if key not in known]
    for key, source in zip(wanted, maker.cut(wanted), strict=True):
        if isinstance(source, str):
            skips[key] = source
            continue
        sources.append(source)
        size += len(source.text)
        if size >= _PART_BYTES:
            parts.append(_part(sources, maker, documents))
            sources, size = [], 0
    if sources:
        parts.append(_part(sources, maker, documents))
    totals = {}
    incomplete = set()
    for cluster in clusters:
        reasons = [skips.get(document_key(member)) for member in cluster.members]
        if MISSING in reasons:
            # What a cluster holds must not depend on which blobs happen to be here.
            incomplete.add(cluster.key)
        else:
            write(cluster.key, encode_cluster(descriptor, cluster.members, reasons, documents))
        totals[cluster.key] = cluster_totals(cluster.members, reasons, documents)
    return Made(totals, parts, sum(len(part.lengths) for part in parts), incomplete)


def _part(sources: Sequence[Source], maker: Maker, documents: dict[Key, Document]) -> Part:
    part = maker.part(sources)
    documents |= documents_of(sources, part)
    return part


def cluster_totals(
    members: Sequence[Member], skips: Sequence[str | None], documents: Mapping[Key, Document]
) -> Totals:
    """What a cluster adds to the totals of its directory."""
    files = chunks = size = lines = 0
    languages: dict[str, int] = {}
    skipped: dict[str, int] = {}
    for member, skip in zip(members, skips, strict=True):
        if skip is not None:
            skipped[skip] = skipped.get(skip, 0) + 1
            continue
        record = measure(documents[document_key(member)].record)
        files += 1
        chunks += record.chunks
        size += record.size
        lines += record.lines
        language = member.language or ""
        languages[language] = languages.get(language, 0) + record.lines
    return Totals(1, files, chunks, size, lines, languages, skipped)
