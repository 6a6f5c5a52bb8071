"""Array files: round trips, and `Damaged` for all other bytes."""

from __future__ import annotations

import struct
import zlib
from pathlib import Path
from typing import Any

import msgpack
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctx.errors import Damaged
from ctx.storage import arrays

ARRAYS = {
    "bytes": np.arange(7, dtype=np.uint8),
    "rows": np.arange(12, dtype="<u4").reshape(4, 3),
    "empty": np.zeros((0, 16), dtype=np.uint8),
    "hashes": np.array([2**63, 1], dtype="<u8"),
    "signed": np.array([-1, 2], dtype="<i8"),
    "floats": np.array([0.5, -2.25], dtype="<f4"),
}
META = {"format": 1, "names": ["a", "ü"], "tree": b"\x01\x02"}

DTYPES = st.sampled_from(["|u1", "|i1", "<u2", "<u4", "<u8", "<i4", "<i8", "<f4"])


@given(
    st.dictionaries(
        st.text(max_size=8),
        st.tuples(DTYPES, st.lists(st.integers(0, 9), min_size=1, max_size=3)),
        max_size=5,
    ),
    st.dictionaries(
        st.text(max_size=5),
        st.one_of(st.integers(), st.text(), st.binary(), st.none()).filter(
            lambda value: not isinstance(value, int) or -(2**63) <= value < 2**64
        ),
        max_size=4,
    ),
)
def test_round_trip(shapes: dict[str, tuple[str, list[int]]], meta: dict[str, Any]) -> None:
    given_arrays = {
        name: (np.arange(int(np.prod(shape, dtype=int))) % 100).astype(dtype).reshape(shape)
        for name, (dtype, shape) in shapes.items()
    }
    found, description = arrays.decode(arrays.encode(given_arrays, meta))
    assert description == meta
    assert list(found) == list(given_arrays)
    for name, array in given_arrays.items():
        assert found[name].dtype == array.dtype
        assert found[name].shape == array.shape
        assert (found[name] == array).all()


def test_arrays_lie_at_multiples_of_64_and_cannot_be_changed() -> None:
    data = arrays.encode(ARRAYS, META)
    found, _ = arrays.decode(data)
    start = np.frombuffer(data, dtype=np.uint8).ctypes.data
    assert all((array.ctypes.data - start) % 64 == 0 for array in found.values() if array.size)
    with pytest.raises(ValueError, match="read-only"):
        found["bytes"][0] = 1


def test_every_truncation_is_damaged(tmp_path: Path) -> None:
    data = arrays.encode(ARRAYS, META)
    for length in range(len(data)):
        with pytest.raises(Damaged):
            arrays.decode(data[:length])
    for length in (0, 1, 15, 16, 17, len(data) - 1):
        (tmp_path / "cut").write_bytes(data[:length])
        with pytest.raises(Damaged):
            arrays.map_file(str(tmp_path / "cut"))
    with pytest.raises(FileNotFoundError):
        arrays.map_file(str(tmp_path / "nothing"))


def test_every_flipped_bit_is_damaged() -> None:
    data = arrays.encode(ARRAYS, META)
    for place in range(len(data)):
        for bit in range(8):
            damaged = bytearray(data)
            damaged[place] ^= 1 << bit
            with pytest.raises(Damaged):
                arrays.decode(bytes(damaged))


def test_a_flipped_bit_with_a_matching_checksum_never_crashes() -> None:
    data = arrays.encode(ARRAYS, META)
    head = 16 + struct.unpack_from("<I", data, 4)[0]
    for place in range(head):
        for bit in range(8):
            damaged = bytearray(data)
            damaged[place] ^= 1 << bit
            struct.pack_into("<I", damaged, 8, zlib.crc32(memoryview(damaged)[16:]))
            try:
                arrays.decode(bytes(damaged))
            except Damaged:
                pass


HEADERS = [
    None,
    [],
    {},
    {"meta": {}},
    {"meta": {}, "arrays": 5},
    {"meta": {}, "arrays": [["a", "|u1", [1]]]},
    {"meta": {}, "arrays": [["a", "|u1", [-1], 0]]},
    {"meta": {}, "arrays": [["a", "|u1", [1 << 40, 1 << 40], 0]]},
    {"meta": {}, "arrays": [["a", "|u1", [1 << 62], 0]]},
    {"meta": {}, "arrays": [["a", "|u1", [4], 1 << 40]]},
    {"meta": {}, "arrays": [["a", "|u1", [4], -4]]},
    {"meta": {}, "arrays": [["a", "|u1", ["4"], 0]]},
    {"meta": {}, "arrays": [["a", "|u1", 4, 0]]},
    {"meta": {}, "arrays": [["a", "|O", [1], 0]]},
    {"meta": {}, "arrays": [[["a"], "|u1", [1], 0]]},
    {"meta": {}, "arrays": [["a", ["|u1"], [1], 0]]},
    {"meta": 5, "arrays": []},
]


@pytest.mark.parametrize("header", HEADERS, ids=range(len(HEADERS)))
def test_a_wrong_description_is_damaged(header: Any) -> None:
    packed = msgpack.packb(header)
    body = packed + bytes(64)
    data = struct.pack("<4sIII", b"CTXA", len(packed), zlib.crc32(body), 1) + body
    with pytest.raises(Damaged):
        arrays.decode(data)


@given(st.binary(max_size=200))
def test_anything_else_is_damaged(data: bytes) -> None:
    with pytest.raises(Damaged):
        arrays.decode(data)
    with pytest.raises(Damaged):
        arrays.decode(struct.pack("<4sIII", b"CTXA", len(data), zlib.crc32(data), 1) + data)
