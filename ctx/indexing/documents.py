"""Turn blobs into documents: chunk, count terms, embed. Batched so that numpy can vectorize."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import blake2b
from itertools import accumulate, pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ctx.chunking import chunk
from ctx.chunking.normalise import embedded_text, without_noise
from ctx.errors import BlobsMissing, Damaged
from ctx.git.repository import Repository
from ctx.models.static_embedding import StaticEmbedding
from ctx.storage.clusters import Document
from ctx.storage.records import Record, decode_record, encode_record, stored_kinds, summarize
from ctx.storage.views import postings
from ctx.storage.views.segments import Key, SegmentPart
from ctx.text.contents import MAX_SIZE, MISSING, TOO_LARGE, content_skip, decode, to_text
from ctx.text.pluralize import pluralize_with
from ctx.text.terms import DEFINITION
from ctx.text.vocabulary import Counts, Vocabulary, exact_names
from ctx.types import Chunk

_PART_BYTES = 1 << 18
"""Bytes of text counted at once; counting needs sixteen bytes of arrays for each byte."""
_NAMES = 1
"""Field number of names: after the texts, before the symbols."""


class Source(NamedTuple):
    """A chunked document that is not yet counted. The chunks' offsets refer to `text`."""

    key: Key
    text: bytes
    chunks: list[Chunk]
    record: bytes


class DocumentBuilder:
    """Builder of documents in batches; its vocabulary is kept between batches."""

    def __init__(self, repository: Repository, embedder: StaticEmbedding) -> None:
        self.repository = repository
        self._embedder = embedder
        self._vocabulary = Vocabulary(embedder.row)

    def chunked(self, keys: Sequence[Key]) -> Iterator[Source | str]:
        """Read and chunk blobs; yield for each, in order, its source or the reason to skip it."""
        sizes = self.repository.blob_sizes([oid for oid, _ in keys])
        reasons = list(map(_reason_by_size, sizes))
        contents = self.repository.read_blobs(
            [oid for (oid, _), reason in zip(keys, reasons, strict=True) if reason is None]
        )
        for key, reason in zip(keys, reasons, strict=True):
            blob = None if reason else next(contents)
            yield reason or (MISSING if blob is None else _chunked(key, blob))

    def read(self, keys: Sequence[Key], budget: int) -> Iterator[tuple[Key, bytes | str]]:
        """Yield blobs until `budget` bytes are read, or the reason to skip a blob."""
        chosen = []
        for key, size in zip(keys, self.repository.blob_sizes([oid for oid, _ in keys]), strict=True):
            if reason := _reason_by_size(size):
                yield key, reason
            elif size is not None and size <= budget:
                budget -= size
                chosen.append(key)
        for key, blob in zip(chosen, self.repository.read_blobs([oid for oid, _ in chosen]), strict=True):
            yield key, MISSING if blob is None else blob

    def rechunked(self, documents: Mapping[Key, Document]) -> Iterator[Source]:
        """Yield the sources of stored documents without parsing.

        Raises `BlobsMissing` if a blob is not in this clone, and `Damaged` if one has another size.
        """
        oids = [oid for oid, _ in documents]
        if missing := self.repository.blob_sizes(oids).count(None):
            # In a partial clone, `fetch` brings clusters without their blobs.
            raise BlobsMissing(
                pluralize_with(missing, "file", "of this tree is", "of this tree are")
                + " not in this clone, so words cannot be counted: `git ctx index --fetch` gets them"
            )
        blobs = self.repository.read_blobs(oids)
        for (key, document), blob in zip(documents.items(), blobs, strict=True):
            decoded = decode_record(document.record)
            if blob is None or len(blob) != decoded.size:
                raise Damaged("a cluster does not describe the blob that it names")
            text, place = decode(blob)
            # Positions are offsets in the blob, chunks need offsets in the text. Rare, so chunk again.
            chunks = chunk(text, key[1] or None) if place is not None else _chunks(decoded)
            yield Source(key, text, chunks, document.record)

    def without_text(self, documents: Mapping[Key, Document]) -> Iterator[Source]:
        """Yield sources of documents of which the text is not here: symbols and names, no words.

        Raises `Damaged`.
        """
        for key, document in documents.items():
            chunks = [one._replace(start=0, end=0) for one in _chunks(decode_record(document.record))]
            yield Source(key, b"", chunks, document.record)

    def parts(
        self, sources: Iterable[Source], stored: Mapping[Key, Document] | None = None
    ) -> Iterator[tuple[list[Source], SegmentPart]]:
        """Yield parts of about _PART_BYTES of text, each with its sources; `stored` is that of `part`."""
        batch: list[Source] = []
        size = 0
        for source in sources:
            batch.append(source)
            size += len(source.text) or summarize(source.record).size
            if size >= _PART_BYTES:
                yield batch, self.part(batch, stored)
                batch, size = [], 0
        if batch:
            yield batch, self.part(batch, stored)

    def part(self, sources: Sequence[Source], stored: Mapping[Key, Document] | None = None) -> SegmentPart:
        """Count the terms of documents; embed their chunks, or take the vectors of `stored` documents."""
        chunks = [piece for source in sources for piece in source.chunks]
        names = [" ".join(piece.names).encode("utf-8", "surrogatepass") for piece in chunks]
        # A method is also found by the name of its class, which its own text rarely has.
        symbols = [piece.symbol.encode("utf-8", "surrogatepass") for piece in chunks]
        texts_read = [without_noise(source.text, source.key[1] or None) for source in sources]
        buffer, places = _joined([*texts_read, *names, *symbols])
        bounds = [
            (base + piece.start, base + piece.end)
            for (base, _), source in zip(places, sources, strict=False)
            for piece in source.chunks
        ]
        # One pass over the chunks' texts, the names that they define and their symbols.
        reading = self._vocabulary.read(buffer, bounds + places[len(sources) :])

        if stored is None:
            bits = self._embedder.embed_documents(_first(reading.rows, len(chunks)), len(chunks))
        else:
            vectors = b"".join(stored[source.key].vectors for source in sources)
            bits = np.frombuffer(vectors, dtype=np.uint8).reshape(len(chunks), -1)
        return SegmentPart(
            [source.key for source in sources],
            [len(source.chunks) for source in sources],
            bits,
            reading.lengths[: len(chunks)],
            np.frombuffer(b"".join(stored_kinds(source.chunks) for source in sources), dtype=np.uint8),
            _packed(reading.terms, exact_names(*_joined(names)), len(chunks)),
        )

    def paths(self, paths: Sequence[bytes]) -> tuple[Counts, npt.NDArray[np.uint8]]:
        """Return the terms of each path without its last extension, and vectors (n, vector bytes) uint8."""
        reading = self._vocabulary.read(*_joined([without_extension(path) for path in paths]))
        return reading.terms, self._embedder.embed_documents(reading.rows, len(paths))


