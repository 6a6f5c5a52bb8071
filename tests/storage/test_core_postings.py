"""Postings: round trips, by term and for a whole segment."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ctx.errors import Damaged
from ctx.storage.views import postings
from ctx.storage.views.postings import MAX_ROWS, Postings
from ctx.text.runs import HASH_BITS

TERMS = st.one_of(
    st.integers(0, 2**HASH_BITS - 1), st.sampled_from([0, 1, 255, 256, 2**HASH_BITS - 1, 0xB_0000_0000])
)
TRIPLES = st.dictionaries(
    st.tuples(TERMS, st.integers(0, postings.MAX_ROWS - 1)), st.integers(1, 400), max_size=80
)


FREQUENCIES = (1, 2, 3, 6)
"""Stored frequencies of a term in a row (docs/format.md)."""


def nearest(count: int) -> int:
    """Return the stored frequency for a count."""
    return max(known for known in FREQUENCIES if known <= count)


def packed(triples: dict[tuple[int, int], int]) -> np.ndarray:
    """Return sorted packed values for counts by (term, row)."""
    terms, rows = np.array([*triples], dtype=np.int64).reshape(-1, 2).T
    values = postings.pack(terms, rows, np.array([*triples.values()], dtype=np.int64))
    values.sort()
    return values


def find(encoded: Postings, term: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows of one term and their frequencies."""
    _, rows, frequencies = encoded.find(np.array([term], dtype=np.int64))
    return rows, frequencies


@given(TRIPLES)
@example({(7, 0): 1})
@example({(7, 65535): 1, (8, 0): 1})
@example({(7, row): 1 for row in range(300)})
def test_find_returns_the_packed_values(triples: dict[tuple[int, int], int]) -> None:
    arrays = postings.encode(packed(triples))
    encoded = Postings(arrays, MAX_ROWS)
    for term in {term for term, _ in triples}:
        rows, frequencies = find(encoded, term)
        expected = sorted((row, nearest(count)) for (one, row), count in triples.items() if one == term)
        assert list(zip(rows.tolist(), frequencies.tolist(), strict=True)) == expected
        for other in (term ^ 1, term ^ 256, term ^ (1 << (HASH_BITS - 1))):
            if other not in {known for known, _ in triples}:
                assert len(find(encoded, other)[0]) == 0


@given(TRIPLES)
@example({})
def test_a_whole_segment_round_trips(triples: dict[tuple[int, int], int]) -> None:
    arrays = postings.encode(packed(triples))
    encoded = Postings(arrays, MAX_ROWS)
    whole = postings.decode_all(encoded)
    assert whole.tolist() == packed({key: nearest(count) for key, count in triples.items()}).tolist()
    again = postings.encode(whole)
    assert all((again[name] == array).all() for name, array in arrays.items())


def test_rows_of_one_byte_and_of_several_decode_alike() -> None:
    dense = packed({(5, row): 1 for row in range(40)})
    sparse = packed({(5, row * 1600): 1 for row in range(40)})
    assert find(Postings(postings.encode(dense), MAX_ROWS), 5)[0].tolist() == list(range(40))
    assert find(Postings(postings.encode(sparse), MAX_ROWS), 5)[0].tolist() == [
        row * 1600 for row in range(40)
    ]


def test_no_postings() -> None:
    empty = Postings(postings.encode(np.zeros(0, dtype=np.uint64)), MAX_ROWS)
    assert len(find(empty, 3)[0]) == 0
    assert len(postings.decode_all(empty)) == 0


def test_many_terms_and_long_ones() -> None:
    """With this many terms there are more buckets; lengths of 255 bytes or more are stored separately."""
    many = np.arange(40_000, dtype=np.int64) * 1_000_003 % 2**HASH_BITS
    every = np.arange(0, postings.MAX_ROWS, 3, dtype=np.int64)
    terms = np.concatenate([many, np.full(len(every), 12_345), np.full(len(every), 2**HASH_BITS - 1)])
    rows = np.concatenate([many % postings.MAX_ROWS, every, every])
    values = postings.pack(terms, rows, np.ones(len(terms), dtype=np.int64))
    values = np.unique(values)
    encoded = Postings(postings.encode(values), MAX_ROWS)
    assert encoded.terms == len(set(terms.tolist()))
    assert encoded.hashes().tolist() == sorted(set(terms.tolist()))
    for term in (12_345, 2**HASH_BITS - 1):
        assert set(find(encoded, term)[0].tolist()) >= set(every.tolist())
    for term in many[::997].tolist():
        assert term % postings.MAX_ROWS in find(encoded, term)[0].tolist()
    assert (postings.decode_all(encoded) == values).all()


def test_merged_counts_equal_pairs_together() -> None:
    one, two = packed({(5, 1): 2, (5, 2): 200, (6, 1): 1}), packed({(5, 1): 3, (5, 2): 100, (7, 9): 4})
    both = np.sort(np.concatenate([one, two]))
    assert (
        postings.merge_counts(both).tolist()
        == packed({(5, 1): 5, (5, 2): 255, (6, 1): 1, (7, 9): 4}).tolist()
    )
    assert postings.merge_counts(one) is one


def test_arrays_that_do_not_fit_are_damaged() -> None:
    whole = postings.encode(packed({(5, 1): 2, (2**HASH_BITS - 1, 2): 2}))
    for name, other in (
        ("term_bucket", whole["term_bucket"][:-1]),
        ("term_bucket", whole["term_bucket"] + np.uint32(1)),
        ("term_rest", whole["term_rest"][:-1]),
        ("term_rest", whole["term_rest"][:, :-1]),
    ):
        with pytest.raises(Damaged):
            Postings(whole | {name: other}, MAX_ROWS)
