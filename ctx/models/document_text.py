"""Texts of the chunks of a cluster as a model service reads them, with the path of the file before the text.

Both ends of a path are informative: the first directories identify the part of the project, the last ones and
the name the topic of the file. So the middle is removed from a long path.
"""

from __future__ import annotations

from hashlib import blake2b

from ctx.chunking.normalise import embedded_text
from ctx.errors import Damaged
from ctx.git.repository import Repository
from ctx.models.settings import EmbedderSettings
from ctx.storage.clusters import HASH_BYTES, StoredCluster
from ctx.storage.records import decode_record
from ctx.text.contents import to_text

_GAP = "…"


def cap_path(path: str, limit: int) -> str:
    """Return a path of at most `limit` characters that keeps both ends.

    It is the longest run of leading directories that fits, `…`, the parent and the name. If parent and name
    alone are too long, it is the name, itself shortened in the middle if needed.
    """
    if len(path) <= limit:
        return path
    parts = path.split("/")
    tail = "/".join(parts[-2:])
    for kept in range(len(parts) - 3, 0, -1):
        capped = "/".join([*parts[:kept], _GAP, tail])
        if len(capped) <= limit:
            return capped
    if len(parts) > 2 and len(_GAP) + 1 + len(tail) <= limit:
        return f"{_GAP}/{tail}"
    name = parts[-1]
    if len(name) <= limit:
        return name
    back = (limit - 1) // 2
    return name[: limit - 1 - back] + _GAP + (name[-back:] if back else "")


def with_path(path: str, text: str, limit: int) -> str:
    """Return a text with a header that names its file, or a query with its directory."""
    return f"Filepath: {cap_path(path, limit)}\n---\n{text}"


def texts_of(stored: StoredCluster, reader: Repository, settings: EmbedderSettings) -> list[str]:
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
