"""Building the clusters of one batch: the unit of work of a worker process."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from ctx.indexing.documents import Maker, Source, documents_of
from ctx.storage.cluster_key import Member
from ctx.storage.clusters import Document, document_key, encode_cluster
from ctx.storage.partition import Cluster
from ctx.storage.records import summarize
from ctx.storage.snapshots import Totals
from ctx.storage.views.segments import Key, Part
from ctx.text.contents import MISSING

_PART_BYTES = 1 << 18
"""Bytes of text counted at once; counting needs sixteen bytes of arrays for each byte."""


class Made(NamedTuple):
    """Result of a batch. `totals` is keyed by cluster key; `parts` hold the new documents.

    `incomplete` maps each cluster with missing blobs to these blobs.
    """

    totals: dict[bytes, Totals]
    parts: list[Part]
    chunks: int
    incomplete: dict[bytes, list[bytes]]


def make_batch(
    clusters: Sequence[Cluster],
    known: Mapping[Key, Document | str],
    maker: Maker,
    write: Callable[[bytes, bytes, bool], None],
    descriptor: str,
) -> Made:
    """Build and store clusters; `known` is that of a `Task`.

    `write` takes key, payload, and True for a cluster with missing blobs. Such clusters are stored apart,
    because the bytes stored under a cluster key must not depend on which blobs are present.
    """
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
    incomplete = {}
    for cluster in clusters:
        reasons = [skips.get(document_key(member)) for member in cluster.members]
        if missing := missing_of(cluster.members, reasons):
            incomplete[cluster.key] = missing
        write(cluster.key, encode_cluster(descriptor, cluster.members, reasons, documents), bool(missing))
        totals[cluster.key] = cluster_totals(cluster.members, reasons, documents)
    return Made(totals, parts, sum(len(part.lengths) for part in parts), incomplete)


def missing_of(members: Sequence[Member], skips: Sequence[str | None]) -> list[bytes]:
    """Return the blobs of a cluster that were missing when it was made."""
    return [member.oid for member, skip in zip(members, skips, strict=True) if skip == MISSING]


def _part(sources: Sequence[Source], maker: Maker, documents: dict[Key, Document]) -> Part:
    part = maker.part(sources)
    documents |= documents_of(sources, part)
    return part


def cluster_totals(
    members: Sequence[Member], skips: Sequence[str | None], documents: Mapping[Key, Document]
) -> Totals:
    """Return the totals that a cluster adds to its directory."""
    files = chunks = size = lines = 0
    languages: dict[str, int] = {}
    skipped: dict[str, int] = {}
    for member, skip in zip(members, skips, strict=True):
        if skip is not None:
            skipped[skip] = skipped.get(skip, 0) + 1
            continue
        record = summarize(documents[document_key(member)].record)
        files += 1
        chunks += len(record.kinds)
        size += record.size
        lines += record.lines
        language = member.language or ""
        languages[language] = languages.get(language, 0) + record.lines
    return Totals(1, files, chunks, size, lines, languages, skipped)
