"""The payload of a cluster: structure and vectors of a few files, without words and without text.

Its bytes are a function of the cluster key alone. docs/format.md describes them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import msgpack

from ctx.errors import Damaged, Decoding
from ctx.storage.cluster_key import Member, cluster_key
from ctx.storage.descriptor import Descriptor
from ctx.storage.records import decode_record, summarize
from ctx.storage.views.segments import Key
from ctx.text.contents import MISSING

HASH_BYTES = 8
"""Bytes of the hash of a chunk's text, which identifies equal texts."""


class Document(NamedTuple):
    """A stored document: its record, the concatenated hashes of its chunks' texts, and their vectors."""

    record: bytes
    hashes: bytes
    vectors: bytes

    def text_hashes(self) -> list[bytes]:
        """Return the hash of each chunk's text."""
        return [self.hashes[at : at + HASH_BYTES] for at in range(0, len(self.hashes), HASH_BYTES)]


class StoredCluster(NamedTuple):
    """A decoded cluster. `skips` has for each member the reason to skip it by its content, or None.

    `of_members` has the document of each member, None if it is skipped. Members with the same blob have
    different documents if the model reads the path too (`Descriptor.by_member`).
    """

    members: tuple[Member, ...]
    skips: list[str | None]
    documents: dict[Key, Document]
    of_members: Sequence[Document | None] = ()


def contents(stored: StoredCluster) -> dict[Key, Document | str]:
    """Return for each blob of a cluster its document, or the reason to skip it by its content."""
    skipped = {
        document_key(member): skip
        for member, skip in zip(stored.members, stored.skips, strict=True)
        if skip is not None and skip != MISSING
    }
    return {**stored.documents, **skipped}


def document_key(member: Member) -> Key:
    """Return the key of a member's document; members with equal keys have equal documents."""
    return member.oid, member.language or ""


def encode_cluster(
    descriptor: str,
    members: Sequence[Member],
    skips: Sequence[str | None],
    documents: Mapping[Key, Document] | Sequence[Document],
) -> bytes:
    """Return the payload of a cluster; `documents` has one for every member that is not skipped.

    They are by key, or for models that read the path too (`Descriptor.by_member`), one for each such member.
    """
    if isinstance(documents, Mapping):
        used = (document_key(member) for member, skip in zip(members, skips, strict=True) if skip is None)
        documents = [documents[key] for key in dict.fromkeys(used)]
    packed: bytes = msgpack.packb(
        (
            descriptor,
            [
                (member.path, member.mode, member.oid, member.language, skip)
                for member, skip in zip(members, skips, strict=True)
            ],
            [document.record for document in documents],
            b"".join(document.hashes for document in documents),
            b"".join(document.vectors for document in documents),
        )
    )
    return packed


@Decoding("a cluster")
def decode_cluster(
    payload: bytes, descriptor: Descriptor, key: bytes, *, thorough: bool = True
) -> StoredCluster:
    """Return a decoded cluster. Raises `Damaged` unless the payload is consistent and matches the key.

    Records are decoded only with `thorough`; otherwise damage in them is found when they are used.
    """
    vector_bytes, by_member = descriptor.vector_bytes, descriptor.by_member
    name, files, records, hashes, vectors = msgpack.unpackb(payload)
    if not (isinstance(hashes, bytes) and isinstance(vectors, bytes) and all(map(_is_file, files))):
        raise Damaged("a cluster holds a value of a wrong type")
    members = tuple(Member(path, mode, oid, language) for path, mode, oid, language, _ in files)
    skips: list[str | None] = [skip for *_, skip in files]
    if name != str(descriptor) or cluster_key(name, members) != key:
        raise Damaged("a cluster does not match its key")
    kept = [document_key(member) for member, skip in zip(members, skips, strict=True) if skip is None]
    found: list[Document] = []
    documents: dict[Key, Document] = {}
    at = 0
    for of, record in zip(kept if by_member else dict.fromkeys(kept), records, strict=True):
        end = at + (len(decode_record(record).positions) if thorough else len(summarize(record).kinds))
        document = Document(
            record,
            hashes[at * HASH_BYTES : end * HASH_BYTES],
            vectors[at * vector_bytes : end * vector_bytes],
        )
        found.append(document)
        documents.setdefault(of, document)
        at = end
    if len(hashes) != at * HASH_BYTES or len(vectors) != at * vector_bytes:
        raise Damaged("the vectors of a cluster do not match its chunks")
    each = iter(found if by_member else [documents[key] for key in kept])
    return StoredCluster(
        members, skips, documents, [None if skip is not None else next(each) for skip in skips]
    )


def _is_file(found: Any) -> bool:
    path, mode, oid, language, skip = found
    return (
        isinstance(path, bytes)
        and type(mode) is int
        and isinstance(oid, bytes)
        and isinstance(language, str | None)
        and isinstance(skip, str | None)
    )


@Decoding("a cluster")
def cluster_records(payload: bytes) -> dict[Key, bytes]:
    """Return the record of each document of a cluster, without checking the key. Raises `Damaged`."""
    _, files, records, *_ = msgpack.unpackb(payload)
    keys = dict.fromkeys((oid, language or "") for _, _, oid, language, skip in files if skip is None)
    if not set(map(type, records)) <= {bytes}:
        raise Damaged("a cluster holds a value of a wrong type")
    return dict(zip(keys, records, strict=True))
