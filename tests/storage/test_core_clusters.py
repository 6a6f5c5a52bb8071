"""Records and clusters: round trips, and `Damaged` for inconsistent payloads."""

from __future__ import annotations

from typing import Any

import msgpack
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctx.errors import Damaged
from ctx.storage.cluster_key import Member, cluster_key
from ctx.storage.clusters import Document, decode_cluster, document_key, encode_cluster
from ctx.storage.descriptor import Descriptor
from ctx.storage.records import decode_chunk, decode_record, encode_record
from ctx.storage.vectors import MODEL_ID
from ctx.types import KINDS, Chunk

NAMES = st.text(st.sampled_from("abC_.é文 \udcff"), max_size=6)


@st.composite
def texts(draw: st.DrawFn) -> tuple[bytes, list[Chunk]]:
    """Draw a text and chunks in it that do not overlap."""
    text = draw(st.text("ab\nñ", max_size=120)).encode()
    cuts = sorted(draw(st.sets(st.integers(0, len(text)), max_size=12)))
    chunks = []
    for start, end in zip(cuts[::2], cuts[1::2], strict=False):
        names = tuple(draw(st.lists(NAMES, max_size=3)))
        prefix = draw(st.sampled_from(["", "Outer.", "Outer.Inner.", "é::"]))
        symbol = draw(st.sampled_from([prefix + (names[0] if names else ""), prefix, "", *names]))
        chunks.append(Chunk(start, end, draw(st.sampled_from(KINDS)), symbol, names, draw(st.booleans())))
    return text, chunks


@given(texts())
def test_records_round_trip(made: tuple[bytes, list[Chunk]]) -> None:
    text, chunks = made
    data = encode_record(text, chunks, len(text))
    record = decode_record(data)
    assert record.size == len(text)
    assert record.lines == len(text.split(b"\n")) - (not text or text.endswith(b"\n"))
    for i, chunk in enumerate(chunks):
        position = record.positions[i]
        assert (position.start, position.end) == (chunk.start, chunk.end)
        assert position.start_line == text[: chunk.start].count(b"\n") + 1
        assert position.end_line == text[: chunk.end - 1].count(b"\n") + 1
        assert (record.kinds[i], record.tests[i], record.symbols[i]) == (
            chunk.kind,
            chunk.is_test,
            chunk.symbol,
        )
        assert tuple(record.names[i]) == chunk.names
        assert decode_chunk(data, i)[:2] == (position, chunk.symbol)
    with pytest.raises(Damaged):
        decode_chunk(data, len(chunks))


def test_records_contain_no_text() -> None:
    text = b"def renew_session(user):\n    secret_word = user\n"
    data = encode_record(
        text, [Chunk(0, len(text), "function", "renew_session", ("renew_session",), False)], 48
    )
    assert b"secret_word" not in data


@given(texts(), st.data())
def test_damaged_records_raise_only_damaged(made: tuple[bytes, list[Chunk]], data: st.DataObject) -> None:
    whole = encode_record(made[0], made[1], len(made[0]))
    for length in range(len(whole)):
        with pytest.raises(Damaged):
            decode_record(whole[:length])
    damaged = bytearray(whole)
    damaged[data.draw(st.integers(0, len(whole) - 1))] ^= data.draw(st.integers(1, 255))
    try:
        record = decode_record(bytes(damaged))
        decode_chunk(bytes(damaged), len(record.positions) - 1) if record.positions else None
    except Damaged:
        pass


# -- clusters

MEMBERS = (
    Member(b"src/a.py", 0o100644, b"\1" * 20, "python"),
    Member(b"src/caf\xe9.py", 0o100755, b"\2" * 20, "python"),
    Member(b"src/copy.py", 0o100644, b"\1" * 20, "python"),
    Member(b"src/a.txt", 0o100644, b"\1" * 20, None),
    Member(b"src/logo.svg", 0o100644, b"\3" * 20, "xml"),
)
SKIPS = [None, None, None, None, "minified"]
DESCRIPTOR = Descriptor("CODE_BLOCKS", MODEL_ID, 128, "bit", "1")
NAME = str(DESCRIPTOR)
KEY = cluster_key(NAME, MEMBERS)
WIDTH = DESCRIPTOR.vector_bytes


def a_document(number: int, chunks: int) -> Document:
    """Return a document with `chunks` chunks."""
    text = b"ab\n" * chunks
    record = encode_record(
        text, [Chunk(3 * i, 3 * i + 2, "block", "", (), False) for i in range(chunks)], len(text)
    )
    return Document(record, bytes([number]) * 8 * chunks, bytes([number]) * WIDTH * chunks)


DOCUMENTS = {
    (b"\1" * 20, "python"): a_document(1, 3),
    (b"\2" * 20, "python"): a_document(2, 0),
    (b"\1" * 20, ""): a_document(3, 2),
}


def encode() -> bytes:
    """Return the payload of a cluster."""
    return encode_cluster(NAME, MEMBERS, SKIPS, DOCUMENTS)


def test_clusters_round_trip() -> None:
    stored = decode_cluster(encode(), DESCRIPTOR, KEY)
    assert stored.members == MEMBERS
    assert stored.skips == SKIPS
    assert stored.documents == DOCUMENTS
    assert document_key(MEMBERS[3]) == (b"\1" * 20, "")


def test_documents_of_no_member_are_ignored() -> None:
    more = DOCUMENTS | {(b"\7" * 20, "go"): a_document(7, 1)}
    assert encode_cluster(NAME, MEMBERS, SKIPS, dict(reversed(more.items()))) == encode()


def test_another_key_descriptor_or_width_is_damaged() -> None:
    wider = Descriptor("CODE_BLOCKS", MODEL_ID, 256, "bit", "1")
    payload = encode_cluster(str(wider), MEMBERS, SKIPS, DOCUMENTS)
    with pytest.raises(Damaged, match="do not match"):
        decode_cluster(payload, wider, cluster_key(str(wider), MEMBERS))
    for descriptor, key in ((DESCRIPTOR._replace(version="2"), KEY), (DESCRIPTOR, b"\0" * 20)):
        with pytest.raises(Damaged, match="does not match its key"):
            decode_cluster(encode(), descriptor, key)


def changed(place: int, value: Any) -> bytes:
    fields = msgpack.unpackb(encode())
    fields[place] = value
    packed: bytes = msgpack.packb(fields)
    return packed


@pytest.mark.parametrize(
    "payload",
    [
        b"",
        b"\xc1",
        msgpack.packb([]),
        msgpack.packb(5),
        msgpack.packb([NAME] * 5),
        changed(0, "e"),
        changed(1, []),
        changed(1, [["a", 1]]),
        changed(2, []),
        changed(2, [a_document(1, 3).record] * 2),
        changed(2, [b"\xc1"] * 3),
        changed(2, [a_document(1, 4).record, a_document(2, 0).record, a_document(3, 2).record]),
        changed(3, b"short"),
        changed(4, b"short"),
        changed(4, None),
    ],
    ids=range(15),
)
def test_inconsistent_clusters_are_damaged(payload: bytes) -> None:
    with pytest.raises(Damaged):
        decode_cluster(payload, DESCRIPTOR, KEY)


def test_every_truncation_of_a_cluster_is_damaged() -> None:
    whole = encode()
    for length in range(len(whole)):
        with pytest.raises(Damaged):
            decode_cluster(whole[:length], DESCRIPTOR, KEY)
