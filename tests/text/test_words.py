"""Words: texts in bulk and queries are split and hashed into the same terms."""

from __future__ import annotations

import random
import re
import unicodedata

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ctx.models.static_embedding import static_embedding
from ctx.text import runs
from ctx.text.query import read_query, terms_in, tokens, words_of
from ctx.text.stem import stem
from ctx.text.table import HashTable
from ctx.text.terms import ascii_words, term_hash
from ctx.text.vocabulary import Counts, Vocabulary, compound_hash, compound_hashes, exact_hash, exact_hashes

CODE = st.text("abcsvAIXYZ019_ .\n", max_size=60)
SCRIPTS = st.text(
    st.sampled_from("abzAZ09_ .-\n\r\0éÉßøñçàйёЖяΣσς中文字検索カナかなไทยאב한국“”—…😀𝔘½²ﬁ\u0301"), max_size=60
)


def read(text: str | bytes) -> Counts:
    """Return the terms of one text as indexed."""
    source = text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass")
    return Vocabulary(static_embedding().row).read(source, [(0, len(source))]).terms


def indexed(text: str | bytes) -> set[int]:
    """Return the hashes of the terms of one text as indexed."""
    return set(read(text).word.tolist())


@given(st.one_of(CODE, st.text(st.characters(max_codepoint=127), max_size=60)))
@example("parseHTTPHeader_v2 XMLHttpRequest ABCd A1b2C3 __init__ _ 9to5")
@example("getURLs APIs_v2 IPv4Address URLIsValid XSs XSsX ASs AsIs URLses IPvX s v ABv")
def test_texts_and_queries_split_ascii_alike(text: str) -> None:
    source = text.encode()
    found = runs.scan(source)
    bulk = [
        source[start:end].decode().lower()
        for start, end in zip(found.word_start, found.word_end, strict=True)
    ]
    assert bulk == [word for run in re.findall(r"\w+", text, re.ASCII) for word in ascii_words(run)]


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("URLs", "urls"),
        ("getURLsFor", "get urls for"),
        ("userIDs_2", "user ids 2"),
        ("HTTPServer", "http server"),
        ("isURLStyle", "is url style"),
        ("URLIsValid", "url is valid"),
        ("toJSONAsText", "to json as text"),
        ("IPv4Address", "ipv 4 address"),
        ("ipv4", "ipv 4"),
        ("SHA256", "sha 256"),
        ("x86_64", "x 86 64"),
        ("DBVersion", "db version"),
        ("IsAs", "is as"),
    ],
)
def test_identifiers_are_split_into_words(name: str, words: str) -> None:
    assert ascii_words(name) == words.split()


@given(st.binary(max_size=80))
def test_runs_are_maximal_ranges_of_letters_digits_underscores_and_non_ascii_bytes(source: bytes) -> None:
    found = runs.scan(source)
    expected = [match.span() for match in re.finditer(rb"[A-Za-z0-9_\x80-\xff]+", source)]
    assert list(zip(found.run_start.tolist(), found.run_end.tolist(), strict=True)) == expected
    assert found.foreign.tolist() == [not source[start:end].isascii() for start, end in expected]
    assert found.numeric.tolist() == [source[start : start + 1].isdigit() for start, _ in expected]
    inside = [expected[run] for run in found.word_run.tolist()]
    words = zip(found.word_start.tolist(), found.word_end.tolist(), strict=True)
    assert all(run[0] <= start < end <= run[1] for run, (start, end) in zip(inside, words, strict=True))


@given(st.lists(st.from_regex(r"[A-Za-z]?[a-z]{0,20}|[0-9]{1,20}", fullmatch=True), min_size=1, max_size=30))
@example(["Session", "session", "sessions", "a", "A", "12345678", "123456789"])
def test_hashes_are_equal_if_and_only_if_lower_case_is(words: list[str]) -> None:
    words = [word for word in words if word]
    found = runs.scan(" ".join(words).encode())
    by_hash: dict[int, set[str]] = {}
    for word, hashed in zip(words, found.word.tolist(), strict=True):
        by_hash.setdefault(hashed, set()).add(word.lower())
    assert all(len(same) == 1 for same in by_hash.values())
    assert len(by_hash) == len({word.lower() for word in words})


NAME_BYTES = [byte for byte in range(256) if re.fullmatch(rb"[\w\x80-\xff]", bytes([byte]))]


