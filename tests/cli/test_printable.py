"""Names of files, branches and symbols cannot control the terminal."""

from __future__ import annotations

import base64
import os
import subprocess
import unicodedata
from dataclasses import replace

import pytest

from ctx.cli.commands.answer_output import hit_object, print_records
from ctx.text.escaping import display_line, escape_control
from ctx.text.paths import quoted
from ctx.types import Answer, Coverage, Hit, Position

UNSAFE = "\x00\x07\n\x1b\x7f\x80\x9b\x9f\u061c\u200e\u200f\u2028\u202a\u202e\u2066\u2069"
UNSAFE += "\u00ad\u200b\u200c\u200d\u2060\u2064\ufeff\ufffb\U000e0001\U000e0041\U000e007f"


@pytest.mark.parametrize("character", UNSAFE)
def test_no_unsafe_character_is_printed(character):
    assert character not in escape_control(f"a{character}b")
    assert character not in quoted(f"a{character}b")
    assert quoted(f"a{character}b").startswith('"a\\')


def test_no_format_character_of_unicode_is_printed():
    """Category Cf: all but those that show something (UAX #44) and stand before a number or a verse."""
    shown = {
        *range(0x600, 0x606),
        0x6DD,
        0x70F,
        0x890,
        0x891,
        0x8E2,
        0x110BD,
        0x110CD,
        *range(0x13430, 0x13460),
    }
    hidden = [
        chr(code) for code in range(0x110000) if unicodedata.category(chr(code)) == "Cf" and code not in shown
    ]
    assert [hex(ord(one)) for one in hidden if one in escape_control(one)] == []


def test_joiners_stay_in_text_where_a_script_needs_them():
    text = "می\u200cخواهم 👩\u200d💻 क्\u200dष"
    assert display_line(text) == text
    assert "\u200d" not in display_line("get\u200dUser") + display_line("\u200da") + escape_control(text)
    assert display_line("日\u200b本") == "日\ufffd本"


def test_safe_characters_stay():
    assert escape_control("größe 日本 عربي\tx") == "größe 日本 عربي\tx"
    assert quoted("größe 日本 عربي") == "größe 日本 عربي"
    assert quoted("a\u202eb") == '"a\\342\\200\\256b"'


def test_branches_and_paths_of_a_repository(git_ctx, project):
    project.git("checkout", "-q", "-b", "main\u202e\u009b2J")
    project.commit({"lib/\u009b31m\u202e.py": "def renew_everything():\n    return 1\n"})
    for arguments in (("index",), ("search", "renew_everything"), ("status",), ("pin", "HEAD"), ("pin",)):
        for more in (("--color=always",), ()) if arguments[0] == "search" else ((),):
            done = git_ctx(*arguments, *more, cwd=project.path)
            assert done.status == 0, done.err
            assert not {"\u202e", "\u009b"} & set(done.text + done.err), arguments


def test_odd_fields_of_a_hit(capsys):
    also = (b"a/b.py", b"a/\xff.py")
    hit = Hit(
        path="x.py",
        position=Position(0, 1, 1, 1),
        symbol="a\0b",
        kind="function",
        is_test=False,
        language=None,
        blob="01" * 20,
        score=0.5,
        agreement=0.5,
        also_at=tuple(map(os.fsdecode, also)),
    )
    answer = Answer(
        hits=[hit],
        revision="main",
        commit=None,
        tree="02" * 20,
        resolved_by="HEAD",
        coverage=Coverage(complete=True, files=1, chunks=1, skipped={}),
    )
    print_records(answer, b"")
    assert capsys.readouterr().out.split("\0") == ["x.py", "1", "1", "a\ufffdb", "0.5000", ""]
    found = hit_object(hit, False)
    assert found["alsoAt"] == ["a/b.py", "a/\ufffd.py"]
    assert [base64.b64decode(path) for path in found["alsoAtBytes"]] == list(also)
    assert "alsoAtBytes" not in hit_object(replace(hit, also_at=hit.also_at[:1]), False)


@pytest.mark.parametrize("name", ["a\u202eb", "a\u009b2Jb", "a\x1b[2Jb"])
def test_errors_and_hooks_of_a_directory_with_an_odd_name(git_ctx, tmp_path, name):
    odd = tmp_path / name
    odd.mkdir()
    for arguments in (
        ("search", "x"),
        ("-C", str(odd / "nowhere"), "status"),
        ("index",),
        ("search", "x", "--lang", name),
    ):
        done = git_ctx(*arguments, cwd=odd)
        assert done.status in (128, 129)
        assert not {"\u202e", "\u009b", "\x1b"} & set(done.err), arguments
    subprocess.run(["git", "init", "-q", str(odd)], check=True)
    subprocess.run(["git", "-C", str(odd), "config", "core.hooksPath", str(odd / "hooks")], check=True)
    for arguments in (
        ("init", "--no-index"),
        ("init", "--no-index", "--force"),
        ("deinit", "--dry-run"),
        ("deinit",),
    ):
        done = git_ctx(*arguments, cwd=odd)
        assert not {"\u202e", "\u009b", "\x1b"} & set(done.text + done.err), arguments
