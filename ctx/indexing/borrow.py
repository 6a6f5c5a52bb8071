"""A view of an uncovered tree, built from rows of other trees and a quick scan of the remaining files.

A row is used only if its (path, blob id) is in the requested tree. Files without rows are split by lines and
counted up to a budget of bytes; the others are reported as uncovered. Such a view stays in memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from ctx.chunking import chunk
from ctx.errors import Damaged
from ctx.indexing.cover import manifest
from ctx.indexing.documents import DocumentBuilder, Source
from ctx.indexing.prepare import groups_of, known_groups, locate
from ctx.storage.cluster_store import ClusterStore
from ctx.storage.clusters import Document, StoredCluster, document_key
from ctx.storage.partition import Node
from ctx.storage.records import encode_record
from ctx.storage.snapshots import Snapshots
from ctx.storage.views import view
from ctx.storage.views.catalog import Catalog, SegmentWriter
from ctx.storage.views.segments import Key, Segment, SegmentPart
from ctx.storage.views.view import Group, View
from ctx.text.contents import content_skip, decode


def borrow_view(
    tree: bytes,
    root: Node,
    known: Mapping[Key, Document],
    snapshots: Snapshots,
    clusters: ClusterStore,
    catalog: Catalog,
    builder: DocumentBuilder,
    budget: int,
) -> View:
    """Return the view of an uncovered tree, or of a covered one whose terms cannot all be counted.

    `known` are documents of its missing clusters; `budget` is the number of bytes to scan.
    """
    base = catalog.latest()
    at_hand = known_groups(base)
    read: dict[bytes, StoredCluster] = {}
    unstored: list[Key] = []
    order, skipped = manifest(root, snapshots)
    for key, members in order.items():
        if key in at_hand:
            continue
        try:
            read[key] = clusters.stored(key)
        except Damaged:
            read[key] = StoredCluster(members, [None] * len(members), {})
            unstored += map(document_key, members)
    at_hand |= groups_of(read, builder)
    groups = [at_hand[key] for key in order]
    located = locate(groups, base, catalog)
    # A row without a record (its cluster is not stored) cannot be shown: treat it as missing.
    missing = list(dict.fromkeys([key for key in unstored if key not in known] + list(located.missing())))
    documents = {key: document for stored in read.values() for key, document in stored.documents.items()}
    documents |= known
    stored = [key for key in missing if key in documents]
    sizes = builder.repository.blob_sizes([oid for oid, _ in stored])
    absent = {key: documents[key] for key, size in zip(stored, sizes, strict=True) if size is None}
    textless = _segments(builder.parts(builder.without_text(absent), absent))
    scanned, records, reasons = _scan([key for key in missing if key not in absent], builder, budget)
    for reason in reasons.values():
        skipped[reason] = skipped.get(reason, 0) + 1
    without = set(missing)
    places = {key: place for key, place in located.places().items() if key not in without}
    used = [segment for _, segment in located.used]
    for segment in [*scanned, *textless]:
        keys = [segment.key(document) for document in range(segment.documents)]
        places |= {key: (len(used), document) for document, key in enumerate(keys)}
        used.append(segment)
    uncovered = [key for key in missing if key not in places and key not in reasons]
    shown = [_without(group, places) for group in groups]
    arrays, meta = view.build(shown, places, [""] * len(used), tree, skipped, True)
    made = View(arrays, meta, used)
    made.records = {key: document.record for key, document in known.items()} | records
    made.scanned, made.uncovered, made.without_words = len(records), len(uncovered), len(absent)
    return made


def _scan(
    keys: Sequence[Key], builder: DocumentBuilder, budget: int
) -> tuple[list[Segment], dict[Key, bytes], dict[Key, str]]:
    """Return segments and records of documents split by lines, and skip reasons of the others."""
    records: dict[Key, bytes] = {}
    reasons: dict[Key, str] = {}

    def sources() -> Iterator[Source]:
        for key, blob in builder.read(keys, budget):
            reason = blob if isinstance(blob, str) else content_skip(blob, key[1] or None)
            if isinstance(blob, str) or reason is not None:
                reasons[key] = str(reason)
                continue
            text, place = decode(blob)
            chunks = chunk(text, None)
            records[key] = encode_record(text, chunks, len(blob), place)
            yield Source(key, text, chunks, records[key])

    return _segments(builder.parts(sources())), records, reasons


def _segments(parts: Iterable[tuple[object, SegmentPart]]) -> list[Segment]:
    """Return segments in memory."""
    writer = SegmentWriter(Segment)
    writer.add(part for _, part in parts)
    return writer.flush()


def _without(group: Group, places: Mapping[Key, tuple[int, int]]) -> Group:
    """Return the group with documents only for files that have rows."""
    return group._replace(
        documents=[key if key is not None and key in places else None for key in group.documents]
    )
