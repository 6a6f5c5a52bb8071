"""Decoders return a consistent value or raise `Damaged`, for any bytes.

Real payloads of every format are made from a real repository, then mutated: values, types, sizes, nesting,
single bytes, the length. A mutated payload gets a matching digest, like a forged one.
"""

from __future__ import annotations

import json
import math
import os
import random
import struct
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import msgpack
import numpy as np
import pytest
from repositories import Repo

import ctx
from ctx.errors import CtxError, Damaged
from ctx.git.formats import parse_commit, parse_tag, parse_tree
from ctx.history.answer import CommitFilters
from ctx.history.block import check_block
from ctx.maintenance.background import log, run_lock
from ctx.maintenance.background.log import Run
from ctx.maintenance.pins import pin, read_pin
from ctx.models.embedder import vectors_of
from ctx.models.ledger import Ledger
from ctx.models.precision import are_vectors
from ctx.pack.manifest import decode as decode_manifest
from ctx.pack.manifest import encode as encode_manifest
from ctx.share import layout
from ctx.share.words import Words, decode_words
from ctx.storage.arrays import decode as decode_arrays
from ctx.storage.clusters import cluster_records, decode_cluster
from ctx.storage.records import decode_chunk, decode_record, encode_record, summarize
from ctx.storage.snapshots import decode_node
from ctx.storage.store import decode_object, encode_object
from ctx.storage.views import postings
from ctx.storage.views.segments import Segment
from ctx.storage.views.view import View
from ctx.types import KINDS, Chunk

NAME = "ab" * 20
FILES: dict[str | bytes, str | bytes | None] = {
    "src/session.py": "class Session:\n    def renew(self):\n        return 1\n\n    def close(self): ...\n",
    "src/wide.txt": "Wide letters: \u00e9\n".encode("utf-16"),
    "src/retry.go": "package retry\n\nfunc Backoff(n int) int {\n\treturn 2 * n\n}\n",
    "notes.md": "# Notes\n\nSome words.\n\n## More\n\nOther words.\n",
    "empty.py": "",
    "data.bin": b"\0\1\2",
}
FEW, MANY = 250, 50_000
"""Changes of each payload in the usual run and in the long one."""


class Decoder(NamedTuple):
    """A valid payload, a function that decodes and checks it, and its encoding."""

    data: bytes
    read: Callable[[bytes], object]
    form: str = "bytes"


def deep(levels: int) -> Any:
    found: Any = 1
    for _ in range(levels):
        found = [found]
    return found


ODD: list[Callable[[], Any]] = [
    *(
        lambda value=value: value  # type: ignore[misc]
        for value in (
            None, True, False, 0, 1, -1, 255, 256, 2**31, 2**32, 2**63 - 1, 2**63, 2**64 - 1, -(2**63),
            0.0, 0.5, -1.5, math.nan, math.inf, -math.inf, 1e308, "", "a", "9" * 5000, "\ud800", "é" * 3000,
        )
    ),
    list,
    dict,
    lambda: deep(300),
    lambda: [0] * 5000,
    lambda: [[]],
    lambda: {"a": 1},
    lambda: [{"a": 1}],
    lambda: {str(number): number for number in range(300)},
]  # fmt: skip
ODD_BYTES: list[Callable[[], Any]] = [bytes, lambda: b"\xff" * 9, lambda: bytes(20), lambda: bytes(5000)]
ODD_JSON: list[Callable[[], Any]] = [lambda: 10**400, lambda: -(10**30)]


