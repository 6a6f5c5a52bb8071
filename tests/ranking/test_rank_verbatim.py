"""A query that looks pasted finds code with the same text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from repositories import Repo

import ctx
from ctx.ranking.pasted import LEAST, pasted, without_frames
from ctx.ranking.verbatim import longest_run
from ctx.types import Hit

ABOUT = "".join(
    f"\n\ndef open_ledger_{number}(path):\n"
    f'    """Open the ledger for reading; a ledger that is missing cannot be opened, which is an error."""\n'
    f"    return open_ledger_file(path, {number})\n"
    for number in range(6)
)
SAYS = "".join(
    f"\n\ndef step_{number}(path):\n"
    + "".join(f"    turn_page_{line}(path, {number}, {line})\n" for line in range(40))
    for number in range(4)
)
MESSAGE = 'def first(path):\n    fail(f"the ledger {path} cannot be opened for reading: is it missing?")\n'
FILES = {
    "src/books.py": '"""Ledgers that are opened for reading."""' + ABOUT,
    "src/odd.py": SAYS + "\n\n" + MESSAGE,
}


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("how are ledgers opened for reading", 0),
        ("ledger file handling", 0),
        ("error handling", 0),
        ("the ledger a.txt cannot be opened for reading", 1),
        ("IOError: no such file", 0),
        ("app.errors.LedgerError: it is missing from here", 1),
        ("open_ledger(path, for_reading, 3)", 1),
        (
            'Traceback (most recent call last):\n  File "b", line 3\n  a(b, c, d)\nE: it cannot be there',
            1,
        ),
        ("", 0),
        ("\x00 \ud800 ''", 0),
    ],
)
def test_detection_of_pasted_queries(text: str, lines: int) -> None:
    found = pasted(without_frames(text))
    assert len(found) == lines
    assert all(len(line) >= LEAST and [token.lower() for token in line] == line for line in found)


@given(*[st.lists(st.sampled_from("abc"), max_size=24)] * 2)
def test_the_longest_common_run(asked: list[str], text: list[str]) -> None:
    spans = [asked[a:b] for a in range(len(asked)) for b in range(a + LEAST, len(asked) + 1)]
    there = [span for span in spans if any(text[at : at + len(span)] == span for at in range(len(text)))]
    run = list(longest_run(asked, text))
    assert len(run) == max(map(len, there), default=0)
    assert not run or run in there


def answer(repo: Repo, query: str, **options: object) -> list[Hit]:
    with ctx.open(repo.path) as index:
        return index.search(query, **options).hits  # type: ignore[arg-type]


PASTED = "LedgerError: the ledger /var/books.txt cannot be opened for reading: is it missing?"


def test_a_message_finds_the_code_that_emits_it(repo: Repo) -> None:
    repo.commit(FILES)
    first = answer(repo, PASTED)[0]
    assert (first.path, first.symbol) == ("src/odd.py", "first")
    assert answer(repo, "how is the ledger opened for reading")[0].path == "src/books.py"


def test_a_message_finds_uncommitted_code(repo: Repo) -> None:
    repo.commit({"src/books.py": FILES["src/books.py"]})
    (repo.path / "src" / "odd.py").write_text(FILES["src/odd.py"])
    assert answer(repo, PASTED)[0].path == "src/odd.py"
    assert answer(repo, PASTED, overlay="committed")[0].path == "src/books.py"


def test_filters_apply_to_texts_that_are_read(repo: Repo) -> None:
    repo.commit(FILES)
    assert {hit.path for hit in answer(repo, PASTED, paths=["src/books.py"])} == {"src/books.py"}


def test_a_range_reads_only_its_own_chunks(repo: Repo) -> None:
    repo.commit({"src/books.py": FILES["src/books.py"]})
    repo.commit({"src/odd.py": FILES["src/odd.py"]})
    with ctx.open(repo.path) as index:
        hits = index.search(PASTED, within="HEAD~1..HEAD").hits
    assert hits[0].symbol == "first"


def test_the_explanation_names_verbatim_text(repo: Repo) -> None:
    repo.commit(FILES)
    with ctx.open(repo.path) as index:
        files = index.search_files(PASTED).hits
    assert files[0].path == "src/odd.py"
    assert "contains text of the question verbatim" in files[0].reasons
    assert not any("contains text of the question verbatim" in file.reasons for file in files[1:])


def test_a_message_below_a_long_trace_is_found(repo: Repo) -> None:
    repo.commit(FILES)
    frames = "".join(
        f'  File "/app/part_{n}.py", line {n}, in call_{n}\n    ledger = open_it({n}, path)\n'
        for n in range(90)
    )
    trace = f"Traceback (most recent call last):\n{frames}{PASTED}"
    assert answer(repo, trace)[0].path == "src/odd.py"


def test_emitting_code_comes_before_quotes_with_values_filled_in(repo: Repo) -> None:
    quoted = f"{PASTED} See the documentation for tests."
    tests = {
        f"tests/test_{n}.py": f"def test_{n}():\n    assert failed({n}) == {quoted!r}\n" for n in range(80)
    }
    repo.commit(FILES | tests | {"docs/faq.md": f"# Faults\n\n{quoted}\n"})
    assert answer(repo, quoted)[0].path == "src/odd.py"


def test_extreme_scores_are_numbers(repo: Repo) -> None:
    repo.commit(
        {"src/many.py": "".join(f"\n\ndef step_{n}(a):\n" + f"    turn(a, {n})\n" * 60 for n in range(250))}
    )
    assert len(answer(repo, "turn the step", limit=400)) > 200


def test_the_limit_does_not_change_the_order(repo: Repo) -> None:
    repo.commit({f"src/{n % 9}/ledger_{n}.py": f"# {n}\n" + ABOUT[: 300 + 7 * n] for n in range(90)})
    few, many = (answer(repo, "open the ledger for reading", limit=limit) for limit in (10, 50))
    assert [(hit.path, hit.position) for hit in few] == [(hit.path, hit.position) for hit in many[:10]]
