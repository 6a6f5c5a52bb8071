"""Objects, snapshots and the lock: a file is complete or missing, and bound to its name."""

from __future__ import annotations

import os
import signal
import struct
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from ctx.errors import Damaged, StoreFull, StoreUnusable
from ctx.git.permissions import Permissions
from ctx.indexing.lock import IndexLock
from ctx.storage.snapshots import NodeRecord, Provenance, Snapshots, Totals
from ctx.storage.store import MAX_PAYLOAD, Store, decode_object, encode_object, unusable

NAME = "ab" * 20


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """Return a store in an empty directory."""
    return Store(str(tmp_path))


@given(st.one_of(st.binary(max_size=300), st.binary(max_size=50).map(lambda data: data * 50)))
def test_objects_round_trip(payload: bytes) -> None:
    assert decode_object(NAME, encode_object(NAME, payload)) == payload
    with pytest.raises(Damaged):
        decode_object(NAME[::-1], encode_object(NAME, payload))


@pytest.mark.parametrize("less", [0, 1, 31, 32, 33])
def test_the_largest_payload_is_read_back(store: Store, less: int) -> None:
    """Random bytes are stored uncompressed, after a header."""
    payload = np.random.default_rng(0).bytes(MAX_PAYLOAD - less)
    store.write("area", NAME, payload)
    assert store.read("area", NAME) == payload


def test_objects_of_every_length_of_name() -> None:
    for name in ("ab" * 20, "ab" * 32):
        assert decode_object(name, encode_object(name, b"payload")) == b"payload"


@pytest.mark.parametrize("payload", [b"", b"short", b"long " * 200], ids=["empty", "raw", "packed"])
def test_every_truncation_and_every_flipped_bit_is_damaged(payload: bytes) -> None:
    data = encode_object(NAME, payload)
    for length in range(len(data)):
        with pytest.raises(Damaged):
            decode_object(NAME, data[:length])
    for place in range(len(data)):
        if place in (6, 7):
            continue  # nobody reads these two yet
        for bit in range(8):
            damaged = bytearray(data)
            damaged[place] ^= 1 << bit
            try:
                assert decode_object(NAME, bytes(damaged)) == payload  # a bit that zstd does not look at
            except Damaged:
                pass


def test_a_payload_too_large_to_read_is_not_written() -> None:
    with pytest.raises(StoreUnusable, match="67,108,864"):
        encode_object(NAME, bytes(MAX_PAYLOAD + 1))


def test_a_small_file_cannot_become_a_large_payload() -> None:
    bomb = zstandard.ZstdCompressor().compress(bytes(1 << 26))
    for size in (5, MAX_PAYLOAD + 1, 0xFFFFFFFF):
        with pytest.raises(Damaged):
            decode_object(NAME, struct.pack("<4sBBHI16s", b"CTXO", 1, 1, 0, size, bytes(16)) + bomb)


@given(st.binary(max_size=100))
def test_anything_else_is_damaged(data: bytes) -> None:
    with pytest.raises(Damaged):
        decode_object(NAME, data)


def test_nothing_is_created_before_the_first_write(store: Store) -> None:
    assert store.read("objects", NAME) is None
    assert not store.has("objects", NAME)
    assert list(store.keys("objects")) == []
    store.check_layout()
    store.sweep()
    assert store.size() == 0
    assert not os.path.exists(store.path)


def test_write_read_list_remove(store: Store) -> None:
    store.write("objects/d", NAME, b"one")
    store.write("objects/d", NAME, b"two")
    store.write("objects/d", "cd" * 20, b"three")
    assert store.read("objects/d", NAME) == b"two"
    assert store.has("objects/d", NAME)
    assert sorted(store.keys("objects/d")) == [bytes.fromhex(NAME), b"\xcd" * 20]
    assert os.listdir(os.path.join(store.path, "tmp")) == []
    store.remove("objects/d", NAME)
    store.remove("objects/d", NAME)
    assert store.read("objects/d", NAME) is None


def test_files_have_the_permissions_of_the_umask(store: Store) -> None:
    before = os.umask(0o027)
    try:
        store.write("objects/d", NAME, b"one")
    finally:
        os.umask(before)
    assert os.stat(store.file("objects/d", NAME)).st_mode & 0o777 == 0o640


def test_the_directory_is_marked_for_backup_programs(store: Store) -> None:
    store.prepare()
    tag = Path(store.path, "CACHEDIR.TAG").read_bytes()
    assert tag.startswith(b"Signature: 8a477f597d28d172789f06886806bc55\n")


def test_unwritable_payloads_are_kept_in_memory_if_allowed(tmp_path: Path) -> None:
    (tmp_path / "ctx").write_text("in the way")
    store = Store(str(tmp_path))
    with pytest.raises(StoreUnusable, match="fix its permissions"):
        store.write("objects/d", NAME, b"one")
    store.may_use_memory = True
    store.write("objects/d", NAME, b"one")
    assert store.has("objects/d", NAME)
    assert store.read("objects/d", NAME) == b"one"
    (tmp_path / "ctx").unlink()
    store.write("snapshots/d", "cd" * 20, b"names what is only in memory")
    assert not (tmp_path / "ctx").exists()
    store.insist_on_disk()
    assert store.read("objects/d", NAME) is None
    store.write("objects/d", NAME, b"one")
    assert Store(str(tmp_path)).read("objects/d", NAME) == b"one"


def test_a_full_disk_has_its_own_error() -> None:
    import errno

    for number in (errno.ENOSPC, errno.EDQUOT):
        assert isinstance(unusable("/place", OSError(number, "full")), StoreFull)
    assert not isinstance(unusable("/place", OSError(errno.EACCES, "denied")), StoreFull)


