"""Storage formats of the vectors of a model service, and their comparison with a query.

`bit`: one bit a dimension, 1 if at or above zero. `int8`: the unit vector times 127 over its largest
component, so that its length has to be divided out. `f16` and `f32`: IEEE 754, little-endian. Scores of
bits only order the hits of one answer; those of the other formats are cosines.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from ctx.errors import UsageError
from ctx.storage.vectors import BITS_A_DIMENSION

BIT, INT8, F16, F32 = "bit", "int8", "f16", "f32"
Vectors = npt.NDArray[np.float32]

_BLOCK = 1 << 18
"""Components of stored vectors that are converted to float32 at once, to bound the memory."""

_SAME = 0.98
"""Minimum cosine of two answers of one model to one text, on any machine and in any batch."""


def check_form(dimensions: int, precision: str) -> None:
    """Raise UsageError for vectors that cannot be stored."""
    if precision not in BITS_A_DIMENSION:
        raise UsageError(f"the precision {precision!r} is not one of {', '.join(BITS_A_DIMENSION)}")
    if dimensions < 8 or dimensions % 8:
        raise UsageError(f"{dimensions} dimensions cannot be stored: give a multiple of 8")


def is_absolute(precision: str) -> bool:
    """Return True if scores of this precision are comparable between answers."""
    return precision != BIT


def truncated(vectors: Vectors, dimensions: int) -> Vectors:
    """Return the first dimensions of each vector at unit length (Matryoshka, Kusupati et al. 2022)."""
    kept = vectors[:, :dimensions].astype(np.float64)
    lengths = np.sqrt(np.square(kept).sum(axis=1, keepdims=True))
    scaled: Vectors = (kept / np.maximum(lengths, 1e-12)).astype(np.float32)
    return scaled


def encode_vectors(vectors: Vectors, precision: str) -> npt.NDArray[np.uint8]:
    """Return unit vectors (n, dimensions) in stored form, (n, bytes) uint8."""
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


def similarities(stored: npt.NDArray[np.uint8], query: Vectors, precision: str) -> Vectors:
    """Return cosines of stored vectors (n, bytes) with a unit query (dimensions,), as (n,) in -1..1.

    The comparison with bits is asymmetric: the query keeps its numbers, and each bit counts as plus or minus
    one over the root of the dimensions, as in a unit vector of these signs.
    """
    found = np.empty(len(stored), dtype=np.float32)
    for rows in _blocks(len(stored), len(query)):
        found[rows] = _cosines(np.ascontiguousarray(stored[rows]), query, precision)
    return np.clip(found, -1.0, 1.0, out=found)


def _cosines(stored: npt.NDArray[np.uint8], query: Vectors, precision: str) -> Vectors:
    if precision == BIT:
        signs = np.unpackbits(stored, axis=1).astype(np.float32)
        # A bit b counts as 2b - 1.
        of_signs: Vectors = (2.0 * (signs @ query) - query.sum()) / np.sqrt(len(query))
        return of_signs
    if precision == INT8:
        whole = stored.view(np.int8).astype(np.float32)
        lengths = np.sqrt(np.einsum("ij,ij->i", whole, whole))
        of_whole: Vectors = (whole @ query) / np.maximum(lengths, 1e-12)
        return of_whole
    numbers: Vectors = stored.view("<f2" if precision == F16 else "<f4").astype(np.float32, copy=False)
    return numbers @ query


def _blocks(count: int, width: int) -> Iterator[slice]:
    """Yield slices of `count` rows of `width` numbers with at most `_BLOCK` numbers each."""
    most = max(1, _BLOCK // max(width, 1))
    return (slice(at, at + most) for at in range(0, count, most))


def roughly(
    stored: npt.NDArray[np.uint8], query: Vectors, precision: str
) -> npt.NDArray[np.int64] | npt.NDArray[np.float32]:
    """Return fast approximate similarities (n,), higher is nearer, for the selection of candidates.

    For bits it is minus the Hamming distance; for the others the result of `similarities`.
    """
    if precision != BIT:
        return similarities(stored, query, precision)
    bits = np.packbits(query >= 0)
    is_wide = stored.shape[1] % 8 == 0
    distances = np.empty(len(stored), dtype=np.int64)
    for rows in _blocks(len(stored), stored.shape[1]):
        block = np.ascontiguousarray(stored[rows])
        differing = block.view("<u8") ^ bits.view("<u8") if is_wide else block ^ bits
        np.negative(np.bitwise_count(differing).sum(axis=1, dtype=np.int64), out=distances[rows])
    return distances


def are_vectors(stored: bytes, dimensions: int, precision: str) -> bool:
    """Return True if no stored vector is zero and all components are finite."""
    if precision == BIT or not stored:
        return True
    kind = {INT8: "i1", F16: "<f2", F32: "<f4"}[precision]
    rows = np.frombuffer(stored, dtype=kind).reshape(-1, dimensions)
    return bool(np.isfinite(rows).all() and rows.any(axis=1).all())


def is_same_answer(one: Vectors, other: Vectors) -> bool:
    """Return True if two unit vectors (dimensions,) can be answers of one model to one text."""
    return len(one) == len(other) and float(one @ other) >= _SAME


def agree(stored: npt.NDArray[np.uint8], vectors: Vectors, precision: str) -> bool:
    """Return True if stored vectors (n, bytes) match the current `vectors` (n, dimensions) of a model.

    Rotating a vector by the angle that `is_same_answer` allows changes a share of its bits that is about the
    angle divided by pi. Twice that is accepted, because it varies between texts.
    """
    if precision == BIT:
        differing = np.bitwise_count(stored ^ encode_vectors(vectors, BIT)).sum(axis=1)
        most = 2 * np.arccos(_SAME) / np.pi * vectors.shape[1]
        return bool((differing <= most).all())
    return all(
        float(similarities(row[None], vector, precision)[0]) >= _SAME
        for row, vector in zip(stored, vectors, strict=True)
    )
