"""Texts of the chunks of a cluster for a remote model, and their hashes."""

from __future__ import annotations

from hashlib import blake2b

from ctx.chunking.normalise import embedded_text
from ctx.errors import Damaged
from ctx.git.repository import Repository
from ctx.models.path_header import with_path
from ctx.models.settings import EmbedderSettings
from ctx.storage.clusters import HASH_BYTES, Stored
from ctx.storage.records import decode_record
from ctx.text.contents import to_text


def texts_of(stored: Stored, reader: Repository, settings: EmbedderSettings) -> list[str]:
    """Return the text of each chunk of each file of a cluster. Raises `Damaged` if a blob is missing."""
    members = [
        (member, document)
        for member, document in zip(stored.members, stored.of_members, strict=True)
        if document is not None
    ]
    found: list[str] = []
    blobs = reader.read_blobs([member.oid for member, _ in members])
    for (member, document), blob in zip(members, blobs, strict=True):
        if blob is None:
            raise Damaged(
                f"the blob {member.oid.hex()} is not in this repository: fetch it, then index again"
            )
        path = member.path.decode("utf-8", "replace")
        for position in decode_record(document.record).positions:
            text = embedded_text(to_text(blob, position.start, position.end), member.language)
            found.append(with_path(path, text, settings.path_cap) if settings.path_header else text)
    return found


def text_hash(text: str) -> bytes:
    """Return the hash of a text, `HASH_BYTES` long."""
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=HASH_BYTES).digest()
