"""From blobs to documents: chunk, count words, embed. Many at once, because numpy likes it so."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from hashlib import blake2b
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from ctx import files
from ctx.chunking import chunk
from ctx.chunking.normalise import embedded_text, without_noise
from ctx.clusters import Document
from ctx.embed.protocol import Batch, Embedder
from ctx.records import TEST, decode_record, encode_record
from ctx.values import KINDS, Chunk
from ctx.views import postings
from ctx.views.segments import Key, Part
from ctx.words.terms import DEFINITION, TEXT, split_words, term_hash, terms_of, tokens
from ctx.words.vocabulary import Counts, Vocabulary, add_up

_KIND_NUMBERS = {kind: number for number, kind in enumerate(KINDS)}
_NAME_TERMS_KEPT = 1 << 16


class Source(NamedTuple):
    """A document that was cut but not yet counted. `text` is what the chunks' offsets refer to."""

    key: Key
    text: bytes
    chunks: list[Chunk]
    record: bytes


class Blobs(Protocol):
    """The part of a repository that gives blobs (`ctx.git.repository`)."""

    def blob_sizes(self, oids: Sequence[bytes]) -> list[int | None]: ...
    def read_blobs(self, oids: Sequence[bytes]) -> Iterator[bytes | None]: ...


class Maker:
    """Makes documents in batches; keeps what it learns about words from one batch to the next."""

    def __init__(self, blobs: Blobs, embedder: Embedder) -> None:
        self._blobs = blobs
        self._embedder = embedder
        self._vocabulary = Vocabulary(embedder.row)
        self._names: dict[tuple[str, bytes], list[int]] = {}

    def cut(self, keys: Sequence[Key]) -> Iterator[Source | str]:
        """Read and chunk blobs; for each, in order, what came of it or why its content keeps it out."""
        sizes = self._blobs.blob_sizes([oid for oid, _ in keys])
        small = [key[0] for key, size in zip(keys, sizes, strict=True) if _is_small(size)]
        contents = self._blobs.read_blobs(small)
        for key, size in zip(keys, sizes, strict=True):
            if size is None:
                yield files.MISSING
            elif not _is_small(size):
                yield files.TOO_LARGE
            else:
                blob = next(contents)
                yield files.MISSING if blob is None else _cut(key, blob)

    def recut(self, keys: Sequence[Key], records: Sequence[bytes]) -> Iterator[Source | None]:
        """What `cut` gave when these records were made, without parsing; None where the blob is gone or other."""
        contents = self._blobs.read_blobs([oid for oid, _ in keys])
        for key, record, blob in zip(keys, records, contents, strict=True):
            yield None if blob is None else _recut(key, record, blob)

    def part(self, sources: Sequence[Source], vectors: Sequence[bytes] | None = None) -> Part:
        """Count the words of documents and embed their chunks, unless their vectors are known already."""
        buffer = b"\n".join(without_noise(source.text, source.key[1] or None) for source in sources)
        bounds: list[tuple[int, int]] = []
        base = 0
        for source in sources:
            bounds += [(base + piece.start, base + piece.end) for piece in source.chunks]
            base += len(source.text) + 1
        counts, lengths = self._vocabulary.count(buffer, bounds)
        chunks = [piece for source in sources for piece in source.chunks]

        def texts() -> list[str]:
            return [
                embedded_text(files.to_text(source.text, piece.start, piece.end), source.key[1] or None)
                for source in sources
                for piece in source.chunks
            ]

        if vectors is None:
            batch = Batch(len(chunks), self._vocabulary.model_rows(counts), texts)
            bits = self._embedder.embed_documents(batch)
        else:
            bits = np.frombuffer(b"".join(vectors), dtype=np.uint8).reshape(len(chunks), -1)
        hashes = b"".join(blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest() for text in texts())
        return Part(
            [source.key for source in sources],
            [len(source.chunks) for source in sources],
            [source.record for source in sources],
            bits,
            np.frombuffer(hashes, dtype=np.uint8).reshape(-1, 8),
            lengths,
            np.array(
                [_KIND_NUMBERS[piece.kind] | (TEST if piece.is_test else 0) for piece in chunks], dtype=np.uint8
            ),
            self._packed(counts, chunks),
        )

    def path_vectors(self, paths: Sequence[bytes]) -> npt.NDArray[np.uint8]:
        """The stored vector of each path, (n, vector bytes) uint8."""
        counts, _ = self._count_paths(paths)
        return self._embedder.embed_documents(
            Batch(
                len(paths),
                self._vocabulary.model_rows(counts),
                lambda: [path.decode("utf-8", "replace") for path in paths],
            )
        )

    def path_terms(self, paths: Sequence[bytes]) -> Counts:
        """The terms of each path."""
        counts, _ = self._count_paths(paths)
        return self._vocabulary.terms(counts)

    def _count_paths(self, paths: Sequence[bytes]) -> tuple[Counts, npt.NDArray[np.int64]]:
        stems = [without_extension(path) for path in paths]
        ends = np.cumsum([len(stem) + 1 for stem in stems]).tolist()
        bounds = [(end - 1 - len(stem), end - 1) for stem, end in zip(stems, ends, strict=True)]
        return self._vocabulary.count(b"\n".join(stems), bounds)

    def _packed(self, counts: Counts, chunks: Sequence[Chunk]) -> npt.NDArray[np.uint64]:
        text = self._vocabulary.terms(counts)
        rows: list[int] = []
        terms: list[int] = []
        for row, piece in enumerate(chunks):
            for name in piece.names:
                found = self._name_terms(name, DEFINITION)
                terms += found
                rows += [row] * len(found)
            # A method is also found by the name of its class, which its own text rarely has.
            if piece.symbol:
                found = self._name_terms(piece.symbol, TEXT)
                terms += found
                rows += [row] * len(found)
        named = np.array(terms, dtype=np.int64)
        both = add_up(
            np.concatenate([text.text, np.array(rows, dtype=np.int64)]),
            np.concatenate([text.word, named]),
            np.concatenate([text.count, np.ones(len(named), dtype=np.int64)]),
        )
        return postings.pack(both.word, both.text, both.count)

    def _name_terms(self, name: str, field: bytes) -> list[int]:
        found = self._names.get((name, field))
        if found is None:
            if len(self._names) > _NAME_TERMS_KEPT:
                self._names.clear()
            words = (terms_of(split_words(token)) for token in tokens(name))
            found = [term_hash(term, field) for term in dict.fromkeys(term for group in words for term in group)]
            self._names[name, field] = found
        return found


