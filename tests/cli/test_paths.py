"""Paths are quoted as git itself quotes them, and relative to the current directory."""

from __future__ import annotations

import os
import subprocess

import pytest

from ctx.cli.commands.printing import path_fields, well_formed
from ctx.text.paths import quoted, relative_path

ODD = [
    b"plain.py",
    b"with space.py",
    "größe.py".encode(),
    "日本.md".encode(),
    b'quo"te',
    b"back\\slash",
    b"tab\there",
    b"new\nline",
    b"bell\a",
    b"esc\x1b[31m",
    b"del\x7f",
    b"latin-\xe9",
    b"dir/\xff/x",
    b"-dash",
]


def test_quoted_as_git_quotes(tmp_path):
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    blob = subprocess.run(
        ["git", "hash-object", "-w", "--stdin"], cwd=tmp_path, input=b"", capture_output=True, check=True
    ).stdout.strip()
    entries = b"".join(b"100644 " + blob + b"\t" + path + b"\0" for path in ODD)
    subprocess.run(["git", "update-index", "-z", "--index-info"], cwd=tmp_path, input=entries, check=True)
    listed = subprocess.run(
        ["git", "-c", "core.quotePath=false", "ls-files"], cwd=tmp_path, capture_output=True, check=True
    )
    ours = {quoted(os.fsdecode(path)).encode("utf-8", "surrogateescape") for path in ODD}
    theirs = set(listed.stdout.splitlines())
    # git leaves bytes that are not UTF-8 as they are; a terminal cannot show them, so they are escaped here.
    raw = {b"latin-\xe9", b"dir/\xff/x"}
    assert theirs - ours == raw
    assert ours - theirs == {b'"latin-\\351"', b'"dir/\\377/x"'}


@pytest.mark.parametrize(
    ("path", "prefix", "seen"),
    [
        (b"src/a.py", b"", b"src/a.py"),
        (b"src/a.py", b"src", b"a.py"),
        (b"src/a.py", b"docs", b"../src/a.py"),
        (b"src/a.py", b"src/deep/er", b"../../a.py"),
        (b"a\xff/b", b"a\xff", b"b"),
    ],
)
def test_paths_from_here(path, prefix, seen):
    assert relative_path(os.fsdecode(path), prefix) == os.fsdecode(seen)


def test_json_paths():
    assert path_fields("relativePath", b"a/b.py") == {"relativePath": "a/b.py"}
    assert path_fields("relativePath", b"a\xff") == {"relativePath": "a\ufffd", "relativePathBytes": "Yf8="}
    assert well_formed("plain \U0001f600") == "plain \U0001f600"
    assert well_formed("a\udcff\ud83d") == "a\ufffd\ufffd"
