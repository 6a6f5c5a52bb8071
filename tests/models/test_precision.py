"""Stored forms of vectors."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from ctx.errors import UsageError
from ctx.models.centre import Reference, centred
from ctx.models.precision import check_form, encode_vectors, roughly, similarities, truncated
from ctx.storage.arrays import highest
from ctx.storage.vectors import vector_bytes

RANDOM = np.random.default_rng(3)
VECTORS = truncated(RANDOM.standard_normal((400, 64)).astype(np.float32), 64)
QUERY = truncated(RANDOM.standard_normal((1, 64)).astype(np.float32), 64)[0]


@pytest.mark.parametrize(("precision", "error"), [("int8", 0.02), ("f16", 1e-3), ("f32", 1e-6)])
def test_full_vectors_give_cosines(precision: str, error: float) -> None:
    stored = encode_vectors(VECTORS, precision)
    assert stored.shape == (400, vector_bytes(64, precision))
    assert np.abs(similarities(stored, QUERY, precision) - VECTORS @ QUERY).max() < error


def test_bits_mostly_keep_the_order_of_vectors() -> None:
    stored = encode_vectors(VECTORS, "bit")
    assert stored.shape == (400, 8)
    found = similarities(stored, QUERY, "bit")
    assert np.corrcoef(found, VECTORS @ QUERY)[0, 1] > 0.7
    best = int(np.argmax(found))
    # What the exact comparison prefers is among what the quick one lets through.
    assert best in highest(roughly(stored, QUERY, "bit"), 60)


def test_bits_around_a_centre_tell_more() -> None:
    """If all vectors share a direction, their plain signs are nearly equal."""
    shared = truncated(VECTORS + 3.0 * VECTORS[0], 64)
    query = truncated(QUERY[None] + 3.0 * VECTORS[0], 64)
    wanted = set(np.argsort(-(shared @ query[0]))[:20].tolist())
    reference = Reference(QUERY, shared[:16].mean(axis=0))

    def found(documents: np.ndarray, asked: np.ndarray) -> int:
        scores = similarities(encode_vectors(documents, "bit"), asked[0], "bit")
        return len(wanted & set(np.argsort(-scores)[:20].tolist()))

    plain = found(shared, query)
    around = found(centred(shared, reference, "bit"), centred(query, reference, "bit"))
    assert around >= 2 * plain
    assert centred(shared, reference, "int8") is shared


def test_the_nearest_of_full_vectors_are_the_nearest() -> None:
    stored = encode_vectors(VECTORS, "f32")
    wanted = set(np.argsort(-(VECTORS @ QUERY))[:10].tolist())
    assert set(highest(roughly(stored, QUERY, "f32"), 10).tolist()) == wanted


@pytest.mark.parametrize("precision", ["bit", "int8", "f16", "f32"])
def test_many_vectors_are_compared_in_blocks(precision: str) -> None:
    """Each result equals that of a single comparison, in bounded memory."""
    rows = encode_vectors(VECTORS, precision)
    stored = np.ascontiguousarray(np.tile(rows, (500, 1)))
    tracemalloc.start()
    found = similarities(stored, QUERY, precision)
    rough = roughly(stored, QUERY, precision)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 8 << 20  # as float32 the vectors alone are 51 MB
    assert found.shape == rough.shape == (200_000,)
    for at in (0, 399, 4096, 100_001, 199_999):
        assert found[at] == pytest.approx(similarities(rows[at % 400][None], QUERY, precision)[0], abs=1e-6)
        assert rough[at] == pytest.approx(roughly(rows[at % 400][None], QUERY, precision)[0], abs=1e-6)


def test_fewer_dimensions_are_of_unit_length_again() -> None:
    assert np.allclose(np.linalg.norm(truncated(VECTORS, 16), axis=1), 1.0, atol=1e-6)


@pytest.mark.parametrize(("dimensions", "precision"), [(64, "int4"), (63, "bit"), (0, "f32")])
def test_unusable_dimensions_and_precisions_are_refused(dimensions: int, precision: str) -> None:
    with pytest.raises(UsageError):
        check_form(dimensions, precision)
