"""A view of an uncovered tree, built from rows of other trees and a quick scan of the remaining files.

A row is used only if its (path, blob id) is in the requested tree. Files without rows are split by lines and
counted up to a budget of bytes; the others are reported as uncovered. Such a view stays in memory.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ctx.chunking import chunk
from ctx.errors import Damaged
from ctx.indexing.documents import Maker, Source
from ctx.indexing.prepare import groups_of, known_groups, locate
from ctx.storage.cluster_store import ClusterStore
from ctx.storage.clusters import Document, Stored, document_key
from ctx.storage.partition import Cluster, Node
from ctx.storage.records import encode_record, summarize
from ctx.storage.snapshots import Snapshots
from ctx.storage.views import segments, view
from ctx.storage.views.catalog import Catalog
from ctx.storage.views.postings import MAX_ROWS
from ctx.storage.views.segments import Key, Segment
from ctx.storage.views.view import Group, View
from ctx.text.contents import content_skip, decode

_PART_BYTES = 1 << 18


def borrow_view(
    tree: bytes,
    root: Node,
    known: Mapping[Key, Document],
    snapshots: Snapshots,
    clusters: ClusterStore,
    catalog: Catalog,
    maker: Maker,
    budget: int,
) -> View:
    """Return the view of an uncovered tree, or of a covered one whose terms cannot all be counted.

    `known` are documents of its missing clusters; `budget` is the number of bytes to scan.
    """
    base = catalog.latest()
    at_hand = known_groups(base)
    read: dict[bytes, Stored] = {}
    order: list[bytes] = []
    unstored: list[Key] = []
    skipped: dict[str, int] = {}
    for found in _clusters(root, snapshots, skipped):
        key = found if isinstance(found, bytes) else found.key
        order.append(key)
        if key in at_hand:
            continue
        try:
            read[key] = clusters.stored(key)
        except Damaged:
            members = () if isinstance(found, bytes) else found.members
            read[key] = Stored(members, [None] * len(members), {})
            unstored += [document_key(member) for member in members]
    at_hand |= groups_of(read, maker)
    groups = [at_hand[key] for key in order]
    located = locate(groups, base, catalog)
    # A row without a record (its cluster is not stored) cannot be shown: treat it as missing.
    lacking = list(dict.fromkeys([key for key in unstored if key not in known] + list(located.lacking())))
    documents = {key: document for stored in read.values() for key, document in stored.documents.items()}
    textless = _without_text(lacking, documents | dict(known), maker)
    found_in = {segment.key(document) for segment in textless for document in range(segment.documents)}
    scanned, records, reasons = _scan([key for key in lacking if key not in found_in], maker, budget)
    for reason in reasons.values():
        skipped[reason] = skipped.get(reason, 0) + 1
    without = set(lacking)
    places = {key: place for key, place in located.places().items() if key not in without}
    used = [segment for _, segment in located.used]
    for segment in [*scanned, *textless]:
        keys = [segment.key(document) for document in range(segment.documents)]
        places |= {key: (len(used), document) for document, key in enumerate(keys)}
        used.append(segment)
    uncovered = [key for key in lacking if key not in places and key not in reasons]
    shown = [_without(group, places) for group in groups]
    arrays, meta = view.build(shown, places, [""] * len(used), tree, skipped, True)
    made = View(arrays, meta, used)
    made.records = {key: document.record for key, document in known.items()} | records
    made.scanned, made.uncovered, made.without_words = len(records), len(uncovered), len(found_in)
    return made


def _clusters(root: Node, snapshots: Snapshots, skipped: dict[str, int]) -> list[bytes | Cluster]:
    """Return all clusters of a tree in the order of the manifest.

    Clusters below a stored node are given by key, the others whole.
    """
    found: list[bytes | Cluster] = []
    open_: list[bytes | Node] = [root]
    met: set[bytes] = set()
    while open_:
        node = open_.pop()
        key = node if isinstance(node, bytes) else node.key
        if key in met:  # a damaged node may be below itself
            continue
        met.add(key)
        stored = snapshots.node(key)
        if stored is not None:
            found += stored.clusters
            open_ += reversed(stored.nodes)
            if not isinstance(node, bytes):
                _add(skipped, stored.totals.skipped)
        elif isinstance(node, Node):
            content = node.read()
            found += content.clusters
            open_ += reversed(content.nodes)
            _add(skipped, content.skipped)
    return found


def _without_text(keys: Sequence[Key], documents: Mapping[Key, Document], maker: Maker) -> list[Segment]:
    """Segments of the documents that are stored but whose blobs are not here."""
    stored = [key for key in keys if key in documents]
    sizes = maker.sizes([oid for oid, _ in stored])
    absent = [key for key, size in zip(stored, sizes, strict=True) if size is None]
    made: list[Segment] = []
    batch: list[tuple[Key, Document]] = []
    rows = 0

    def close() -> None:
        if batch:
            made.append(Segment(*segments.build([maker.without_text(batch)])))
        batch.clear()

    for key in absent:
        more = len(summarize(documents[key].record).kinds)
        if rows + more > segments.TARGET_ROWS:
            close()
            rows = 0
        batch.append((key, documents[key]))
        rows += more
    close()
    return made


def _scan(
    keys: list[Key], maker: Maker, budget: int
) -> tuple[list[Segment], dict[Key, bytes], dict[Key, str]]:
    """Return segments and records of documents split by lines, and skip reasons of the others."""
    made: list[Segment] = []
    parts: list[segments.Part] = []
    sources: list[Source] = []
    records: dict[Key, bytes] = {}
    reasons: dict[Key, str] = {}
    rows = 0

    def count() -> None:
        nonlocal rows
        if sources:
            part = maker.part(sources)
            if rows + len(part.lengths) > MAX_ROWS:
                close()
            parts.append(part)
            rows += len(part.lengths)
            sources.clear()

    def close() -> None:
        nonlocal rows
        if parts:
            made.append(Segment(*segments.build(parts)))
        parts.clear()
        rows = 0

    pending = 0
    for key, blob in maker.read(keys, budget):
        reason = blob if isinstance(blob, str) else content_skip(blob, key[1] or None)
        if isinstance(blob, str) or reason is not None:
            reasons[key] = str(reason)
            continue
        text, place = decode(blob)
        chunks = chunk(text, None)
        records[key] = encode_record(text, chunks, len(blob), place)
        sources.append(Source(key, text, chunks, records[key]))
        pending += len(blob)
        if pending >= _PART_BYTES:
            count()
            pending = 0
    count()
    close()
    return made, records, reasons


def _without(group: Group, places: Mapping[Key, tuple[int, int]]) -> Group:
    """Return the group with documents only for files that have rows."""
    return group._replace(
        documents=[key if key is not None and key in places else None for key in group.documents]
    )


def _add(total: dict[str, int], more: Mapping[str, int]) -> None:
    for reason, count in more.items():
        total[reason] = total.get(reason, 0) + count