@given(st.lists(st.lists(st.sampled_from(NAME_BYTES), min_size=1, max_size=40).map(bytes), max_size=20))
def test_exact_names_have_distinct_hashes(names: list[bytes]) -> None:
    _, hashes = runs.exact_runs(b"\n".join(names))
    assert len(set(hashes.tolist())) == len(set(names))
    assert (hashes == hashes[[names.index(name) for name in names]]).all()


@given(SCRIPTS)
@example("SessionStore обновляет сессию 期限切れの crée café cafe\u0301 “quoted”—dash")
def test_the_words_of_a_text_match_it(text: str) -> None:
    """Every term of a query is in a text of the same words, in any script."""
    missing = [
        term.word for term in read_query(text) if term.weight >= 1.0 and term.hash not in indexed(text)
    ]
    # What begins with a digit counts in texts only as a whole number; a compound only in plain ASCII runs.
    exempt = {word for token in tokens(text) if token[0].isdigit() for word in words_of(token)}
    compounds = {token for token in tokens(text) if len(words_of(token)) > 1}
    assert not set(missing) - exempt - compounds


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("// обновляет СЕССИЮ", "сессию"),
        ("# ёлка", "елка"),
        ("# crée la clé", "cle"),
        ("# cree la cle", "clé"),
        (unicodedata.normalize("NFD", "# crée la clé"), "clé"),
        ("# crée la clé", unicodedata.normalize("NFD", "clé")),
        ("期限切れのセッションを削除する", "セッション"),
        ("删除过期的会话", "会话"),
        ("“SessionStore”", "session"),
        ("größe_der_tabelle", "tabelle"),
        ("naïveParser", "parser"),
        ("SESSION_TIMEOUT", "timeout"),
        ("HTTPServer2Connection", "server"),
        ("getURLsFor", "url"),
        ("APIs", "api"),
        ("IPv6Address", "ipv"),
    ],
)
def test_scripts_cases_and_accents_are_normalized(text: str, query: str) -> None:
    terms = read_query(query)
    assert terms
    assert {term.hash for term in terms if term.weight >= 1.0} <= indexed(text)


def test_latin_1_bytes_are_letters() -> None:
    terms = {term.hash for term in read_query("clé")}
    assert terms <= indexed("# crée la clé".encode("latin-1"))


@pytest.mark.parametrize(
    "family",
    [
        "register registers registered registering registration registrations",
        "save saves saved saving",
        "class classes",
        "query queries queried querying",
        "index indexes indexed indexing",
        "parse parses parsed parser parsing",
        "cache caches cached caching",
        "connect connects connected connection connections connecting",
        "retry retries retried retrying",
        "delete deletes deleted deleting deletion",
        "create creates created creating creator creation",
        "configure configures configured configuring configuration",
        "resolve resolves resolved resolver resolving resolution",
        "cluster clusters clustered clustering",
        "render renders rendered renderer rendering",
        "filter filters filtered filtering",
        "process processes processed processing processor",
        "validate validates validated validating validator validation",
        "encode encodes encoded encoding encoder",
        "tokenize tokenizes tokenized tokenizer tokenization tokenizing",
        "copy copies copied copying",
        "stop stops stopped stopping",
        "run runs running",
        "match matches matched matching matcher",
        "use uses used using",
        "response responses",
        "process processes processed processing",
        "error errors",
        "key keys",
        "entity entities",
    ],
)
def test_forms_of_a_word_have_one_stem(family: str) -> None:
    stems = {word: stem(word) for word in family.split()}
    assert len(set(stems.values())) == 1, stems


@pytest.mark.parametrize(
    "words",
    [
        "status state static",
        "string struct",
        "class clash",
        "user use",
        "test text",
    ],
)
def test_different_words_have_different_stems(words: str) -> None:
    assert len({stem(word) for word in words.split()}) == len(words.split())


@given(st.from_regex(r"[a-z]{1,14}", fullmatch=True))
def test_a_stem_is_shorter_and_never_empty(word: str) -> None:
    assert 0 < len(stem(word)) <= len(word)
    if len(word) < 4:
        assert stem(word) == word


