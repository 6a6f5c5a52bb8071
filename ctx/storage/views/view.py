"""Views: the files of one tree, and the segments that hold their documents.

Files are grouped by cluster in manifest order, so that the view of the next commit can copy unchanged groups.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ctx.errors import Damaged, Decoding
from ctx.storage.arrays import ANY, Arrays, are_ends, expect
from ctx.storage.views.paths import LEGACY, outdated
from ctx.storage.views.segments import Key, Segment
from ctx.text.runs import HASH_BITS

FORMAT = 1
_MOST_TERMS = 255
_TERM_BYTES = -(-HASH_BITS // 8)
_ARRAYS = {
    "cluster_key": ("|u1", (20,)),
    "cluster_end": ("<u4", ()),
    "path": ("|u1", ()),
    "path_end": ("<u4", ()),
    "file_segment": ("<u2", ()),
    "file_document": ("<u4", ()),
    "file_flags": ("|u1", ()),
    "path_vector": ("|u1", (ANY,)),
    "path_term": ("|u1", (_TERM_BYTES,)),
    "path_term_count": ("|u1", ()),
}
NO_SEGMENT = 0xFFFF
"""Segment number of files that are not indexed because of their content."""


class Group(NamedTuple):
    """The files of one cluster; columns are in the order of its members.

    `flags` are as in `ctx.storage.views.paths`, `vectors` is (n, vector bytes) uint8, `terms` holds the
    36-bit hashes of each path's terms. A document is None if the file is not indexed because of its content.
    """

    key: bytes
    paths: list[bytes]
    documents: list[Key | None]
    flags: npt.NDArray[np.uint8]
    vectors: npt.NDArray[np.uint8]
    terms: list[npt.NDArray[np.int64]]


def build(
    groups: Sequence[Group],
    places: Mapping[Key, tuple[int, int]],
    names: Sequence[str],
    tree: bytes,
    skipped: Mapping[str, int],
    overlay: bool = False,
) -> tuple[Arrays, dict[str, Any]]:
    """Return the arrays and metadata of a view; `skipped` counts the files left out by reason.

    `places` maps each document to its segment number and its number in the segment; `names` are the file
    names of the segments.
    """
    nowhere = (NO_SEGMENT, 0)
    found = [
        nowhere if document is None else places[document] for group in groups for document in group.documents
    ]
    paths = [path for group in groups for path in group.paths]
    terms = [term[:_MOST_TERMS] for group in groups for term in group.terms]
    arrays: Arrays = {
        "cluster_key": np.frombuffer(b"".join(group.key for group in groups), dtype=np.uint8).reshape(-1, 20),
        "cluster_end": np.cumsum([len(group.paths) for group in groups]).astype("<u4"),
        "path": np.frombuffer(b"".join(paths), dtype=np.uint8),
        "path_end": np.cumsum([len(path) for path in paths]).astype("<u4"),
        "file_segment": np.array([segment for segment, _ in found], dtype="<u2"),
        "file_document": np.array([document for _, document in found], dtype="<u4"),
        "file_flags": np.concatenate([group.flags for group in groups] or [np.zeros(0, np.uint8)]),
        "path_vector": np.concatenate([group.vectors for group in groups] or [np.zeros((0, 1), np.uint8)]),
        "path_term": _octets(np.concatenate(terms or [np.zeros(0, np.int64)])),
        "path_term_count": np.minimum([len(term) for term in terms], _MOST_TERMS).astype(np.uint8),
    }
    return arrays, {
        "format": FORMAT,
        "segments": list(names),
        "tree": tree,
        "skipped": dict(skipped),
        "overlay": overlay,
    }


class View:
    """A view over its segments; all arrays over files are in manifest order."""

    @Decoding("a view")
    def __init__(self, arrays: Arrays, meta: dict[str, Any], segments: Sequence[Segment]) -> None:
        expect(arrays, _ARRAYS)
        self.tree: bytes = meta["tree"]
        self.names: list[str] = meta["segments"]
        self.skipped: dict[str, int] = meta["skipped"]
        self.is_overlay: bool = meta["overlay"]
        """True if the tree is of uncommitted files, which have no snapshot."""
        self.cluster_keys = arrays["cluster_key"]
        self.cluster_end = arrays["cluster_end"]
        self.file_segment: npt.NDArray[np.uint16] = arrays["file_segment"]
        self.file_document: npt.NDArray[np.uint32] = arrays["file_document"]
        self._flags: npt.NDArray[np.uint8] = arrays["file_flags"]
        self.path_vectors: npt.NDArray[np.uint8] = arrays["path_vector"]
        self.path_terms = _numbers(arrays["path_term"])
        self.path_term_end = np.cumsum(arrays["path_term_count"], dtype=np.uint32)
        self._path = arrays["path"].tobytes()
        self._path_end = arrays["path_end"]
        if not isinstance(self.tree, bytes) or not isinstance(self.skipped, dict):
            raise Damaged("the metadata of a view has a value of the wrong type")
        if any(not isinstance(count, int) for count in self.skipped.values()):
            raise Damaged("the counts of skipped files in a view are not integers")
        self.segments = list(segments)
        self.corpus: Any = None
        """The view made ready for scoring (`ctx.search.hits.corpus_of`); None until it is searched."""
        self.records: Mapping[Key, bytes] = {}
        """Records of documents whose clusters are not stored, in a view of reused rows."""
        self.scanned = self.uncovered = self.without_words = 0
        """Numbers of files scanned for this search only, of files not searched, and of files known by their
        symbols, paths and vectors alone."""
        self.files = len(self.file_segment)
        live = self.file_segment != NO_SEGMENT
        if meta.get("format") != FORMAT or not (
            len(self._path_end) == len(self.file_document) == len(self._flags) == self.files
            and len(self.path_vectors) == len(self.path_term_end) == self.files
            and int(self.path_term_end[-1] if self.files else 0) == len(self.path_terms)
            and bool((self.file_segment[live] < len(self.segments)).all())
            and are_ends(self._path_end, len(self._path))
            and len(self.cluster_keys) == len(self.cluster_end)
            and are_ends(self.cluster_end, self.files)
        ):
            raise Damaged("the arrays of a view are inconsistent")
        widths = {segment.bits.shape[1] for segment in self.segments}
        if live.any() and widths != {self.path_vectors.shape[1]}:
            raise Damaged("the vectors of a view and of its segments differ in length")
        for number, segment in enumerate(self.segments):
            if int(self.file_document[self.file_segment == number].max(initial=0)) >= segment.documents:
                raise Damaged("a view names a document that is not in its segment")

    @cached_property
    def indexed_files(self) -> int:
        """Number of indexed files."""
        return int((self.file_segment != NO_SEGMENT).sum())

    @cached_property
    def chunks(self) -> int:
        """Number of chunks of all files, including copies."""
        count = 0
        for number, segment in enumerate(self.segments):
            rows = np.diff(segment.document_end, prepend=np.uint32(0))
            count += int(rows[self.file_document[self.file_segment == number]].sum())
        return count

    @cached_property
    def file_flags(self) -> npt.NDArray[np.uint8]:
        """Flags of each file, (files,) uint8, by path (`views.paths`); LEGACY also by other paths."""
        return self._flags | np.where(outdated(self._path, self._path_end), LEGACY, 0).astype(np.uint8)

    @cached_property
    def paths(self) -> list[bytes]:
        """Path of each file."""
        ends = self._path_end.tolist()
        return [self._path[start:end] for start, end in zip([0, *ends], ends, strict=False)]

    def path(self, file: int) -> bytes:
        """Return the path of one file without decoding all paths."""
        start = int(self._path_end[file - 1]) if file else 0
        return self._path[start : int(self._path_end[file])]

    def groups(self) -> dict[bytes, Group]:
        """Return the files by cluster key, to build the next view from."""
        found: dict[bytes, Group] = {}
        term_ends = self.path_term_end.tolist()
        documents: list[Key | None] = [
            None if segment == NO_SEGMENT else self.segments[segment].key(document)
            for segment, document in zip(self.file_segment.tolist(), self.file_document.tolist(), strict=True)
        ]
        start = 0
        for key, end in zip(self.cluster_keys, self.cluster_end.tolist(), strict=True):
            bounds = [term_ends[start - 1] if start else 0, *term_ends[start:end]]
            found[key.tobytes()] = Group(
                key.tobytes(),
                self.paths[start:end],
                documents[start:end],
                self._flags[start:end],
                self.path_vectors[start:end],
                [self.path_terms[a:b] for a, b in pairwise(bounds)],
            )
            start = end
        return found

    def live_documents(self, segment: int) -> npt.NDArray[np.bool_]:
        """Return a mask of the documents of a segment that are in the tree, (documents,) bool."""
        live = np.zeros(self.segments[segment].documents, dtype=bool)
        live[self.file_document[self.file_segment == segment]] = True
        return live

    def clusters_of(self, keys: Sequence[Key]) -> dict[Key, bytes]:
        """Return the key of a cluster that contains each document, for documents in the tree."""
        found: dict[Key, bytes] = {}
        for number, segment in enumerate(self.segments):
            here = np.flatnonzero(self.file_segment == number)
            order = np.argsort(self.file_document[here], kind="stable")
            here = here[order]
            documents = self.file_document[here]
            places = segment.find(keys)
            for key, place in zip(keys, places.tolist(), strict=True):
                if place < 0 or key in found:
                    continue
                at = int(np.searchsorted(documents, place))
                if at < len(documents) and documents[at] == place:
                    found[key] = self.cluster_of(int(here[at]))
        return found

    def cluster_of(self, file: int) -> bytes:
        """Return the key of the cluster of a file."""
        key: bytes = self.cluster_keys[bisect_right(self.cluster_end, file)].tobytes()
        return key


def _octets(hashes: npt.NDArray[np.int64]) -> npt.NDArray[np.uint8]:
    """Return hashes of HASH_BITS as (n, 5) uint8, lowest byte first."""
    return np.ascontiguousarray(hashes.astype("<i8").view(np.uint8).reshape(-1, 8)[:, :_TERM_BYTES])


def _numbers(octets: npt.NDArray[np.uint8]) -> npt.NDArray[np.int64]:
    padded = np.zeros((len(octets), 8), dtype=np.uint8)
    padded[:, :_TERM_BYTES] = octets
    return padded.view("<i8").reshape(-1).astype(np.int64)
