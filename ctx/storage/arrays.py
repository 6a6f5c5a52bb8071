"""Named numpy arrays in one file that can be mapped into memory.

    0   4 bytes   "CTXA"
    4   u32       length of the header
    8   u32       CRC-32 of everything from byte 16 on
    12  u32       format version
    16  msgpack   {"meta": …, "arrays": [[name, dtype, shape, offset], …]}
    …   arrays, each at a multiple of 64 from the start of the file

Numbers are little-endian. Other bytes raise `Damaged`, and the caller rebuilds the file.
"""

from __future__ import annotations

import mmap
import struct
import zlib
from collections.abc import Mapping
from hashlib import blake2b
from math import prod
from typing import Any

import msgpack
import numpy as np
import numpy.typing as npt

from ctx.errors import Damaged, Decoding
from ctx.storage.regular_files import open_regular

Arrays = dict[str, npt.NDArray[Any]]
Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

_HEAD = struct.Struct("<4sIII")
_MAGIC = b"CTXA"
_VERSION = 1
_ALIGN = 64
_DTYPES = frozenset({"|u1", "|i1", "<u2", "<u4", "<u8", "<i4", "<i8", "<f4"})
ANY = -1
"""Any length, in an expected shape."""


def encode(arrays: Mapping[str, npt.NDArray[Any]], meta: Mapping[str, Any]) -> bytes:
    """Return the bytes of a file with these arrays and a description that msgpack can encode."""
    table: list[list[Any]] = []
    plain = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    # Offsets of maximal width, to determine the length of the header.
    for name, array in plain.items():
        table.append([name, array.dtype.str, list(array.shape), 0xFFFFFFFF])
    start = _aligned(_HEAD.size + len(msgpack.packb({"meta": meta, "arrays": table})) + 8 * len(table))
    offset = start
    for entry, array in zip(table, plain.values(), strict=True):
        entry[3] = offset
        offset = _aligned(offset + array.nbytes)
    header = msgpack.packb({"meta": meta, "arrays": table})
    out = bytearray(offset)
    out[_HEAD.size : _HEAD.size + len(header)] = header
    for entry, array in zip(table, plain.values(), strict=True):
        out[entry[3] : entry[3] + array.nbytes] = array.tobytes()
    checksum = zlib.crc32(memoryview(out)[_HEAD.size :])
    _HEAD.pack_into(out, 0, _MAGIC, len(header), checksum, _VERSION)
    return bytes(out)


@Decoding("an array file")
def decode(data: bytes | mmap.mmap) -> tuple[Arrays, dict[str, Any]]:
    """Return the arrays (read-only views into `data`) and the description. Raises `Damaged`.

    The checksum is always verified, which takes half a millisecond per megabyte.
    """
    magic, length, checksum, version = _HEAD.unpack_from(data, 0)
    if magic != _MAGIC or version != _VERSION or length > len(data):
        raise Damaged("not an array file of this version")
    with memoryview(data) as view:
        if zlib.crc32(view[_HEAD.size :]) != checksum:
            raise Damaged("an array file does not match its checksum")
    header = msgpack.unpackb(data[_HEAD.size : _HEAD.size + length])
    arrays: Arrays = {}
    for name, dtype, shape, offset in header["arrays"]:
        if dtype not in _DTYPES or min(shape, default=0) < 0:
            raise Damaged("an array file has an unknown type")
        count = prod(shape)
        arrays[name] = np.frombuffer(data, dtype=dtype, count=count, offset=offset).reshape(shape)
    return arrays, dict(header["meta"])


def expect(arrays: Mapping[str, npt.NDArray[Any]], kinds: Mapping[str, tuple[str, tuple[int, ...]]]) -> None:
    """Raise `Damaged` unless each array exists with its dtype, and its shape after the first axis."""
    for name, (dtype, tail) in kinds.items():
        found = arrays.get(name)
        if found is None or found.ndim != 1 + len(tail) or found.dtype != dtype:
            raise Damaged(f"the array {name!r} is missing or of another type")
        if any(given not in (ANY, wanted) for given, wanted in zip(tail, found.shape[1:], strict=True)):
            raise Damaged(f"the array {name!r} is of another shape")


def are_ends(ends: npt.NDArray[Any], total: int) -> bool:
    """Return True if `ends` ascend and the last one is `total`."""
    return bool((ends[:-1] <= ends[1:]).all()) and int(ends[-1] if len(ends) else 0) == total


def content_hash(arrays: Mapping[str, npt.NDArray[Any]], description: bytes = b"") -> str:
    """Return a hash of the contents of arrays and a description as 32 hexadecimal digits."""
    digest = blake2b(description, digest_size=16)
    for array in arrays.values():
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


def map_file(path: str) -> tuple[Arrays, dict[str, Any]]:
    """Map a file into memory. Raises `Damaged`, and OSError if there is none."""
    with open_regular(path) as file:
        try:
            data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        except ValueError as error:
            raise Damaged(f"{path} is empty") from error
    return decode(data)


def begins(*values: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
    """Return True where an array of `values` (n,) differs from its previous element, (n,).

    Five times faster than `np.diff` with a value prepended.
    """
    found = np.ones(len(values[0]), dtype=bool)
    np.not_equal(values[0][1:], values[0][:-1], out=found[1:])
    for more in values[1:]:
        found[1:] |= more[1:] != more[:-1]
    return found


def highest(values: npt.NDArray[Any], count: int) -> npt.NDArray[np.int64]:
    """Return the indices of the `count` highest values, and of ties with the last one."""
    if len(values) <= count:
        return np.arange(len(values))
    return np.flatnonzero(values >= np.partition(values, len(values) - count)[len(values) - count])


def _aligned(offset: int) -> int:
    return -(-offset // _ALIGN) * _ALIGN