def _is_small(size: int | None) -> bool:
    return size is not None and size <= files.MAX_SIZE


def _cut(key: Key, blob: bytes) -> Source | str:
    reason = files.content_skip(blob, key[1] or None)
    if reason is not None:
        return reason
    text, place = files.decode(blob)
    chunks = chunk(text, key[1] or None)
    return Source(key, text, chunks, encode_record(text, chunks, len(blob), place))


def _recut(key: Key, record: bytes, blob: bytes) -> Source | None:
    decoded = decode_record(record)
    text, place = files.decode(blob)
    if len(blob) != decoded.size:
        return None
    if place is not None:
        # Positions count bytes of the blob, chunks need those of the text: cut anew, it is rare.
        return Source(key, text, chunk(text, key[1] or None), record)
    fields = zip(
        decoded.positions, decoded.kinds, decoded.symbols, decoded.names, decoded.tests, strict=True
    )
    chunks = [
        Chunk(position.start, position.end, kind, symbol, tuple(names), test)
        for position, kind, symbol, names, test in fields
    ]
    return Source(key, text, chunks, record)


def without_extension(path: bytes) -> bytes:
    """A path up to the last dot of its file name, if that is not the first letter."""
    dot = path.rfind(b".")
    return path[:dot] if dot > path.rfind(b"/") + 1 else path


def documents_of(part: Part) -> dict[Key, Document]:
    """What clusters store of the documents of a part."""
    vectors, hashes = part.bits.tobytes(), part.hashes.tobytes()
    width = part.bits.shape[1] if part.bits.ndim == 2 else 0
    found: dict[Key, Document] = {}
    at = 0
    for key, rows, record in zip(part.documents, part.rows, part.records, strict=True):
        found[key] = Document(record, hashes[at * 8 : (at + rows) * 8], vectors[at * width : (at + rows) * width])
        at += rows
    return found
