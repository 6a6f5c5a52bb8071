"""Turn blobs into documents: chunk, count terms, embed. Batched so that numpy can vectorize."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from hashlib import blake2b
from itertools import accumulate, pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ctx.chunking import chunk
from ctx.chunking.normalise import embedded_text, without_noise
from ctx.git.repository import Repository
from ctx.models.static_embedding import StaticEmbedding
from ctx.storage.clusters import Document
from ctx.storage.records import TEST, decode_record, encode_record
from ctx.storage.views import postings
from ctx.storage.views.segments import Key, Part
from ctx.text.contents import MAX_SIZE, MISSING, TOO_LARGE, content_skip, decode, to_text
from ctx.text.terms import DEFINITION
from ctx.text.vocabulary import Counts, Vocabulary, exact_names
from ctx.types import KINDS, Chunk

_NAMES = 1
"""Field number of names: after the texts, before the symbols."""
_KIND_NUMBERS = {kind: number for number, kind in enumerate(KINDS)}


class Source(NamedTuple):
    """A chunked document that is not yet counted. The chunks' offsets refer to `text`."""

    key: Key
    text: bytes
    chunks: list[Chunk]
    record: bytes


class Maker:
    """Builder of documents in batches; its vocabulary is kept between batches."""

    def __init__(self, repository: Repository, embedder: StaticEmbedding) -> None:
        self._repository = repository
        self._embedder = embedder
        self._vocabulary = Vocabulary(embedder.row)

    def cut(self, keys: Sequence[Key]) -> Iterator[Source | str]:
        """Read and chunk blobs; yield for each, in order, its source or the reason to skip it."""
        sizes = self._repository.blob_sizes([oid for oid, _ in keys])
        small = [key[0] for key, size in zip(keys, sizes, strict=True) if _is_small(size)]
        contents = self._repository.read_blobs(small)
        for key, size in zip(keys, sizes, strict=True):
            if size is None:
                yield MISSING
            elif not _is_small(size):
                yield TOO_LARGE
            else:
                blob = next(contents)
                yield MISSING if blob is None else _cut(key, blob)

    def read(self, keys: Sequence[Key], budget: int) -> Iterator[tuple[Key, bytes | str]]:
        """Yield blobs until `budget` bytes are read, or the reason to skip a blob."""
        sizes = self._repository.blob_sizes([oid for oid, _ in keys])
        chosen = []
        for key, size in zip(keys, sizes, strict=True):
            if size is None or not _is_small(size):
                yield key, MISSING if size is None else TOO_LARGE
            elif size <= budget:
                budget -= size
                chosen.append(key)
        for key, blob in zip(chosen, self._repository.read_blobs([oid for oid, _ in chosen]), strict=True):
            yield key, MISSING if blob is None else blob

    def sizes(self, oids: Sequence[bytes]) -> list[int | None]:
        """Return the sizes of blobs in bytes, None for one that is missing."""
        return self._repository.blob_sizes(oids)

    def absent(self, keys: Sequence[Key]) -> int:
        """Return the number of missing blobs among these."""
        return self._repository.blob_sizes([oid for oid, _ in keys]).count(None)

    def recut(self, keys: Sequence[Key], records: Sequence[bytes]) -> Iterator[Source | None]:
        """Yield the sources of these records without parsing; None for a missing or different blob."""
        contents = self._repository.read_blobs([oid for oid, _ in keys])
        for key, record, blob in zip(keys, records, contents, strict=True):
            yield None if blob is None else _recut(key, record, blob)

    def without_text(self, documents: Sequence[tuple[Key, Document]]) -> Part:
        """Make a part of documents of which the text is not here: symbols, names and vectors, no words.

        Raises `Damaged`.
        """
        sources = []
        for key, document in documents:
            decoded = decode_record(document.record)
            fields = zip(decoded.kinds, decoded.symbols, decoded.names, decoded.tests, strict=True)
            chunks = [Chunk(0, 0, kind, symbol, tuple(names), test) for kind, symbol, names, test in fields]
            sources.append(Source(key, b"", chunks, document.record))
        return self.part(sources, [document.vectors for _, document in documents])

    def part(self, sources: Sequence[Source], vectors: Sequence[bytes] | None = None) -> Part:
        """Count the terms of documents, and embed their chunks unless `vectors` are given."""
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

        if vectors is None:
            bits = self._embedder.embed_documents(_first(reading.rows, len(chunks)), len(chunks))
        else:
            bits = np.frombuffer(b"".join(vectors), dtype=np.uint8).reshape(len(chunks), -1)
        return Part(
            [source.key for source in sources],
            [len(source.chunks) for source in sources],
            bits,
            reading.lengths[: len(chunks)],
            np.array(
                [_KIND_NUMBERS[piece.kind] | (TEST if piece.is_test else 0) for piece in chunks],
                dtype=np.uint8,
            ),
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


def _is_small(size: int | None) -> bool:
    return size is not None and size <= MAX_SIZE


def _cut(key: Key, blob: bytes) -> Source | str:
    reason = content_skip(blob, key[1] or None)
    if reason is not None:
        return reason
    text, place = decode(blob)
    chunks = chunk(text, key[1] or None)
    return Source(key, text, chunks, encode_record(text, chunks, len(blob), place))


def _recut(key: Key, record: bytes, blob: bytes) -> Source | None:
    decoded = decode_record(record)
    text, place = decode(blob)
    if len(blob) != decoded.size:
        return None
    if place is not None:
        # Positions are offsets in the blob, chunks need offsets in the text. Rare, so chunk again.
        return Source(key, text, chunk(text, key[1] or None), record)
    fields = zip(decoded.positions, decoded.kinds, decoded.symbols, decoded.names, decoded.tests, strict=True)
    chunks = [
        Chunk(position.start, position.end, kind, symbol, tuple(names), test)
        for position, kind, symbol, names, test in fields
    ]
    return Source(key, text, chunks, record)


def without_extension(path: bytes) -> bytes:
    """Return a path up to the last dot of its file name; a leading dot does not count."""
    dot = path.rfind(b".")
    return path[:dot] if dot > path.rfind(b"/") + 1 else path


def documents_of(sources: Sequence[Source], part: Part) -> dict[Key, Document]:
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