def _first(counts: Counts, texts: int) -> Counts:
    """Return the counts of the first `texts` texts of a batch."""
    end = int(np.searchsorted(counts.text, texts))
    return Counts(counts.text[:end], counts.word[:end], counts.times[:end])


def _packed(terms: Counts, exact: Counts, chunks: int) -> npt.NDArray[np.uint64]:
    """Return packed postings of `chunks` texts, then their names, then their symbols."""
    field, row = np.divmod(terms.text, chunks) if chunks else (terms.text, terms.text)
    word = np.where(field == _NAMES, terms.word ^ DEFINITION, terms.word)
    return np.concatenate(
        [
            postings.pack(word, row, terms.times),
            postings.pack(exact.word ^ DEFINITION, exact.text, exact.times),
        ]
    )


def _joined(lines: Sequence[bytes]) -> tuple[bytes, list[tuple[int, int]]]:
    """Return the lines as one text, and the byte range of each in it."""
    ends = list(accumulate((len(line) + 1 for line in lines), initial=0))
    return b"\n".join(lines), [(start, end - 1) for start, end in pairwise(ends)]


def _reason_by_size(size: int | None) -> str | None:
    return MISSING if size is None else TOO_LARGE if size > MAX_SIZE else None


def _chunks(record: Record) -> list[Chunk]:
    fields = zip(record.positions, record.kinds, record.symbols, record.names, record.tests, strict=True)
    return [
        Chunk(position.start, position.end, kind, symbol, tuple(names), test)
        for position, kind, symbol, names, test in fields
    ]


def _chunked(key: Key, blob: bytes) -> Source | str:
    reason = content_skip(blob, key[1] or None)
    if reason is not None:
        return reason
    text, place = decode(blob)
    chunks = chunk(text, key[1] or None)
    return Source(key, text, chunks, encode_record(text, chunks, len(blob), place))


def without_extension(path: bytes) -> bytes:
    """Return a path up to the last dot of its file name; a leading dot does not count."""
    dot = path.rfind(b".")
    return path[:dot] if dot > path.rfind(b"/") + 1 else path


def documents_of(sources: Sequence[Source], part: SegmentPart) -> dict[Key, Document]:
    """Return the documents to store in clusters, for a part built from these sources."""
    vectors = part.bits.tobytes()
    width = part.bits.shape[1]
    found: dict[Key, Document] = {}
    at = 0
    for source in sources:
        end = at + len(source.chunks)
        hashes = b"".join(
            blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
            for text in _embedded_texts(source)
        )
        found[source.key] = Document(source.record, hashes, vectors[at * width : end * width])
        at = end
    return found


def _embedded_texts(source: Source) -> list[str]:
    return [
        embedded_text(to_text(source.text, piece.start, piece.end), source.key[1] or None)
        for piece in source.chunks
    ]
