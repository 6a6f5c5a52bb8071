"""One view over a tree and its submodules, as if their files were part of the tree itself.

All files are ranked with common statistics, so their scores are comparable. Such a view stays in memory.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np

from ctx.indexing.documents import Maker
from ctx.storage.views import view
from ctx.storage.views.paths import flags
from ctx.storage.views.segments import Key, Segment
from ctx.storage.views.view import NO_SEGMENT, Group, View


def join_views(
    tree: bytes, views: Sequence[tuple[bytes, View]], skipped: Mapping[str, int], maker: Maker
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
        groups += _below(prefix, own, maker) if prefix else own
    arrays, meta = view.build(groups, places, [""] * len(segments), tree, skipped, True)
    joined = View(arrays, meta, segments)
    joined.records = records
    joined.scanned = sum(one.scanned for _, one in views)
    joined.uncovered = sum(one.uncovered for _, one in views)
    joined.without_words = sum(one.without_words for _, one in views)
    return joined


def _below(prefix: bytes, groups: Sequence[Group], maker: Maker) -> list[Group]:
    """Return the groups with prefixed paths, and the flags, terms and vectors of these paths."""
    paths = [prefix + path for group in groups for path in group.paths]
    terms, vectors = maker.paths(paths)
    ends = np.searchsorted(terms.text, np.arange(len(paths)), side="right").tolist()
    words = [terms.word[start:end] for start, end in pairwise([0, *ends])]
    moved = []
    start = 0
    for group in groups:
        end = start + len(group.paths)
        languages = [key[1] or None if key is not None else None for key in group.documents]
        own = paths[start:end]
        marks = [flags(path, language) for path, language in zip(own, languages, strict=True)]
        moved.append(
            group._replace(
                paths=own,
                flags=np.array(marks, dtype=np.uint8),
                vectors=vectors[start:end],
                terms=words[start:end],
            )
        )
        start = end
    return moved
