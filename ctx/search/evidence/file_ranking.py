"""The ranked files of one question in one tree, with access to their records and texts."""

from __future__ import annotations

from functools import cached_property, partial
from typing import TYPE_CHECKING

from ctx.errors import Damaged
from ctx.ranking.explain import Explained, explain
from ctx.ranking.query import Query, prepare
from ctx.ranking.ranker import adapt
from ctx.ranking.signals import Signals, read_signals
from ctx.search.hits import corpus_of
from ctx.search.opening import OpenedTree
from ctx.storage.arrays import Bools
from ctx.storage.records import Record, decode_record
from ctx.storage.views.segments import Key
from ctx.text.contents import to_text

if TYPE_CHECKING:
    from ctx.search.session import SearchSession


class FileRanking:
    """The best rows for a question in an opened tree, best first, by file.

    `query` is adapted to the tree.
    """

    def __init__(
        self,
        session: SearchSession,
        opened: OpenedTree,
        text: str,
        rows: int,
        allowed: Bools | None = None,
        query: Query | None = None,
        most_files: int | None = None,
    ) -> None:
        """Rank the best `rows` rows among the allowed files.

        `allowed` is (files,) bool, or None for all files. `query` defaults to the query made from `text`;
        `most_files` as in `explain`.
        """
        corpus, tuning = corpus_of(opened.view), session.tuning
        query = prepare(text) if query is None else query
        self.corpus = corpus
        self.query = adapt(query, corpus, tuning)
        self.text = text
        self.ranked_with = tuning.name
        self.by_file: dict[int, list[Explained]] = {}
        for one in explain(corpus, query, allowed, rows, tuning=tuning, most_files=most_files):
            self.by_file.setdefault(one.hit.file, []).append(one)
        self.dependencies = session.dependencies(opened.view)
        self._records = partial(session.record, opened.view)
        self._read = session.reader.read_blob
        self._blobs: dict[bytes, bytes | None] = {}

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
