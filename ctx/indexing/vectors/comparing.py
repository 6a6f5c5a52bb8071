"""Comparison of stored vectors with the current answers of a remote model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ctx.errors import Damaged
from ctx.models.centre import centred
from ctx.models.document_text import text_hash, texts_of
from ctx.models.precision import agree

if TYPE_CHECKING:
    from ctx.models.embedding_model import EmbeddingModel
    from ctx.session import Session


def differing(
    session: Session, model: EmbeddingModel, keys: Sequence[bytes]
) -> tuple[list[bytes], list[bytes]]:
    """Return the clusters that the model embeds differently now, and those whose files are missing.

    Sends every text again. Raises `ServiceFailed`.
    """
    different: list[bytes] = []
    impossible: list[bytes] = []
    if not keys:
        return different, impossible
    settings = model.settings
    embedder = model.embedder()
    try:
        reference = model.check(embedder)
        for key in keys:
            try:
                stored = model.clusters.stored(key)
                texts = texts_of(stored, session.reader, settings)
            except Damaged:
                impossible.append(key)
                continue
            rows = model.rows_of(stored)
            hashes = b"".join(one.hashes for one in stored.of_members if one is not None)
            same = hashes == b"".join(map(text_hash, texts)) and all(
                agree(
                    rows[at : at + settings.batch],
                    centred(
                        embedder.embed_documents(texts[at : at + settings.batch]),
                        reference,
                        settings.precision,
                    ),
                    settings.precision,
                )
                for at in range(0, len(texts), settings.batch)
            )
            if not same:
                different.append(key)
    finally:
        embedder.close()
    return different, impossible