# -- snapshots

TOTALS = Totals(2, 3, 4, 500, 60, {"python": 50, "": 10}, {"binary": 1})


def test_snapshots_round_trip(store: Store) -> None:
    snapshots = Snapshots(store, "d")
    record = NodeRecord([b"\1" * 20], [b"\2" * 20, b"\3" * 20], TOTALS)
    below = NodeRecord([], [b"\4" * 20], Totals())
    snapshots.write_node(b"\0" * 20, record)
    assert snapshots.node(b"\0" * 20) == record
    assert snapshots.node(b"\1" * 20) is None
    with pytest.raises(Damaged):
        snapshots.cluster_keys(b"\0" * 20)
    snapshots.write_node(b"\1" * 20, below)
    assert snapshots.cluster_keys(b"\0" * 20) == [b"\2" * 20, b"\3" * 20, b"\4" * 20]
    for tree in (b"t" * 20, b"t" * 32):
        assert snapshots.tree(tree) is None
        snapshots.write_tree(tree, b"\0" * 20)
        assert snapshots.tree(tree) == b"\0" * 20
    assert sorted(snapshots.trees()) == [b"t" * 20, b"t" * 32]
    assert list(Snapshots(store, "another").trees()) == []


def test_invalid_node_payloads_are_misses(store: Store) -> None:
    import msgpack

    snapshots = Snapshots(store, "d")
    for payload in (
        b"",
        b"\xc1",
        msgpack.packb(5),
        msgpack.packb([1, 2]),
        msgpack.packb([[], [], 3]),
        b"\x93",
    ):
        store.write(os.path.join("snapshots", "d", "nodes"), (b"\0" * 20).hex(), payload)
        assert snapshots.node(b"\0" * 20) is None
    store.write(os.path.join("snapshots", "d", "trees"), (b"t" * 20).hex(), b"short")
    assert snapshots.tree(b"t" * 20) is None


def test_totals_add_up() -> None:
    double = TOTALS.plus(TOTALS)
    assert double == Totals(4, 6, 8, 1000, 120, {"python": 100, "": 20}, {"binary": 2})
    assert TOTALS.plus(Totals()) == Totals().plus(TOTALS) == TOTALS
    assert Totals() == Totals(0, 0, 0, 0, 0, {}, {}), "the empty sum is never added to in place"


def test_the_log_has_each_commit_and_trigger_once(store: Store) -> None:
    snapshots = Snapshots(store, "d")
    store.prepare()
    entry = Provenance("cc" * 20, "main\udcff", 5, 6, "1.0", "manual")
    for one in (
        entry,
        entry._replace(created_at=9),
        entry._replace(trigger="hook"),
        entry._replace(commit=None),
    ):
        snapshots.add_to_log(b"t" * 20, one)
    found = snapshots.log(b"t" * 20)
    assert [(one.commit, one.created_at, one.trigger) for one in found] == [
        ("cc" * 20, 6, "manual"),
        ("cc" * 20, 6, "hook"),
        (None, 6, "manual"),
    ]
    assert snapshots.log(b"x" * 20) == []


# -- the lock


def test_one_process_holds_the_lock_and_requests_are_kept(store: Store) -> None:
    first, second = IndexLock(store), IndexLock(store)
    assert first.acquire()
    assert not second.acquire()
    assert not second.acquire(0.05)
    second.request(b"t" * 20)
    second.request(b"s" * 32)
    assert first.requests() == [b"s" * 32, b"t" * 20]
    first.discard_request(b"s" * 32)
    first.discard_request(b"s" * 32)
    assert second.requests() == [b"t" * 20]
    first.release()
    first.release()
    with second:
        assert second.acquire()
    assert first.acquire()
    first.release()


def test_an_interrupt_while_waiting_for_the_lock_leaves_no_file_open(store: Store) -> None:
    holder, waiter = IndexLock(store), IndexLock(store)

    class Interrupt(Exception):
        pass

    def interrupt(_number: int, _frame: object) -> None:
        raise Interrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        with holder:
            assert holder.acquire()
            opened = set(os.listdir("/dev/fd"))
            signal.setitimer(signal.ITIMER_REAL, 0.05)
            with pytest.raises(Interrupt):
                waiter.acquire(60)
            assert set(os.listdir("/dev/fd")) == opened
        assert waiter.acquire()
        waiter.release()
    finally:
        signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize(("shared", "mode"), [("umask", 0o600), ("group", 0o660), ("0644", 0o644)])
def test_threads_that_write_leave_the_umask_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shared: str, mode: int
) -> None:
    store = Store(str(tmp_path), permissions=Permissions.parse(shared))
    names = [f"{number:040x}" for number in range(400)]
    set_umask = os.umask

    def slow_umask(mask: int) -> int:
        # Whoever changes it for a moment is seen by the other threads in that moment.
        found = set_umask(mask)
        time.sleep(0.001)
        return found

    interval, before = sys.getswitchinterval(), os.umask(0o077)
    monkeypatch.setattr(os, "umask", slow_umask)
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(lambda name: store.write("objects", name, name.encode()), names))
    finally:
        sys.setswitchinterval(interval)
        after = set_umask(before)
    assert after == 0o077
    paths = [store.file("objects", name) for name in names]
    assert {os.stat(path).st_mode & 0o777 for path in paths} == {mode}
    assert [store.read("objects", name) for name in names] == [name.encode() for name in names]
    assert os.listdir(os.path.join(store.path, "tmp")) == []
