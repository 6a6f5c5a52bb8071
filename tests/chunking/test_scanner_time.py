"""Scanners of untrusted text take linear time: with a quadratic one these inputs would not end."""

from __future__ import annotations

import pytest

from ctx.chunking import chunk
from ctx.chunking.language_table import EXTENSIONS
from ctx.git.formats import parse_commit
from ctx.git.unknown import _without_steps
from ctx.git.wildmatch import compile_pattern
from ctx.pack.neighbours import _NEEDED
from ctx.pack.render import _FENCE
from ctx.pack.task import read_log, read_task
from ctx.ranking.pasted import pasted, without_frames
from ctx.search.dependencies.resolving.javascript import _COMMENT, _TRAILING_COMMA
from ctx.search.evaluation.commits import _MANIFEST
from ctx.storage.views.paths import TEST, flags
from ctx.text.query import tokens
from ctx.text.subjects import _REFERENCE

MIB = 1 << 20
"""The size of the largest file that is indexed."""

WORST = [
    ("html", b"<script>\n"),
    ("html", b"<script "),
    ("vue", b"<style>\n"),
    ("svelte", b"</script "),
    ("markdown", b"# "),
    ("markdown", b"# a# "),
    ("markdown", b"```\n"),
    ("markdown", b"---\n"),
    ("rst", b"a\n---\n"),
    ("rst", b"=-\n"),
    ("org", b"* a "),
    ("typst", b"= a  "),
    ("lua", b"\xff" * 60 + b"\n"),
    ("scala", b"// gr\xfc\xdfe\n"),
    (None, b")"),
    (None, b")\n"),
    (None, b"});\n"),
    (None, b" "),
    (None, b"// "),
    (None, b"\r"),
    (None, b"a "),
    (None, b"\n"),
]

UNITS = [
    *(b"<script>\n", b"<style ", b"<!--", b"</a>", b"<", b">", b"#", b"#\n", b"[", b"]", b"(", b")"),
    *(b"{", b"}", b")\n", b"}\n", b"});\n", b'"', b"'", b"`", b'\\"', b"\\", b"/*", b"*/", b"//\n", b"--\n"),
    *(b"_", b"a_", b"-", b"\xc3\xa9", b"\xff", b"%", b"&", b"::", b"->", b"=>", b",", b"!", b"?", b"0x"),
    *(b"<<A\n", b'R"(', b"{{", b"{%", b'"""', b"'''", b"@a\n", b"@a ", b";\n", b"=", b"x=", b"$(", b"${"),
    *(b" ", b"\t", b"\r\n", b"a ", b"a\n", b"a.", b"a: b\n", b"- a\n", b"  - ", b"* a\n", b"= a\n"),
    *(b"class A {\n", b"def a\n", b"function a(){\n", b"if a then\n", b"test('a', ", b"#if a\n"),
]
LANGUAGES = sorted(set(EXTENSIONS.values()))


