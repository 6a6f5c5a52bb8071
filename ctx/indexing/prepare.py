"""Making the view of a covered tree from its clusters, the segments at hand and, for words, the blobs."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

import numpy as np

from ctx.clusters import Document, decode_cluster, document_key
from ctx.descriptor import Descriptor
from ctx.errors import Damaged
from ctx.indexing.documents import Maker, Source
from ctx.store import Store
from ctx.views import segments, view
from ctx.views.catalog import Catalog
from ctx.views.paths import flags
from ctx.views.segments import Key, Segment
from ctx.views.view import Group, View

_PART_BYTES = 1 << 17
_SMALL_SEGMENTS = 4
"""So many small segments of like size are merged into one."""
_SMALL = segments.TARGET_ROWS // 4
_GROWTH = 2


def prepare_view(
    tree: bytes,
    cluster_keys: Sequence[bytes],
    store: Store,
    descriptor: Descriptor,
    catalog: Catalog,
    maker: Maker,
) -> View:
    """Build and keep the view of a tree. Raises `Damaged` when one of its clusters cannot be read."""
    base = catalog.latest()
    known = base.groups() if base else {}
    fresh: dict[Key, Document] = {}
    groups: list[Group] = []
    for key in cluster_keys:
        group = known.get(key)
        if group is None:
            group = _read_group(key, store, descriptor, maker, fresh)
        groups.append(group)
    wanted = list(
        dict.fromkeys(document for group in groups for document in group.documents if document is not None)
    )
    used = _choose(wanted, base, catalog)
    have = {key for _, segment in used for key, place in _places(segment, wanted) if place >= 0}
    lacking = [key for key in wanted if key not in have]
    if lacking:
        for group in groups:
            # A segment got lost that the base view was built on: its clusters say what was in it.
            if any(key is not None and key not in have and key not in fresh for key in group.documents):
                _read_group(group.key, store, descriptor, maker, fresh)
        used += _count_anew({key: fresh[key] for key in lacking}, descriptor, catalog, maker)
    used = _merged(wanted, used, catalog)
    arrays, meta = view.build(groups, [segment for _, segment in used], [name for name, _ in used], tree)
    made = catalog.add_view(tree, arrays, meta)
    catalog.prune()
    return made


def _read_group(
    key: bytes, store: Store, descriptor: Descriptor, maker: Maker, fresh: dict[Key, Document]
) -> Group:
    payload = store.read(os.path.join("objects", str(descriptor)), key.hex())
    if payload is None:
        raise Damaged("a cluster of a covered tree is missing")
    stored = decode_cluster(payload, str(descriptor), key, descriptor.vector_bytes)
    fresh |= stored.documents
    paths = [member.path for member in stored.members]
    terms, vectors = maker.paths(paths)
    ends = np.searchsorted(terms.text, np.arange(len(paths)), side="right").tolist()
    return Group(
        key,
        paths,
        [
            None if skip is not None else document_key(member)
            for member, skip in zip(stored.members, stored.skips, strict=True)
        ],
        np.array([flags(member.path, member.language) for member in stored.members], dtype=np.uint8),
        vectors,
        [terms.word[start:end] for start, end in zip([0, *ends], ends, strict=False)],
    )


def _places(segment: Segment, keys: Sequence[Key]) -> Iterator[tuple[Key, int]]:
    return zip(keys, segment.find(keys).tolist(), strict=True)


def _choose(wanted: Sequence[Key], base: View | None, catalog: Catalog) -> list[tuple[str, Segment]]:
    """Segments that together hold as many of the documents as can be, those of the base view first."""
    left = list(wanted)
    used: list[tuple[str, Segment]] = []
    first = list(zip(base.names, base.segments, strict=True)) if base else []

    def candidates() -> Iterator[tuple[str, Segment]]:
        yield from first
        for name, segment in catalog.segments():
            if base is None or name not in base.names:
                yield name, segment

    for name, segment in candidates():
        if not left:
            break
        rest = [key for key, place in _places(segment, left) if place < 0]
        if len(rest) < len(left):
            used.append((name, segment))
        left = rest
    return used


def _count_anew(
    lacking: dict[Key, Document], descriptor: Descriptor, catalog: Catalog, maker: Maker
) -> list[tuple[str, Segment]]:
    """Segments for documents whose clusters are there but whose words were never counted here."""
    made: list[tuple[str, Segment]] = []
    parts: list[segments.Part] = []
    sources: list[Source] = []
    size = 0

    def count() -> None:
        nonlocal sources, size
        parts.append(maker.part(sources, [lacking[source.key].vectors for source in sources]))
        sources, size = [], 0

    def close() -> None:
        if parts:
            name = catalog.add_segment(*segments.build(parts))
            made.append((name, catalog.segment(name)))
            parts.clear()

    records = [document.record for document in lacking.values()]
    for source in maker.recut(list(lacking), records):
        if source is None:
            raise Damaged("a cluster does not describe the blob that it names")
        sources.append(source)
        size += len(source.text)
        if size >= _PART_BYTES:
            count()
            if sum(len(part.lengths) for part in parts) >= segments.TARGET_ROWS:
                close()
    if sources:
        count()
    close()
    return made


def _merged(
    wanted: Sequence[Key], used: list[tuple[str, Segment]], catalog: Catalog
) -> list[tuple[str, Segment]]:
    """Merge small segments of like size, so that their number grows with the logarithm of the commits."""
    small = sorted((pair for pair in used if pair[1].rows < _SMALL), key=lambda pair: pair[1].rows)
    taken: list[tuple[str, Segment]] = []
    rows = 0
    for pair in small:
        if len(taken) >= _SMALL_SEGMENTS and pair[1].rows > _GROWTH * rows:
            break
        if rows + pair[1].rows > segments.TARGET_ROWS:
            break
        taken.append(pair)
        rows += pair[1].rows
    if len(taken) < _SMALL_SEGMENTS:
        return used
    rest = [pair for pair in used if pair not in taken]
    left = list(wanted)
    for _, segment in rest:
        left = [key for key, place in _places(segment, left) if place < 0]
    parts = []
    for _, segment in taken:
        found = list(_places(segment, left))
        parts.append(segment.part(place for _, place in found if place >= 0))
        left = [key for key, place in found if place < 0]
    parts = [part for part in parts if part.documents]
    if not parts:
        return rest
    name = catalog.add_segment(*segments.build(parts))
    return [*rest, (name, catalog.segment(name))]
