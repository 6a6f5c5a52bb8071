"""Segments and views: round trips through merging, masking and files, in every order."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctx.errors import Damaged
from ctx.indexing import prepare
from ctx.ranking.corpus import Corpus
from ctx.storage import arrays
from ctx.storage.store import Store
from ctx.storage.views import postings, segments, view
from ctx.storage.views.catalog import Catalog
from ctx.storage.views.segments import Key, Segment, SegmentPart
from ctx.storage.views.view import Group, View

WIDTH = 16


def key(number: int, language: str = "python") -> Key:
    """Return the key of a document."""
    return number.to_bytes(20, "big"), language


def part(documents: dict[Key, int], first: int = 0) -> SegmentPart:
    """Return documents with these numbers of rows; term t is in every row divisible by t."""
    rows = sum(documents.values())
    values = [(term, row) for term in (1, 2, 3, 7) for row in range(0, rows, term)]
    terms, places = np.array(values, dtype=np.int64).reshape(-1, 2).T
    return SegmentPart(
        list(documents),
        list(documents.values()),
        (np.arange(rows * WIDTH, dtype=np.int64) + first).astype(np.uint8).reshape(rows, WIDTH),
        np.arange(rows, dtype=np.int64) + first,
        np.arange(rows, dtype=np.int64).astype(np.uint8) % 7,
        postings.pack(terms, places, np.ones(len(terms), dtype=np.int64)),
    )


def contents(segment: Segment) -> dict[Key, list[tuple[bytes, int, int, frozenset[int]]]]:
    """Return the content of a segment for each document, row by row."""
    found = {}
    terms = {term: set(segment.postings.find(np.array([term]))[1].tolist()) for term in (1, 2, 3, 7)}
    for document in range(segment.documents):
        start, end = int(segment.document_start[document]), int(segment.document_end[document])
        found[segment.key(document)] = [
            (
                segment.bits[row].tobytes(),
                int(segment.lengths[row]),
                int(segment.kinds[row]),
                frozenset(term for term, rows in terms.items() if row in rows),
            )
            for row in range(start, end)
        ]
    return found


DOCUMENTS = st.dictionaries(
    st.tuples(st.integers(0, 2**160 - 1), st.sampled_from(["", "python", "go"])).map(lambda pair: key(*pair)),
    st.integers(0, 6),
    min_size=1,
    max_size=12,
)


@given(DOCUMENTS, st.data())
def test_segments_find_their_documents_and_no_others(documents: dict[Key, int], data: st.DataObject) -> None:
    segment = Segment(*segments.build([part(documents)]))
    order = data.draw(st.permutations(list(documents)))
    found = segment.find(order)
    assert [segment.key(int(place)) for place in found] == order
    strangers = [(oid, "rust") for oid, _ in order] + [(b"\xff" * 19 + oid[:1], "go") for oid, _ in order]
    strangers = [stranger for stranger in strangers if stranger not in documents]
    assert (segment.find(strangers) == -1).all()
    assert (segment.find([(b"\1" * 32, "go"), (b"\2" * 32, "")]) == -1).all()
    assert len(segment.find([])) == 0


def test_ids_with_equal_prefixes_are_distinguished() -> None:
    documents = {(b"\5" * 12 + bytes([i]) * 8, language): 1 for i in range(9) for language in ("", "go")}
    segment = Segment(*segments.build([part(documents)]))
    assert [segment.key(int(place)) for place in segment.find(list(documents))] == list(documents)


@given(DOCUMENTS, st.data())
def test_parts_of_segments_make_segments_of_the_same_content(
    documents: dict[Key, int], data: st.DataObject
) -> None:
    whole = Segment(*segments.build([part(documents)]))
    kept = data.draw(st.sets(st.sampled_from(range(whole.documents)), min_size=1))
    again = Segment(*segments.build([whole.part(kept)]))
    expected = contents(whole)
    assert contents(again) == {whole.key(one): expected[whole.key(one)] for one in kept}
    rest = set(range(whole.documents)) - kept
    if rest:
        both = Segment(*segments.build([whole.part(rest), whole.part(kept)]))
        assert contents(both) == expected


def test_segments_in_files_are_those_in_memory(tmp_path: Path) -> None:
    catalog = Catalog(Store(str(tmp_path)), "d", 1)
    name = catalog.add_segment(*segments.build([part({key(1): 3, key(2, ""): 2})]))
    fresh = Catalog(Store(str(tmp_path)), "d", 1)
    assert contents(fresh.segment(name)) == contents(catalog.segment(name))
    assert name == catalog.add_segment(*segments.build([part({key(1): 3, key(2, ""): 2})]))
    assert name != catalog.add_segment(*segments.build([part({key(1): 3, key(2, "go"): 2})]))
    assert [found for found, _ in fresh.segments()][-1:] == [name]
    assert list(Catalog(Store(str(tmp_path)), "d", 2).segments()) == []
    folder = tmp_path / "ctx" / "views" / "d-w1"
    one, other = sorted(folder.iterdir())
    other.write_bytes(one.read_bytes())
    with pytest.raises(Damaged, match="does not match its name"):
        Catalog(Store(str(tmp_path)), "d", 1).segment(other.name)


def test_a_damaged_segment_is_written_again(tmp_path: Path) -> None:
    catalog = Catalog(Store(str(tmp_path)), "d", 1)
    made = segments.build([part({key(1): 3})])
    name = catalog.add_segment(*made)
    file = tmp_path / "ctx" / "views" / "d-w1" / name
    file.write_bytes(b"")
    with pytest.raises(Damaged):
        Catalog(Store(str(tmp_path)), "d", 1).segment(name)
    assert catalog.add_segment(*made) == name
    assert contents(Catalog(Store(str(tmp_path)), "d", 1).segment(name)) == contents(Segment(*made))


@pytest.mark.parametrize("lost", ["document_end", "row_bits", "term_rest", "document_order"])
def test_a_segment_that_lacks_an_array_or_has_another_is_damaged(lost: str) -> None:
    whole, meta = segments.build([part({key(1): 3, key(2): 4})])
    with pytest.raises(Damaged):
        Segment({name: array for name, array in whole.items() if name != lost}, meta)
    with pytest.raises(Damaged):
        Segment(whole | {lost: whole[lost][:-1]}, meta)
    with pytest.raises(Damaged):
        Segment(whole, meta | {"format": 99})


def group(number: int, files: dict[bytes, Key | None]) -> Group:
    """Return the files of one cluster."""
    return Group(
        bytes([number]) * 20,
        list(files),
        list(files.values()),
        np.full(len(files), number, dtype=np.uint8),
        np.full((len(files), WIDTH), number, dtype=np.uint8),
        [np.array([number, place], dtype=np.int64) for place in range(len(files))],
    )


GROUPS = [
    group(1, {b"a.py": key(1), b"b.py": key(2), b"logo": None}),
    group(2, {b"c/copy.py": key(1), b"c/e.py": key(3)}),
]


def places(found: list[Segment]) -> dict[Key, tuple[int, int]]:
    """Return the location of each document, in the first segment that has it."""
    return {
        segment.key(document): (number, document)
        for number, segment in reversed(list(enumerate(found)))
        for document in range(segment.documents)
    }


def made_view(groups: list[Group], found: list[Segment]) -> View:
    """Return a view over some segments."""
    names = [f"segment-{number}" for number in range(len(found))]
    return View(*view.build(groups, places(found), names, b"tree", {"binary": 1}), found)


def test_views_round_trip_through_their_groups() -> None:
    one = Segment(*segments.build([part({key(1): 3, key(9): 2})]))
    two = Segment(*segments.build([part({key(2): 1, key(3): 0})]))
    made = made_view(GROUPS, [one, two])
    assert made.skipped == {"binary": 1}
    assert made.paths == [b"a.py", b"b.py", b"logo", b"c/copy.py", b"c/e.py"]
    assert [made.path(i) for i in range(5)] == made.paths
    assert made.live_documents(0).tolist() == [True, False]
    again = made.groups()
    for group_ in GROUPS:
        found = again[group_.key]
        assert (found.paths, found.documents) == (group_.paths, group_.documents)
        assert (found.flags == group_.flags).all()
        assert (found.vectors == group_.vectors).all()
        assert [terms.tolist() for terms in found.terms] == [terms.tolist() for terms in group_.terms]
    corpus = Corpus(made)
    assert (corpus.live_rows, corpus.live_document_count) == (4, 3)
    assert corpus.shown[corpus.file_document[0]] == 0
    with pytest.raises(Damaged):
        View(*view.build(GROUPS, places([one, two]), ["segment-0", "segment-1"], b"tree", {}), [one])


def test_an_empty_view() -> None:
    made = View(*arrays.decode(arrays.encode(*view.build([], {}, [], b"tree", {}))), [])
    assert (made.files, made.paths, made.groups()) == (0, [], {})
    assert Corpus(made).live_rows == 0


def test_the_sums_of_a_corpus_do_not_depend_on_the_segments() -> None:
    documents = {key(i): 1 + i % 4 for i in range(1, 12)}
    whole = Segment(*segments.build([part(documents)]))
    halves = [
        Segment(*segments.build([whole.part(range(5, 11))])),
        Segment(*segments.build([whole.part(range(7))])),
    ]
    files = [group(1, {b"f%d.py" % i: key(i) for i in range(2, 10)})]
    one = Corpus(made_view(files, [whole]))
    two = Corpus(made_view(files, halves))
    for corpus in (one, two):
        assert corpus.live_rows == sum(documents[key(i)] for i in range(2, 10))
    assert one.live_length == two.live_length
    for term in (1, 2, 3, 7, 99):
        assert len(one.find(np.array([term])).row) == len(two.find(np.array([term])).row)


@pytest.mark.parametrize("sizes", [[7000] * 12, [100] * 30, [7999, 7999, 7999, 7999, 7999], [1] * 5])
def test_merging_never_makes_more_rows_than_a_segment_holds(tmp_path: Path, sizes: list[int]) -> None:
    catalog = Catalog(Store(str(tmp_path)), "d", 1)
    used = []
    wanted: list[Key] = []
    for number, rows in enumerate(sizes):
        documents = {key(1000 * number + i): rows // 10 or 1 for i in range(min(rows, 10))}
        name = catalog.add_segment(*segments.build([part(documents)]))
        used.append((name, catalog.segment(name)))
        wanted += documents
    located = prepare.Located.among(wanted, used)
    assert not len(located.missing())
    merged = prepare._merged(located, catalog).used
    assert len(merged) < len(used)
    assert all(segment.rows <= postings.MAX_ROWS for _, segment in merged)
    for one in wanted:
        assert sum(int(segment.find([one])[0]) >= 0 for _, segment in merged) == 1
    before = {one: rows for _, segment in used for one, rows in contents(segment).items()}
    after = {one: rows for _, segment in merged for one, rows in contents(segment).items()}
    assert after == before
