"""Cluster keys: identifiers of the stored data of a few files."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from typing import NamedTuple


class Member(NamedTuple):
    """A file selected by path rules. `language` is the language it is parsed as."""

    path: bytes
    mode: int
    oid: bytes
    language: str | None


def cluster_key(descriptor: str, members: Sequence[Member]) -> bytes:
    """Return the key of a cluster, 20 bytes, without reading any file.

    It is BLAKE2b (RFC 7693) of the descriptor and the members' paths, modes, object ids and languages;
    docs/format.md specifies the bytes.
    """
    digest = blake2b(b"cluster\0" + descriptor.encode() + b"\0", digest_size=20)
    for member in members:
        language = (member.language or "").encode()
        digest.update(b"%o %d %s\0%s%s\0" % (member.mode, len(member.oid), language, member.oid, member.path))
    return digest.digest()
