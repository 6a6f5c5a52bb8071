"""One view over a tree and its submodules, as if their files were part of the tree itself.

All files are ranked with common statistics, so their scores are comparable. Such a view stays in memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ctx.indexing.documents import DocumentBuilder
from ctx.indexing.prepare import make_groups
from ctx.storage.views import view
from ctx.storage.views.segments import Key, Segment
from ctx.storage.views.view import NO_SEGMENT, Group, View


def join_views(
    tree: bytes, views: Sequence[tuple[bytes, View]], skipped: Mapping[str, int], builder: DocumentBuilder
) -> View:
    """Return one view of the files of all views, with prefixed paths; `skipped` counts skipped files."""
    groups: list[Group] = []
    places: dict[Key, tuple[int, int]] = {}
    segments: list[Segment] = []
    records: dict[Key, bytes] = {}
    for prefix, one in views:
        own = list(one.groups().values())
        documents = [document for group in own for document in group.documents]
        found = zip(documents, one.file_segment.tolist(), one.file_document.tolist(), strict=True)
        for key, segment, document in found:
            # A blob in several repositories is one document.
            if key is not None and segment != NO_SEGMENT:
                places.setdefault(key, (len(segments) + segment, document))
        segments += one.segments
        records |= one.records
        groups += _below(prefix, own, builder) if prefix else own
    arrays, meta = view.build(groups, places, [""] * len(segments), tree, skipped, True)
    joined = View(arrays, meta, segments)
    joined.records = records
    joined.scanned = sum(one.scanned for _, one in views)
    joined.uncovered = sum(one.uncovered for _, one in views)
    joined.without_words = sum(one.without_words for _, one in views)
    return joined


def _below(prefix: bytes, groups: Sequence[Group], builder: DocumentBuilder) -> Iterator[Group]:
    """Return the groups with prefixed paths."""
    files = {
        group.key: [
            (prefix + path, key[1] or None if key is not None else None, key)
            for path, key in zip(group.paths, group.documents, strict=True)
        ]
        for group in groups
    }
    return make_groups(files, builder)
