"""How the vectors of a remote model are stored, and how they are compared with a query.

`bit`: one bit a dimension, at or above zero is a one. `int8`: the unit vector times 127 over its largest
component, so that its length has to be divided out. `f16` and `f32`: IEEE 754, little-endian. Scores of
bits order the hits of one answer and mean nothing else; those of the others are cosines.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ctx.errors import UsageError
from ctx.storage.vectors import BITS_A_DIMENSION

BIT, INT8, F16, F32 = "bit", "int8", "f16", "f32"

Floats = npt.NDArray[np.float32]

_SAME = 0.98
"""Two answers of one model to one text agree at least so much, whatever the machine and the batch."""


def check_form(dimensions: int, precision: str) -> None:
    """Raises UsageError for vectors that cannot be stored."""
    if precision not in BITS_A_DIMENSION:
        raise UsageError(f"the precision {precision!r} is none of {', '.join(BITS_A_DIMENSION)}")
    if dimensions < 8 or dimensions % 8:
        raise UsageError(f"{dimensions} dimensions cannot be stored: give a multiple of 8")


def is_absolute(precision: str) -> bool:
    """Whether a score of such vectors means something outside its answer."""
    return precision != BIT


def truncated(vectors: Floats, dimensions: int) -> Floats:
    """The first dimensions of each vector, at unit length again (Matryoshka, Kusupati et al. 2022)."""
    kept = vectors[:, :dimensions].astype(np.float64)
    lengths = np.sqrt(np.square(kept).sum(axis=1, keepdims=True))
    scaled: Floats = (kept / np.maximum(lengths, 1e-12)).astype(np.float32)
    return scaled


def encode_vectors(vectors: Floats, precision: str) -> npt.NDArray[np.uint8]:
    """Unit vectors (n, dimensions) as they are stored, (n, bytes) uint8."""
    if precision == BIT:
        bits: npt.NDArray[np.uint8] = np.packbits(vectors >= 0, axis=1)
        return bits
    if precision == INT8:
        largest = np.abs(vectors).max(axis=1, keepdims=True)
        whole: npt.NDArray[np.uint8] = (
            np.rint(vectors / np.maximum(largest, 1e-12) * 127).astype("i1").view("u1")
        )
        return whole
    stored = vectors.astype("<f2" if precision == F16 else "<f4")
    return np.ascontiguousarray(stored).view(np.uint8).reshape(len(vectors), -1)


def similarities(stored: npt.NDArray[np.uint8], query: Floats, precision: str) -> Floats:
    """How near stored vectors (n, bytes) are to a query (dimensions,) of unit length, (n,) in -1..1.

    Against bits the query keeps its numbers (asymmetric): each bit counts as plus or minus one over the root
    of the dimensions, which is what a unit vector of these signs has.
    """
    if not len(stored):
        return np.zeros(0, dtype=np.float32)
    if precision == BIT:
        signs = np.unpackbits(stored, axis=1).astype(np.float32) * 2.0 - 1.0
        found = signs @ query / np.sqrt(len(query))
    elif precision == INT8:
        whole = stored.view(np.int8).astype(np.float32)
        found = whole @ query / np.maximum(np.sqrt(np.square(whole).sum(axis=1)), 1e-12)
    else:
        width = "<f2" if precision == F16 else "<f4"
        found = np.ascontiguousarray(stored).view(width).astype(np.float32) @ query
    clipped: Floats = np.clip(found, -1.0, 1.0).astype(np.float32)
    return clipped


def roughly(
    stored: npt.NDArray[np.uint8], query: Floats, precision: str
) -> npt.NDArray[np.int64] | npt.NDArray[np.float32]:
    """How near stored vectors are, (n,), higher is nearer, as quickly as can be: for choosing candidates.

    Bits are compared as bits (minus the Hamming distance); the others as `similarities` does.
    """
    if precision != BIT:
        return similarities(stored, query, precision)
    wanted = np.packbits(query >= 0)
    is_wide = stored.shape[1] % 8 == 0
    differing = np.ascontiguousarray(stored).view("<u8") ^ wanted.view("<u8") if is_wide else stored ^ wanted
    distances: npt.NDArray[np.int64] = -np.bitwise_count(differing).sum(axis=1, dtype=np.int64)
    return distances


def nearest(
    stored: npt.NDArray[np.uint8], query: Floats, precision: str, count: int
) -> npt.NDArray[np.int64]:
    """The places of about `count` vectors that are roughly nearest; all that tie with the last one are in."""
    if len(stored) <= count:
        return np.arange(len(stored))
    return highest(roughly(stored, query, precision), count)


def highest(values: npt.NDArray[np.int64] | Floats, count: int) -> npt.NDArray[np.int64]:
    """The places of the `count` highest values, and of all that tie with the last of them."""
    if len(values) <= count:
        return np.arange(len(values))
    return np.flatnonzero(values >= np.partition(values, len(values) - count)[len(values) - count])


def are_vectors(stored: bytes, dimensions: int, precision: str) -> bool:
    """Whether stored vectors are such as `encode_vectors` makes: none of zeros, every component a number."""
    if precision == BIT or not stored:
        return True
    kind = {INT8: "i1", F16: "<f2", F32: "<f4"}[precision]
    rows = np.frombuffer(stored, dtype=kind).reshape(-1, dimensions)
    return bool(np.isfinite(rows).all() and rows.any(axis=1).all())


def is_same_answer(one: Floats, other: Floats) -> bool:
    """Whether two unit vectors, (dimensions,) each, can be what one model says to one text."""
    return len(one) == len(other) and float(one @ other) >= _SAME


def agree(stored: npt.NDArray[np.uint8], vectors: Floats, precision: str) -> bool:
    """Whether stored vectors (n, bytes) are those of a model that gives `vectors` (n, dimensions) now.

    A vector that is turned by the angle that `is_same_answer` allows changes about such a part of its bits as
    that angle is of half a circle; twice that is let through, since it varies from text to text.
    """
    if precision == BIT:
        differing = np.bitwise_count(stored ^ encode_vectors(vectors, BIT)).sum(axis=1)
        most = 2 * np.arccos(_SAME) / np.pi * vectors.shape[1]
        return bool((differing <= most).all())
    return all(
        float(similarities(row[None], vector, precision)[0]) >= _SAME
        for row, vector in zip(stored, vectors, strict=True)
    )
