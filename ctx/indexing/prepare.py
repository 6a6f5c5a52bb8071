"""Building the view of a covered tree from its clusters, existing segments and, for new terms, the blobs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ctx.errors import BlobsMissing, Damaged
from ctx.indexing.documents import Maker, Source
from ctx.storage.cluster_store import ClusterStore
from ctx.storage.clusters import Document, Stored, document_key
from ctx.storage.views import segments, view
from ctx.storage.views.catalog import Catalog, Tips
from ctx.storage.views.paths import flags
from ctx.storage.views.segments import Key, Segment
from ctx.storage.views.view import Group, View
from ctx.text.contents import MISSING
from ctx.text.pluralize import pluralize_with

_PART_BYTES = 1 << 17
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
    maker: Maker,
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
    known |= groups_of(read, maker)
    groups = [known[key] for key in cluster_keys]
    located = locate(groups, base, catalog)
    if lacking := located.lacking():
        for group in groups:
            # A segment of the base view is lost: read its documents from their clusters.
            if any(key in lacking and key not in fresh for key in group.documents if key is not None):
                fresh |= clusters.stored(group.key).documents
        made = _recount({key: fresh[key] for key in lacking}, catalog, maker)
        located = Located.among(located.keys, [*located.used, *made])
    located = _merged(located, catalog)
    arrays, meta = view.build(
        groups, located.places(), [name for name, _ in located.used], tree, skipped, not committed
    )
    made_view = catalog.add_view(tree, arrays, meta, committed)
    catalog.prune(are_tips)
    return made_view


def known_groups(base: View | None) -> dict[bytes, Group]:
    """Return the files of a view by cluster key, without clusters whose blobs may have been missing."""
    if base is None:
        return {}
    found = base.groups()
    if MISSING not in base.skipped:
        return found
    return {key: group for key, group in found.items() if None not in group.documents}


def groups_of(clusters: dict[bytes, Stored], maker: Maker) -> dict[bytes, Group]:
    """Return the files of clusters by cluster key; all paths are embedded in one batch."""
    paths = [member.path for stored in clusters.values() for member in stored.members]
    terms, vectors = maker.paths(paths)
    ends = np.searchsorted(terms.text, np.arange(len(paths)), side="right").tolist()
    split = [terms.word[start:end] for start, end in pairwise([0, *ends])]
    groups: dict[bytes, Group] = {}
    start = 0
    for key, stored in clusters.items():
        end = start + len(stored.members)
        groups[key] = Group(
            key,
            paths[start:end],
            [
                None if skip is not None else document_key(member)
                for member, skip in zip(stored.members, stored.skips, strict=True)
            ],
            np.array([flags(member.path, member.language) for member in stored.members], dtype=np.uint8),
            vectors[start:end],
            split[start:end],
        )
        start = end
    return groups


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

    def lacking(self) -> dict[Key, None]:
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


def _recount(lacking: dict[Key, Document], catalog: Catalog, maker: Maker) -> list[tuple[str, Segment]]:
    """Return new segments for documents with stored clusters whose terms were never counted here."""
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
    if missing := maker.absent(list(lacking)):
        # In a partial clone, `fetch` brings clusters without their blobs.
        raise BlobsMissing(
            pluralize_with(missing, "file", "of this tree is", "of this tree are")
            + " not in this clone, so words cannot be counted: "
            "`git ctx index --fetch` gets them"
        )
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