@given(st.lists(st.one_of(CODE, SCRIPTS), min_size=1, max_size=6))
def test_counting_together_or_apart_gives_equal_counts(texts: list[str]) -> None:
    sources = [text.encode() for text in texts]
    joined, bounds, at = b"\n".join(sources), [], 0
    for source in sources:
        bounds.append((at, at + len(source)))
        at += len(source) + 1
    together = Vocabulary(static_embedding().row).read(joined, bounds)
    used = Vocabulary(static_embedding().row)
    for number, source in enumerate(sources):
        for one in (used, Vocabulary(static_embedding().row)):
            alone = one.read(source, [(0, len(source))])
            for whole, part in ((together.terms, alone.terms), (together.rows, alone.rows)):
                here = whole.text == number
                assert whole.word[here].tolist() == part.word.tolist()
                assert whole.times[here].tolist() == part.times.tolist()
            assert together.lengths[number] == alone.lengths[0]


def test_counts_are_sorted_and_distinct() -> None:
    counts = read("b a b c a b " * 50 + "éa éa")
    assert counts.word.tolist() == sorted(set(counts.word.tolist()))
    two = Vocabulary(static_embedding().row).read(b"abc abc def", [(0, 7), (8, 11)]).terms
    assert two.text.tolist() == [0, 1]
    assert two.times.tolist() == [2, 1]


def test_a_run_belongs_to_the_text_in_which_it_begins() -> None:
    reading = Vocabulary(static_embedding().row).read(b"alpha beta gamma", [(0, 8), (8, 16)])
    assert reading.lengths.tolist() == [2, 1]


def test_compounds_are_equal_in_all_notations() -> None:
    spellings = ["SessionStore", "session_store", "sessionStore", "SESSION_STORE"]
    assert len(set(compound_hashes(spellings))) == 1
    for spelling in spellings:
        assert compound_hashes(["sessionStore"])[0] in indexed(f"x = {spelling}()")
        assert compound_hashes(["sessionStore"])[0] in terms_in(spelling)
    assert compound_hashes(["sessionStore"])[0] not in indexed("sessionstore")
    assert compound_hashes(["sessionStore"])[0] in {term.hash for term in read_query("session store")}


def test_single_and_bulk_hashes_of_names_are_equal() -> None:
    chance = random.Random(7)
    names = ["".join(chance.choices("abcISXYZv019__", k=chance.randint(1, 40))) + "x" for _ in range(2000)]
    assert compound_hashes(names) == [compound_hash(ascii_words(name)) for name in names]
    names += ["".join(chance.choices("aZ9_é語", k=chance.randint(1, 40))) for _ in range(200)]
    assert exact_hashes(names) == [exact_hash(name) for name in names]


def test_stop_words_count_neither_in_texts_nor_in_queries() -> None:
    assert [term.word for term in read_query("where is the session")] == ["session"]
    assert term_hash("where") not in indexed("where is the session")
    assert read_query("   ?! ") == []


def test_numbers_count_as_whole_numbers_only() -> None:
    assert term_hash("404") in indexed("status 404")
    assert term_hash("404") not in indexed("404px")
    assert term_hash("12") not in indexed("12")


def test_a_reset_vocabulary_reads_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    text = " ".join(f"word{chr(97 + i % 26)}{chr(97 + i // 26)} слово{i}" for i in range(300)).encode()
    expected = Vocabulary(static_embedding().row).read(text, [(0, len(text))])
    monkeypatch.setattr("ctx.text.vocabulary._MOST_WORDS", 20)
    small = Vocabulary(static_embedding().row)
    for _ in range(3):
        again = small.read(text, [(0, len(text))])
        assert again.terms.word.tolist() == expected.terms.word.tolist()
        assert again.rows.word.tolist() == expected.rows.word.tolist()


@given(st.lists(st.integers(0, 2**64 - 1), unique=True, max_size=300), st.integers(1, 4))
def test_a_hash_table_numbers_in_the_order_of_adding(hashes: list[int], bits: int) -> None:
    table = HashTable(bits)
    array = np.array(hashes, dtype=np.uint64)
    half = len(array) // 2
    table.add(array[:half])
    assert (table.look_up(array[half:]) == -1).all()
    table.add(array[half:])
    assert table.look_up(array).tolist() == list(range(len(array)))
    assert table.count == len(array)


def test_a_hash_table_takes_colliding_hashes() -> None:
    same_slot = np.arange(1, 200, dtype=np.uint64)
    table = HashTable(2)
    for hashed in same_slot:
        table.add(np.array([hashed]))
    assert table.look_up(same_slot).tolist() == list(range(199))
    assert table.look_up(np.array([0, 1000], dtype=np.uint64)).tolist() == [-1, -1]