def places(value: Any, way: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Yield the paths to all parts of a value."""
    found = [way]
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        found += places(inner, (*way, key))
    return found


def changed(rng: random.Random, value: Any, odd: list[Callable[[], Any]]) -> Any:
    """Return a value with one to three parts replaced, removed, doubled, swapped or changed slightly."""
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        ways = places(value)
        way = rng.choice(ways)
        if not way:
            if rng.random() < 0.05:
                return rng.choice(odd)()
            continue
        holder = value
        for key in way[:-1]:
            holder = holder[key]
        key, old = way[-1], holder[way[-1]]
        act = rng.randrange(6)
        if act == 0 and isinstance(old, int):
            holder[key] = min(max(old + rng.choice((-1000, -2, -1, 1, 2, 1000)), -(2**63)), 2**64 - 1)
        elif act == 1 and isinstance(old, (str, bytes, list)) and len(old):
            at = rng.randrange(len(old))
            holder[key] = rng.choice((old[:at], old[at:], old + old, old[::-1]))
        elif act == 2:
            del holder[key]
        elif act == 3 and isinstance(holder, list):
            holder.insert(key, old)
        elif act == 4:
            holder[key] = [old]
        else:
            holder[key] = rng.choice(odd)()
    return value


def bytes_changed(rng: random.Random, data: bytes) -> bytes:
    """Return bytes truncated, extended, or with some flipped, removed or repeated."""
    act = rng.randrange(5)
    at = rng.randrange(len(data) + 1)
    if act == 0:
        return data[:at]
    if act == 1:
        return data + rng.randbytes(rng.choice((1, 7, 300)))
    if act == 2:
        return data[:at] + data[at + rng.randrange(1, 40) :]
    if act == 3:
        return data[:at] + data[max(0, at - 30) :]
    found = bytearray(data)
    for _ in range(rng.choice((1, 2, 8))):
        if found:
            found[rng.randrange(len(found))] = rng.choice(
                (0, 1, 0x7F, 0x80, 0xC1, 0xDD, 0xFF, rng.randrange(256))
            )
    return bytes(found)


def arrays_changed(rng: random.Random, data: bytes) -> bytes:
    """Return an array file with a changed header or numbers, and a matching checksum."""
    magic, length, _, version = struct.unpack_from("<4sIII", data)
    header, body = data[16 : 16 + length], data[16 + length :]
    if rng.random() < 0.5:
        value = changed(rng, msgpack.unpackb(header), ODD + ODD_BYTES)
        packed = msgpack.packb(value, unicode_errors="surrogatepass")
        # As long as it was, where that can be: else every array lies elsewhere.
        body = body if len(packed) == length else body[: len(body) - max(0, len(packed) - length)]
        header = packed
    else:
        at = rng.randrange(len(body) // 4 + 1) * 4
        number = rng.choice((0, 1, 0x7F, 0xFF, 0xFFFF, 2**31, 2**32 - 1, rng.randrange(2**32)))
        body = body[:at] + struct.pack("<I", number) + body[at + 4 :]
    rest = header + body
    return struct.pack("<4sIII", magic, len(header), zlib.crc32(rest), version) + rest


def mutated(rng: random.Random, decoder: Decoder) -> bytes:
    """Return the payload of a decoder, mutated according to its encoding."""
    data = decoder.data
    if decoder.form == "arrays" and rng.random() < 0.9:
        return arrays_changed(rng, data)
    if decoder.form == "msgpack" and rng.random() < 0.75:
        value = msgpack.unpackb(data, unicode_errors="surrogatepass")
        value = changed(rng, value, ODD + ODD_BYTES)
        packed: bytes = msgpack.packb(value, unicode_errors="surrogatepass")
        return packed
    if decoder.form == "json" and rng.random() < 0.75:
        return json.dumps(changed(rng, json.loads(data), ODD + ODD_JSON)).encode()
    if decoder.form == "json" and rng.random() < 0.1:
        return b"[" * 100_000
    return bytes_changed(rng, data)


# -- what holds together


def look_at_record(data: bytes) -> None:
    record = decode_record(data)
    end, line = 0, 1
    for place, position in enumerate(record.positions):
        assert all(type(number) is int for number in position)
        assert end <= position.start < position.end <= record.size
        assert line <= position.start_line <= position.end_line <= record.lines
        end, line = position.end, position.end_line
        symbol, is_test = record.symbols[place], record.tests[place]
        stored = decode_chunk(data, place)
        assert (stored.position, stored.symbol, stored.is_test) == (position, symbol, is_test)
        assert stored.kind == record.kinds[record.positions.index(stored.head)]
    assert record.lines <= record.size
    assert set(record.kinds) <= set(KINDS)
    assert all(isinstance(symbol, str) for symbol in record.symbols)
    assert all(isinstance(own, list) and all(isinstance(one, str) for one in own) for own in record.names)
    assert summarize(data)[:2] == (record.size, record.lines)
    assert len(summarize(data).kinds) == len(record.positions)


def look_at_part_of_record(data: bytes) -> None:
    for place in range(-1 + len(summarize(data).kinds)):
        position, symbol, kind = decode_chunk(data, place)[:3]
        assert 0 <= position.start < position.end <= summarize(data).size
        assert isinstance(symbol, str)
        assert kind in KINDS


def look_at_node(data: bytes) -> None:
    record = decode_node(data)
    assert all(isinstance(key, bytes) and len(key) == 20 for key in record.nodes + record.clusters)
    assert record.totals.plus(record.totals).files == 2 * record.totals.files


def look_at_segment(data: bytes) -> None:
    arrays, meta = decode_arrays(data)
    segment = Segment(arrays, meta)
    keys = [segment.key(document) for document in range(segment.documents)]
    segment.find(keys)
    packed = postings.decode_all(segment.postings)
    hashes = segment.postings.hashes()
    segment.postings.find(hashes)
    assert len(segment.part(range(segment.documents)).documents) == segment.documents
    assert len(segment.document_of) == len(segment.words) == segment.rows
    assert len(packed) <= len(segment.postings.data)


def look_at_view(data: bytes, segments: list[Segment]) -> None:
    arrays, meta = decode_arrays(data)
    view = View(arrays, meta, segments)
    assert len(view.paths) == view.files == len(view.file_flags)
    assert view.chunks >= 0
    for file in range(view.files):
        assert len(view.cluster_of(file)) == 20
        assert view.path(file) == view.paths[file]
    assert sum(len(group.paths) for group in view.groups().values()) <= view.files
    json.dumps(view.skipped, default=str)


def look_at_manifest(data: bytes) -> None:
    try:
        encode_manifest(decode_manifest(data))
    except CtxError as error:
        if "newer git-ctx" in str(error):
            raise Damaged("of another version") from error
        raise


def look_at_commit(data: bytes) -> None:
    info = parse_commit(bytes(20), data)
    assert all(0 <= time < 2**63 for time in (info.author_time, info.committer_time))
    (info.subject + info.author_name).encode()


# -- forged records

SIZE, LINES, GAPS, LENGTHS, LINE_GAPS, SPANS, KIND_BYTES, SYMBOLS, NAMES_OF = range(9)


def put(field: int, value: object, place: int | None = None) -> Callable[[list[Any]], None]:
    def change(fields: list[Any]) -> None:
        if place is None:
            fields[field] = value
        else:
            fields[field][place] = value

    return change


FORGED = {
    "a name that is a map": put(NAMES_OF, [{"a": 1}]),
    "a name that is a text": put(NAMES_OF, ["abc"]),
    "a name that is a number": put(NAMES_OF, [[7]]),
    "no names": put(NAMES_OF, None),
    "a start before the blob": put(GAPS, -3, 0),
    "an end beyond the blob": put(LENGTHS, 1 << 40, 0),
    "an empty chunk": put(LENGTHS, 0, 0),
    "a last line before the first": put(SPANS, -2, 0),
    "a line beyond the blob": put(LINE_GAPS, 1 << 50, 0),
    "a line before the blob": put(LINE_GAPS, -1, 0),
    "a fraction": put(GAPS, 0.5, 0),
    "a truth": put(GAPS, True, 0),
    "places that are a map": put(GAPS, {0: 1}),
    "a size of another type": put(SIZE, "9"),
    "a size that is negative": put(SIZE, -1),
    "more lines than bytes": put(LINES, 1 << 60),
    "kinds that are a list": put(KIND_BYTES, [0]),
    "a kind that there is not": put(KIND_BYTES, b"\x7f"),
    "an invalid symbol": put(SYMBOLS, [None]),
    "a symbol that is a list": put(SYMBOLS, [[["a"]]]),
    "no symbols": put(SYMBOLS, []),
}


@pytest.mark.parametrize("what", FORGED)
def test_a_forged_record_is_refused(what: str) -> None:
    text = b"def renew():\n    return 1\n"
    fields = msgpack.unpackb(encode_record(text, [Chunk(0, 24, "function", "renew", ("renew",), False)], 26))
    look_at_record(msgpack.packb(fields))
    FORGED[what](fields)
    with pytest.raises(Damaged):
        decode_record(msgpack.packb(fields))


def test_a_long_prefix_before_many_names_is_refused() -> None:
    """It would unpack to gigabytes."""
    many = 100_000
    fields = [
        many, many, [0] * many, [1] * many, [0] * many, [0] * many, bytes(many),
        [b"x" * 100_000, *[1] * (many - 1)], [["a"]] * many,
    ]  # fmt: skip
    with pytest.raises(Damaged, match="longer than any blob"):
        decode_record(msgpack.packb(fields))


# -- the payloads


@pytest.fixture(scope="module")
def decoders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Decoder]:
    """Return every decoder with a payload from a small repository."""
    path = tmp_path_factory.mktemp("decoders")
    repo = Repo(path)
    repo.git("-c", "init.defaultBranch=main", "init", "--quiet")
    repo.git("config", "user.name", "Ada")
    repo.git("config", "user.email", "ada@example.org")
    repo.commit(FILES, "Begin")
    repo.commit({"late.py": "class Late:\n    def come(self):\n        return 1\n"}, "Come late")
    repo.git("tag", "--annotate", "-m", "first", "v1")
    found: dict[str, Decoder] = {}
    with ctx.open(path) as index:
        index.index()
        index.search("come late")
        index.history("come late", CommitFilters())
        packed = index.pack("come late")
        descriptor = index.session.descriptor
        key = max(index.session.clusters.keys(), key=lambda one: len(index.session.clusters.get(one) or b""))
        cluster = index.session.clusters.get(key)
        assert cluster is not None
        stored = index.session.clusters.stored(key)
        names = [name for name, _ in index.session.catalog.segments()]
        segments = [segment for _, segment in index.session.catalog.segments()]
        words = Words(index.session, segments).known(key)
        assert words is not None
        tree = index.resolve(None).tree
        root = index.session.snapshots.tree(tree)
        assert root is not None
        nodes = index.session.store.read(os.path.join("snapshots", str(descriptor), "nodes"), root.hex())
        assert nodes is not None
        pinned = pin(index.session)
        views = Path(index.session.store.path, "views", index.session.catalog.group)
        blocks = Path(index.session.store.path, "history")
        block = next(file for file in blocks.rglob("*") if len(file.parent.name + file.name) == 40)
        group, store = index.session.catalog.group, index.session.store
    vector_bytes = descriptor.vector_bytes
    record = max((one.record for one in stored.documents.values()), key=len)
    found["record"] = Decoder(record, look_at_record, "msgpack")
    found["chunk of a record"] = Decoder(record, look_at_part_of_record, "msgpack")

    def look_at_cluster(data: bytes) -> None:
        made = decode_cluster(data, descriptor, key)
        for document in made.documents.values():
            look_at_record(document.record)
        are_vectors(b"".join(one.vectors for one in made.documents.values()), 8 * vector_bytes, "bit")
        for one in cluster_records(data).values():
            look_at_record(one)

    def look_at_records(data: bytes) -> None:
        for (oid, language), one in cluster_records(data).items():
            assert isinstance(one, bytes) or (oid, language) is None

    def look_at_words(data: bytes) -> None:
        part = decode_words(data, group, stored, vector_bytes)
        rows = (part.packed >> np.uint64(8)).astype(np.int64) & 0xFFFF
        assert int(rows.max(initial=0)) < len(part.lengths) == len(part.bits)

    def look_at_published(data: bytes) -> None:
        made = layout.decode_published(tree, layout.encode_shared(tree, data))
        assert all(isinstance(time, int) for _, time in made.commits if time is not None)

    found["cluster"] = Decoder(cluster, look_at_cluster, "msgpack")
    found["records of a cluster"] = Decoder(cluster, look_at_records, "msgpack")
    found["words"] = Decoder(words, look_at_words, "msgpack")
    found["node"] = Decoder(nodes, look_at_node, "msgpack")
    published = msgpack.packb((root, 2, 1_600_000_000, [(bytes(20), 1_600_000_000), (bytes(20), None)]))
    found["published snapshot"] = Decoder(published, look_at_published, "msgpack")
    probe = np.ones(512, dtype="<f4").tobytes()
    found["probe"] = Decoder(
        probe, lambda data: layout.decode_probe(encode_object(layout.PROBE, data), 256), "bytes"
    )
    frame = encode_object(NAME, cluster)
    found["frame"] = Decoder(frame, lambda data: decode_object(NAME, data))
    found["segment"] = Decoder((views / names[0]).read_bytes(), look_at_segment, "arrays")
    view = next(views.glob("view-*")).read_bytes()
    used = decode_arrays(view)[1]["segments"]
    named = dict(zip(names, segments, strict=True))
    found["view"] = Decoder(view, lambda data: look_at_view(data, [named[one] for one in used]), "arrays")
    payload = decode_object(block.parent.name + block.name, block.read_bytes())
    found["block of commits"] = Decoder(payload, lambda data: check_block(data), "arrays")
    found["manifest"] = Decoder(encode_manifest(packed.pack), look_at_manifest, "json")
    found["commit"] = Decoder(repo.git("cat-file", "commit", "HEAD"), look_at_commit)
    raw = repo.run("cat-file", "tree", "HEAD^{tree}").stdout
    found["tree"] = Decoder(raw, lambda data: [len(one.oid) for one in parse_tree(data, 20)])
    found["tag"] = Decoder(repo.git("cat-file", "tag", "v1"), parse_tag)
    run = Run(1, 0.5, "hook", 1, "done", [log.Covered("ab", "main", None, 1, 2, 3)], None)
    line = json.dumps(run._asdict() | {"trees": [one._asdict() for one in run.trees]}).encode()
    scratch = path / "scratch"

    def written(data: bytes, read: Callable[[], object], at: Path) -> object:
        at.parent.mkdir(parents=True, exist_ok=True)
        at.write_bytes(data)
        return read()

    found["log of runs"] = Decoder(
        line, lambda data: written(data, lambda: log.read(str(path)), path / log.LOG), "json"
    )

    def start_of(data: bytes) -> object:
        scratch.write_bytes(data)
        handle = os.open(scratch, os.O_RDONLY)
        try:
            return run_lock._start(handle)
        finally:
            os.close(handle)

    begun = json.dumps({"time": 1, "pid": 2, "trigger": "hook"}).encode()
    found["start of a run"] = Decoder(begun, start_of, "json")
    place = Path(store.path, "pins", pinned.tree.hex())
    pin_line = place.read_bytes()
    found["pin"] = Decoder(
        pin_line, lambda data: written(data, lambda: read_pin(store, pinned.tree), place), "json"
    )
    (log_file,) = (Path(store.path, "snapshots", str(descriptor), "log") / name for name in [tree.hex()])
    found["log of a snapshot"] = Decoder(
        log_file.read_bytes().splitlines()[0],
        lambda data: written(data, lambda: index.session.snapshots.log(tree), log_file),
        "json",
    )
    ledger = Ledger("r")
    ledger_line = {"repository": "r", "host": "h", "purpose": "p", "requests": 1, "bytes": 2, "texts": 3}
    at = Path(ledger._path)
    found["ledger"] = Decoder(
        json.dumps(ledger_line | {"time": 4}).encode(), lambda data: written(data, ledger.read, at), "json"
    )
    answer = {"data": [{"index": number, "embedding": [0.5, 1.0]} for number in range(3)]}

    def vectors(data: bytes) -> None:
        try:
            value = json.loads(data)
        except (ValueError, RecursionError):
            raise Damaged("no JSON") from None
        with np.errstate(all="ignore"):
            assert vectors_of(value, "openai").ndim >= 1

    found["vectors of a service"] = Decoder(json.dumps(answer).encode(), vectors, "json")
    return found


NAMES = [
    "record", "chunk of a record", "cluster", "records of a cluster", "words", "node", "published snapshot",
    "probe", "frame", "segment", "view", "block of commits", "manifest", "commit", "tree", "tag",
    "log of runs", "start of a run", "pin", "log of a snapshot", "ledger", "vectors of a service",
]  # fmt: skip


def attack(decoder: Decoder, count: int, seed: str) -> int:
    """Decode `count` mutated payloads; return the number of refused ones."""
    decoder.read(decoder.data)
    refused = 0
    for number in range(count):
        rng = random.Random(f"{seed} {number}")
        data = mutated(rng, decoder)
        try:
            decoder.read(data)
        except Damaged:
            refused += 1
        except BaseException as error:
            raise AssertionError(f"{seed} {number}: {error!r} for {data[:300]!r}") from error
    return refused


def test_every_decoder_is_listed(decoders: dict[str, Decoder]) -> None:
    assert sorted(decoders) == sorted(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_changed_payloads_are_read_or_refused(decoders: dict[str, Decoder], name: str) -> None:
    attack(decoders[name], FEW, name)


@pytest.mark.long
@pytest.mark.parametrize("name", NAMES)
def test_many_changed_payloads_are_read_or_refused(
    decoders: dict[str, Decoder], name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    count = int(os.environ.get("MUTATIONS", MANY))
    refused = attack(decoders[name], count, f"long {name}")
    with capsys.disabled():
        print(f"\n{name}: {count:,} changed payloads, {refused:,} refused, none let an error through")
