"""State of one question in one tree: the ranked rows, and access to records and texts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property

from ctx.errors import Damaged
from ctx.ranking.corpus import Corpus
from ctx.ranking.explain import Explained
from ctx.ranking.query import Query
from ctx.ranking.signals import Signals, read_signals
from ctx.search.dependencies.edges import Dependencies
from ctx.storage.records import Record, decode_record
from ctx.storage.views.segments import Key, Records
from ctx.text.contents import to_text


class Case:
    """A question in a tree. `query` is adapted to it; `explained` are its ranked rows, best first."""

    def __init__(
        self,
        corpus: Corpus,
        query: Query,
        text: str,
        explained: Sequence[Explained],
        records: Records,
        read: Callable[[bytes], bytes],
        ranked_with: str | None = None,
    ) -> None:
        self.corpus = corpus
        self.query = query
        self.text = text
        self.ranked_with = ranked_with
        self.by_file: dict[int, list[Explained]] = {}
        for one in explained:
            self.by_file.setdefault(one.hit.file, []).append(one)
        self._records = records
        self._read = read
        self._blobs: dict[bytes, bytes | None] = {}
        self.dependencies = Dependencies(corpus, read, records)

    @cached_property
    def signals(self) -> Signals:
        """Signals of all rows of the tree, including rows that were not ranked."""
        return read_signals(self.corpus, self.query)

    def key(self, file: int) -> Key:
        """Return the blob id and language of an indexed file."""
        return self.corpus.key(int(self.corpus.file_document[file]))

    def record(self, file: int) -> Record:
        """Return the record (chunks) of a file. Raises `Damaged`."""
        return decode_record(self._records(self.corpus.view.cluster_of(file), self.key(file)))

    def text_of(self, file: int, start: int, end: int) -> str | None:
        """Return the text between two offsets, or None if the blob is missing or damaged."""
        oid = self.key(file)[0]
        if oid not in self._blobs:
            try:
                self._blobs[oid] = self._read(oid)
            except (KeyError, Damaged):
                self._blobs[oid] = None
        blob = self._blobs[oid]
        return None if blob is None else to_text(blob, start, end)
