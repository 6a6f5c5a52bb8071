"""Files that no one wrote by hand, or no one should have."""

from __future__ import annotations

import pytest
from chunk_checks import check

from ctx.chunking import VERSION, chunk
from ctx.chunking.limits import HARD

LANGUAGES = ["python", "javascript", "java", "kotlin", "rust", "c", "go", "json", "yaml", "markdown", None]


def test_version() -> None:
    assert VERSION == 2


@pytest.mark.parametrize("source", [b"", b"\n", b" \t\r\n\x0b\x0c\n", b"\r\r\r"])
@pytest.mark.parametrize("language", LANGUAGES)
def test_blank(source: bytes, language: str | None) -> None:
    assert chunk(source, language) == []


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize(
    "source",
    [
        b"\0" * 500,
        b"\xff\xfe\xfd" * 300,
        b"\xef\xbb\xbfx = 1\n",
        "\u2028\u2029\u0085 \u3000".encode(),
        b"a\rb\rc\r",
        b"a\x0c\nb\x0c\n",
        b"#!/bin/sh",
        b"/*",
        b'"""',
        b"x" * 3,
    ],
    ids=[
        "nul",
        "no-utf8",
        "bom",
        "separators",
        "returns",
        "form-feeds",
        "shebang",
        "open-comment",
        "open-string",
        "x",
    ],
)
def test_odd_bytes(source: bytes, language: str | None) -> None:
    check(source, language)
    assert chunk(source, language)


@pytest.mark.parametrize("language", ["python", "javascript", "json", "rust", None])
@pytest.mark.parametrize("bracket", [b"(", b"[", b"{"])
def test_deep_nesting(language: str | None, bracket: bytes) -> None:
    check(bracket * 100_000, language)


@pytest.mark.parametrize("language", ["javascript", "json", "c", "markdown", None])
def test_one_line_of_a_megabyte(language: str | None) -> None:
    source = b"[" + b'"aaaa",' * 140_000 + b"0]"
    check(source, language)
    check(b"x" * 1_000_000, language)


def test_long_lines_are_cut_between_characters() -> None:
    source = "é".encode() * 20_000
    for one in chunk(source, None):
        assert one.end - one.start <= HARD
        source[one.start : one.end].decode("utf-8")


def test_a_language_without_a_grammar_is_cut_by_lines() -> None:
    source = b"one two\n\n" * 400
    assert chunk(source, "no-such-language") == chunk(source, None)
    assert len(chunk(source, None)) > 2
