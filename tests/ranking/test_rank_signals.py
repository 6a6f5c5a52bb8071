"""Signals are summed over live rows, in bulk as one by one."""

from __future__ import annotations

import numpy as np
import pytest

from ctx.ranking.groups import Groups
from ctx.ranking.path_words import read_paths
from ctx.ranking.query import prepare
from ctx.storage.views.postings import Postings, encode, pack
from ctx.text.terms import term_hash
from ctx.text.vocabulary import compound_hashes


def test_a_lookup_of_many_terms_equals_single_lookups() -> None:
    chance = np.random.default_rng(3)
    terms = chance.integers(0, 1 << 36, 40)
    pairs = np.unique(chance.integers(0, 40 * 5000, 6000))
    packed = np.sort(pack(terms[pairs // 5000], pairs % 5000, chance.integers(1, 9, len(pairs))))
    postings = Postings(encode(packed), 5000)
    wanted = np.concatenate([terms[::-1][:17], chance.integers(0, 1 << 36, 5), terms[:3]])
    place, row, times = postings.find(wanted)
    assert (np.diff(place) >= 0).all()
    for number, term in enumerate(wanted.tolist()):
        _, rows, counts = postings.find(np.array([term]))
        assert row[place == number].tolist() == rows.tolist()
        assert times[place == number].tolist() == counts.tolist()


def test_a_lookup_of_no_terms_is_empty() -> None:
    postings = Postings(encode(pack(*np.array([[5], [1], [1]]))), 2)
    for found in postings.find(np.zeros(0, dtype=np.int64)):
        assert len(found) == 0


def test_groups() -> None:
    groups = Groups(np.arange(6), np.array([0, 0, 0, 0, 1, 1]), np.array([0, 4]), np.array([4, 2]))
    values = np.array([1.0, 3.0, 3.0, 2.0, 0.0, 5.0])
    assert groups.total(values).tolist() == [9.0, 5.0]
    assert groups.best(values).tolist() == [3.0, 5.0]
    assert groups.best_three(values).tolist() == [8.0, 5.0]
    assert groups.first_at(values == groups.best(values).repeat(groups.counts)).tolist() == [1, 5]


def test_parts_of_groups() -> None:
    groups = Groups(
        np.arange(10, 17), np.array([0, 0, 0, 0, 1, 1, 2]), np.array([0, 4, 6]), np.array([4, 2, 1])
    )
    some, places = groups.among(np.array([0, 2]))
    assert [part.tolist() for part in some] == [[10, 11, 12, 13, 16], [0, 0, 0, 0, 1], [0, 4], [4, 1]]
    assert places.tolist() == [0, 1, 2, 3, 6]
    some, places = groups.where(np.array([True, False, True, False, False, True, True]))
    assert [part.tolist() for part in some] == [[10, 12, 15, 16], [0, 0, 1, 2], [0, 2, 3], [2, 1, 1]]
    assert places.tolist() == [0, 2, 5, 6]


@pytest.mark.parametrize(
    ("path", "words", "in_name", "name"),
    [
        (b"src/session_store.py", "src session store", 2, "sessionStore"),
        (b"lib/HTTPClient.test.ts", "lib http client", 2, "HTTPClient"),
        (b"src/router/index.ts", "src router", 1, "router"),
        (b"index.js", "index", 1, "index"),
        (b".gitignore", "gitignore", 1, "gitignore"),
        (b"a/__init__.py", "a", 1, "a"),
    ],
)
def test_the_words_of_a_path(path: bytes, words: str, in_name: int, name: str) -> None:
    read = read_paths([path])[0]
    assert read.terms.tolist() == [term_hash(word) for word in words.split()]
    assert read.in_name == in_name
    assert read.name == (compound_hashes([name])[0] if in_name > 1 else term_hash(name))


def test_unusual_paths_are_read() -> None:
    for path in (b"\xff\xfe", b"...", b"a/\xe6\x97\xa5.py", b"-", b"x/" * 500 + b"y.c"):
        read_paths([path])


def test_whole_names_of_a_query() -> None:
    query = prepare("where does the session store expire")
    hashes = {whole.hash for whole in query.whole_names}
    assert compound_hashes(["SessionStore"])[0] in hashes
    assert compound_hashes(["session_store_expire"])[0] in hashes
