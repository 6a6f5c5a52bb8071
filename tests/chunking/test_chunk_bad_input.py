"""Malformed, generated and hostile files."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest
from chunk_checks import check

from ctx.chunking import VERSION, chunk, grammars
from ctx.chunking.grammars import load
from ctx.chunking.limits import HARD

if TYPE_CHECKING:
    from tree_sitter import Point, Tree

LANGUAGES = ["python", "javascript", "java", "kotlin", "rust", "c", "go", "json", "yaml", "markdown", None]


def test_version() -> None:
    assert VERSION == 4


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


@pytest.mark.parametrize(
    ("language", "unit"),
    [
        ("ocaml", b"(* \n"),
        ("ocaml", b'(* "*)"\n'),
        ("ocaml_interface", b"(*\n"),
        ("kotlin", b'"${\n'),
        ("html", b"<a>\n"),
        ("html", b"<script " * 8 + b"\n"),
        ("xml", b"<a>\n"),
        ("xml", b'<a b="\n'),
        ("xml", b'<a b="\n' * 48 + b">\n"),
        ("vue", b"<template>\n"),
        ("svelte", b"<a b='\n"),
    ],
)
def test_brackets_that_never_close_are_split_by_lines(language: str, unit: bytes) -> None:
    check(unit * (1_000_000 // len(unit)), language)


@pytest.mark.parametrize(
    ("language", "unit"), [("html", b"<p>a<br>\n<b>c</b>\n"), ("xml", b"<a/><b>c</b>\n"), ("kotlin", b"{}\n")]
)
def test_brackets_that_close_are_parsed_in_any_number(language: str, unit: bytes) -> None:
    assert grammars.parse(unit * 2_000, language) is not None


@pytest.mark.parametrize("language", ["javascript", "json", "c", "markdown", None])
def test_one_line_of_a_megabyte(language: str | None) -> None:
    source = b"[" + b'"aaaa",' * 140_000 + b"0]"
    check(source, language)
    check(b"x" * 1_000_000, language)


@pytest.mark.parametrize("language", ["javascript", "typescript", "kotlin", "java", "go", "c", "css"])
@pytest.mark.parametrize("line", [b"a = b /* c d e\n", b"/*\n", b"{ /*\n"])
def test_a_scanner_that_searches_for_a_missing_end_is_stopped(
    language: str, line: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = line * 20_000
    loaded = load(language)
    assert loaded is not None
    parser, grammar = loaded
    read = 0

    class Watched:
        def parse(self, text: Callable[..., memoryview], **options: object) -> Tree:
            def counted(offset: int, point: Point) -> memoryview:
                nonlocal read
                piece = text(offset, point)
                read += len(piece)
                return piece

            # Passes options through, for which the overloads of the stubs have no signature.
            return parser.parse(counted, **options)  # type: ignore[call-overload,no-any-return]

        def reset(self) -> None:
            parser.reset()

    monkeypatch.setattr(grammars, "load", lambda name: (Watched(), grammar))
    check(source, language)
    monkeypatch.undo()
    assert read < 2 * (2 * grammars._FREE_READS + 2 * len(source) * grammars._READS_PER_BYTE)
    assert len(chunk(b"x = 1; /* a */\n" * 200, language)) > 1, "the parser can be used for the next file"


def test_long_lines_are_split_between_characters() -> None:
    source = "é".encode() * 20_000
    for one in chunk(source, None):
        assert one.end - one.start <= HARD
        source[one.start : one.end].decode("utf-8")


def test_a_language_without_a_grammar_is_split_by_lines() -> None:
    source = b"one two\n\n" * 400
    assert chunk(source, "no-such-language") == chunk(source, None)
    assert len(chunk(source, None)) > 2
