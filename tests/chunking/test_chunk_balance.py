"""Large functions: pieces of similar size, the first with the signature, none beginning in a construct."""

from __future__ import annotations

import pytest
from chunk_checks import check

from ctx.chunking import chunk
from ctx.chunking.limits import LIMIT
from ctx.types import Chunk

STATEMENT = "    total = total + measure(the_first_thing, the_second_thing, {})\n"


def pieces(text: str, language: str) -> list[Chunk]:
    source = text.encode()
    check(source, language)
    found = chunk(source, language)
    assert all(one.end - one.start <= LIMIT for one in found)
    return found


def first_lines(text: str, found: list[Chunk]) -> list[str]:
    source = text.encode()
    return [source[one.start : one.end].decode().split("\n")[0].strip() for one in found]


@pytest.mark.parametrize("statements", [24, 30, 47, 60, 100])
def test_a_function_that_is_too_large_is_split_evenly(statements: int) -> None:
    text = 'def measured(total):\n    """Measure."""\n' + "".join(
        STATEMENT.format(i) for i in range(statements)
    )
    found = pieces(text, "python")
    sizes = [one.end - one.start for one in found]
    assert len(found) <= len(text) // LIMIT + 2
    assert max(sizes) < 1.3 * min(sizes)
    assert [one.kind for one in found] == ["function"] + ["block"] * (len(found) - 1)
    assert {one.symbol for one in found} == {"measured"}
    assert [one.names for one in found] == [("measured",)] + [()] * (len(found) - 1)


def test_the_signature_stays_with_the_first_statements_of_a_loop() -> None:
    body = "".join("    " + STATEMENT.format(i) for i in range(26))
    text = "def measured(total):\n    for thing in things:\n" + body
    found = pieces(text, "python")
    assert len(found) == 2
    assert "\n".join(text.split("\n")[:6]) in text.encode()[: found[0].end].decode()


BRANCHES = [
    (
        "python",
        "def measured(total):\n{}",
        "    {} total == {}:\n",
        "    ",
        "        measure_the_things(total, {})\n",
        ("if", "elif"),
        "",
    ),
    (
        "go",
        "package p\n\nfunc measured(total int) {{\n{}\n}}\n",
        "{} total == {} {{\n",
        "",
        "\t\tmeasureTheThings(total, {})\n",
        ("\tif", "} else if"),
        "\t}",
    ),
    (
        "rust",
        "fn measured(total: u32) {{\n{}\n}}\n",
        "{} total == {} {{\n",
        "",
        "        measure_the_things(total, {});\n",
        ("    if", "} else if"),
        "    }",
    ),
    (
        "java",
        "class A {{\n  void measured(int total) {{\n{}\n  }}\n}}\n",
        "{} (total == {}) {{\n",
        "",
        "      measureTheThings(total, {});\n",
        ("    if", "} else if"),
        "    }",
    ),
]


@pytest.mark.parametrize(
    ("language", "whole", "head", "indent", "statement", "words", "close"),
    BRANCHES,
    ids=lambda one: str(one)[:6],
)
def test_a_chain_of_branches_is_split_between_statements(
    language: str, whole: str, head: str, indent: str, statement: str, words: tuple[str, str], close: str
) -> None:
    chain = ""
    for branch in range(6):
        chain += head.format(words[branch > 0], branch)
        chain += "".join(statement.format(branch * 100 + number) for number in range(20))
        if branch == 5 or language == "python":
            chain += close
        else:
            chain += close[:-1]
    text = whole.format(chain)
    found = pieces(text, language)
    assert len(found) > 2
    for line in first_lines(text, found)[1:]:
        assert line.startswith("measure"), line