def repeated(unit: bytes, size: int = MIB) -> bytes:
    return unit * (size // len(unit))


@pytest.mark.parametrize(("language", "unit"), WORST)
def test_the_largest_file_of_one_unit_is_split(language: str | None, unit: bytes) -> None:
    source = b"x\n" + repeated(unit) + b"x"
    chunks = chunk(source, language)
    assert chunks[0].start == 0
    assert chunks[-1].end == len(source)


@pytest.mark.parametrize("title", [b"[", b"<", b"a" + b"_" * MIB + b"b", b"![a](", b"# #"])
def test_the_largest_heading_is_truncated(title: bytes) -> None:
    assert all(len(part.symbol) <= 100 for part in chunk(b"# " + repeated(title), "markdown"))


def test_line_ends_do_not_change_the_pieces() -> None:
    """A line end of two bytes is not a blank line."""
    text = "\n\n".join(
        "\n".join(f"line {number} of a paragraph {part}" for number in range(30)) for part in range(9)
    )
    cuts = [[one.start for one in chunk(text.replace("\n", end).encode(), None)] for end in ("\n", "\r")]
    assert cuts[0] == cuts[1]
    crlf = text.replace("\n", "\r\n")
    assert [crlf[: one.start].count("\n") for one in chunk(crlf.encode(), None)] == [
        text[:start].count("\n") for start in cuts[0]
    ]


def test_unclosed_tags_before_the_last_bracket() -> None:
    source = repeated(b"<script ") + b"><style>" + b"a {}\n" * 200 + b"</style>"
    assert chunk(source, "html")[-1].end == len(source)


def test_a_megabyte_of_blank_lines_separates_paragraphs() -> None:
    source = b"one\n" + b" " * MIB + b"x\n\n" + b"\t" * MIB + b"\n two"
    last = chunk(source, None)[-1]
    assert source[last.start : last.end].strip() == b"two"


@pytest.mark.parametrize("unit", [b".test", b"_test.", b"version.", b"a.d.", b"Test.java", b"old."])
def test_the_longest_component_of_a_path(unit: bytes) -> None:
    long = repeated(unit)
    assert not flags(long + b"/x.py", "python") & TEST
    assert flags(b"src/" + long + b".test.js", "javascript") & TEST
    assert bool(_MANIFEST.fullmatch(long)) == (unit == b"version.")


@pytest.mark.parametrize(
    "pattern", [b"*a*a*a*a*a*a*a*b", b"**/a/**/a/**/a/**/b", b"[a-z]*[a-z]*[a-z]*1", b"*/*/*/*/b"]
)
def test_patterns_of_ignore_files(pattern: bytes) -> None:
    matches = compile_pattern(pattern, slash_is_special=True)
    assert not matches(b"a" * 4_000 + b"/a" * 200)


@pytest.mark.parametrize("text", ['\\"', '"', "/*", ", ", '"\\'])
def test_json_with_comments(text: str) -> None:
    source = _COMMENT.sub(r"\1", text * (MIB // len(text)))
    assert len(_TRAILING_COMMA.sub(r"\1", source)) <= MIB


MESSAGES = ["-", " ", ":", "(", "fix ", "#", "a$", "aA_", "[", "error: ", "fatal: ", "at ", "1.", "~"]


@pytest.mark.parametrize("unit", MESSAGES)
def test_messages_and_queries(unit: str) -> None:
    text = unit * (MIB // len(unit))
    assert len(_REFERENCE.sub(" ", text)) <= MIB
    assert sum(1 for _ in _NEEDED.finditer(text)) <= MIB
    assert len(pasted(f"error {text} x")) <= 1
    assert len(without_frames(f"{text}\n{text}")) <= 2 * MIB + 1
    assert len(read_log(text)) + len(read_task(text)) <= MIB
    assert len(tokens(text)) <= MIB


def test_blank_lines_before_a_fence() -> None:
    assert _FENCE.findall("\n" * MIB + "```") == ["```"]


@pytest.mark.parametrize("unit", [b"<", b"> <", b" ", b"1"])
def test_the_longest_identity_of_a_commit(unit: bytes) -> None:
    header = b"tree " + b"0" * 40 + b"\nauthor " + repeated(unit) + b"\ncommitter a <b> 1 +0000\n\nsubject\n"
    assert parse_commit(b"\0" * 20, header).subject == "subject"


def test_the_longest_revision() -> None:
    assert _without_steps("a" + "~1^2" * MIB) == "a"
    assert _without_steps("~" * MIB + "x") == "~" * MIB + "x"
    assert [_without_steps(name) for name in ("v1.2", "v2~3", "v2^{tree}")] == ["v1.2", "v2", "v2^{tree}"]


@pytest.mark.parametrize("language", ["python", "javascript", "html", "kotlin"])
def test_common_languages_split_repeated_text(language: str) -> None:
    for unit in UNITS:
        assert chunk(b"x" + repeated(unit, 4_000) + b"x", language)


@pytest.mark.long
@pytest.mark.parametrize("language", LANGUAGES)
def test_every_language_splits_repeated_text(language: str) -> None:
    for unit in UNITS:
        source = b"x" + repeated(unit, 30_000) + b"x"
        assert chunk(source, language)[-1].end == len(source)
