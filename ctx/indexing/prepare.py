"""Building the view of a covered tree from its clusters, existing segments and, for new terms, the blobs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ctx.indexing.documents import DocumentBuilder
from ctx.storage.cluster_store import ClusterStore
from ctx.storage.clusters import Document, StoredCluster, document_key
from ctx.storage.views import segments, view
from ctx.storage.views.catalog import Catalog, SegmentWriter, Tips
from ctx.storage.views.paths import flags
from ctx.storage.views.segments import Key, Segment
from ctx.storage.views.view import Group, View
from ctx.text.contents import MISSING

_SMALL_SEGMENTS = 4
"""Number of small segments of similar size that are merged into one."""
_SMALL = segments.TARGET_ROWS // 4
_GROWTH = 2


def prepare_view(
    tree: bytes,
    cluster_keys: Sequence[bytes],
    skipped: Mapping[str, int],
    clusters: ClusterStore,
    catalog: Catalog,
    builder: DocumentBuilder,
    are_tips: Tips,
    committed: bool = True,
) -> View:
    """Build and store the view of a tree.

    Raises `Damaged` if one of its clusters cannot be read, and `BlobsMissing`.
    """
    base = catalog.latest()
    known = known_groups(base)
    read = {key: clusters.stored(key) for key in cluster_keys if key not in known}
    fresh = {key: document for stored in read.values() for key, document in stored.documents.items()}
    known |= groups_of(read, builder)
    groups = [known[key] for key in cluster_keys]
    located = locate(groups, base, catalog)
    if missing := located.missing():
        for group in groups:
            # A segment of the base view is lost: read its documents from their clusters.
            if any(key in missing and key not in fresh for key in group.documents if key is not None):
                fresh |= clusters.stored(group.key).documents
        recounted = _recount({key: fresh[key] for key in missing}, catalog, builder)
        located = Located.among(located.keys, [*located.used, *recounted])
    located = _merged(located, catalog)
    arrays, meta = view.build(
        groups, located.places(), [name for name, _ in located.used], tree, skipped, not committed
    )
    added = catalog.add_view(tree, arrays, meta, committed)
    catalog.prune(are_tips)
    return added


def known_groups(base: View | None) -> dict[bytes, Group]:
    """Return the files of a view by cluster key, without clusters whose blobs may have been missing."""
    if base is None:
        return {}
    found = base.groups()
    if MISSING not in base.skipped:
        return found
    return {key: group for key, group in found.items() if None not in group.documents}


def groups_of(clusters: Mapping[bytes, StoredCluster], builder: DocumentBuilder) -> dict[bytes, Group]:
    """Return the files of clusters by cluster key."""
    files = {
        key: [
            (member.path, member.language, None if skip is not None else document_key(member))
            for member, skip in zip(stored.members, stored.skips, strict=True)
        ]
        for key, stored in clusters.items()
    }
    return {group.key: group for group in make_groups(files, builder)}


def make_groups(
    clusters: Mapping[bytes, Sequence[tuple[bytes, str | None, Key | None]]], builder: DocumentBuilder
) -> Iterator[Group]:
    """Yield the files of clusters, each given by path, language and document, by cluster key.

    All paths are embedded in one batch.
    """
    paths = [path for files in clusters.values() for path, _, _ in files]
    terms, vectors = builder.paths(paths)
    ends = np.searchsorted(terms.text, np.arange(len(paths)), side="right").tolist()
    split = [terms.word[start:end] for start, end in pairwise([0, *ends])]
    start = 0
    for key, files in clusters.items():
        end = start + len(files)
        yield Group(
            key,
            paths[start:end],
            [document for _, _, document in files],
            np.array([flags(path, language) for path, language, _ in files], dtype=np.uint8),
            vectors[start:end],
            split[start:end],
        )
        start = end


class Located(NamedTuple):
    """Locations of documents: for each key its index in `used` and that of the document, or -1."""

    keys: list[Key]
    used: list[tuple[str, Segment]]
    number: npt.NDArray[np.int64]
    document: npt.NDArray[np.int64]

    @classmethod
    def among(cls, keys: list[Key], candidates: Iterable[tuple[str, Segment]]) -> Located:
        """Search the candidates in order until all keys are found."""
        number = np.full(len(keys), -1, dtype=np.int64)
        document = np.full(len(keys), -1, dtype=np.int64)
        used: list[tuple[str, Segment]] = []
        left = np.arange(len(keys))
        for name, segment in candidates:
            if not len(left):
                break
            found = segment.find([keys[i] for i in left.tolist()])
            here = left[found >= 0]
            if len(here):
                number[here], document[here] = len(used), found[found >= 0]
                used.append((name, segment))
                left = left[found < 0]
        return cls(keys, used, number, document)

    def missing(self) -> dict[Key, None]:
        """Return the documents that no segment has."""
        return dict.fromkeys(self.keys[i] for i in np.flatnonzero(self.number < 0).tolist())

    def places(self) -> dict[Key, tuple[int, int]]:
        """Return (segment index, document index) by key."""
        return dict(
            zip(self.keys, zip(self.number.tolist(), self.document.tolist(), strict=True), strict=True)
        )


def locate(groups: Sequence[Group], base: View | None, catalog: Catalog) -> Located:
    """Return the locations of the documents of these files in segments."""
    keys = dict.fromkeys(key for group in groups for key in group.documents if key is not None)
    return Located.among(list(keys), _candidates(base, catalog))


def _candidates(base: View | None, catalog: Catalog) -> Iterator[tuple[str, Segment]]:
    """Yield the segments of the base view, which have most documents, then all others."""
    if base is not None:
        yield from zip(base.names, base.segments, strict=True)
    for name, segment in catalog.segments():
        if base is None or name not in base.names:
            yield name, segment


def _recount(
    documents: Mapping[Key, Document], catalog: Catalog, builder: DocumentBuilder
) -> list[tuple[str, Segment]]:
    """Return new segments for documents with stored clusters whose terms were never counted here."""
    writer = SegmentWriter(catalog.add_segment)
    writer.add(part for _, part in builder.parts(builder.rechunked(documents), documents))
    return [(name, catalog.segment(name)) for name in writer.flush()]


def _merged(located: Located, catalog: Catalog) -> Located:
    """Merge small segments of similar size, so that their number is logarithmic in the number of commits."""
    small = sorted(
        (number for number, (_, segment) in enumerate(located.used) if segment.rows < _SMALL),
        key=lambda number: located.used[number][1].rows,
    )
    taken: list[int] = []
    rows = 0
    for number in small:
        more = located.used[number][1].rows
        if (len(taken) >= _SMALL_SEGMENTS and more > _GROWTH * rows) or rows + more > segments.TARGET_ROWS:
            break
        taken.append(number)
        rows += more
    if len(taken) < _SMALL_SEGMENTS:
        return located
    parts = [
        located.used[number][1].part(located.document[located.number == number].tolist()) for number in taken
    ]
    name = catalog.add_segment(*segments.build(parts))
    rest = [pair for number, pair in enumerate(located.used) if number not in taken]
    return Located.among(located.keys, [*rest, (name, catalog.segment(name))])
