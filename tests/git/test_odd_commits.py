"""Unusual commits: odd encodings, impossible dates."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from repositories import Repo
from ways import program

from ctx.git.formats import parse_commit, seconds

NO_ID = bytes(20)
CODECS = ["undefined", "idna", "punycode", "raw_unicode_escape", "Unicode-Escape", "hex", "mbcs", "\xe9", ""]
TIMES = {
    "0": 0,
    "1600000000": 1_600_000_000,
    "00000000000000000000000000000000001600000000": 1_600_000_000,
    str(2**63 - 1): 2**63 - 1,
    str(2**63): 0,
    str(2**64 - 1): 0,
    "9" * 5000: 0,
    "-5": 0,
    "": 0,
    "\u0663": 0,  # a digit of another script
}


def commit(author: str = "Ada <a@x> 1 +0000", encoding: bytes = b"utf-8", text: bytes = b"said\n") -> bytes:
    head = f"tree {NO_ID.hex()}\nauthor {author}\ncommitter {author}\n".encode()
    return head + b"encoding " + encoding + b"\n\n" + text


@pytest.mark.parametrize("codec", CODECS)
def test_codec_that_is_no_encoding_is_ignored(codec: str) -> None:
    encoding = codec.encode()
    assert parse_commit(NO_ID, commit(encoding=encoding, text="café".encode())).subject == "café"
    assert parse_commit(NO_ID, commit(encoding=encoding, text=b"caf\xe9")).subject == "café"


def test_malformed_encoding_name_is_ignored() -> None:
    for encoding in (b"utf\0-8", b"x" * 100_000, b"\xff\xfe"):
        assert parse_commit(NO_ID, commit(encoding=encoding, text="café".encode())).subject == "café"


def test_known_encodings_are_decoded() -> None:
    for encoding in ("ISO-8859-2", "windows-1251", "Shift_JIS", "UTF-7", "UTF-16"):
        text = "яж" if "1251" in encoding else "ąž" if "8859-2" in encoding else "日本"
        data = commit(encoding=encoding.encode(), text=text.encode(encoding))
        assert parse_commit(NO_ID, data).subject == text
    # UTF-7 can encode half a surrogate pair, which cannot be printed.
    parse_commit(NO_ID, commit(encoding=b"UTF-7", text=b"+2AA-")).subject.encode()


@pytest.mark.parametrize(("written", "read"), TIMES.items())
def test_time_out_of_range_is_the_beginning_of_1970(written: str, read: int) -> None:
    assert seconds(written.encode()) == read
    info = parse_commit(NO_ID, commit(f"Ada <a@x> {written} +0000"))
    assert (info.author_name, info.author_time, info.committer_time) == ("Ada", read, read)


def test_long_line_of_brackets_is_parsed_in_linear_time() -> None:
    # Searching for the end of each of them would take hours.
    info = parse_commit(NO_ID, commit("Ada " + "<" * 2_000_000 + " 5 +0000"))
    assert (info.author_name, info.author_time) == ("Ada", 0)
    info = parse_commit(NO_ID, commit("Ada <" + "> <" * 1_000_000 + "> 5 -0130"))
    assert (info.author_name, info.author_time, info.committer_offset) == ("Ada", 5, -90)


def odd(repo: Repo, name: str, head: str, parent: bytes) -> bytes:
    """Commit the tree of a commit again with other headers."""
    tree = repo.git("rev-parse", f"{parent.hex()}^{{tree}}").decode()
    text = f"tree {tree}\nparent {parent.hex()}\n{head}\n\n{name} with a parser of invoices\n"
    oid = repo.git("hash-object", "-t", "commit", "-w", "--literally", "--stdin", stdin=text.encode())
    return bytes.fromhex(oid.decode())


@pytest.mark.parametrize(
    "head",
    [
        "author A <a@x> 1 +0000\ncommitter A <a@x> 1 +0000\nencoding undefined",
        f"author A <a@x> {'9' * 5000} +0000\ncommitter A <a@x> {'9' * 5000} +0000",
        f"author A <a@x> {2**63} +0000\ncommitter A <a@x> {2**64 - 1} +0000",
        f"author A <a@x> {2**63 - 1} +0000\ncommitter A <a@x> {2**63 - 1} +9999",
    ],
    ids=["encoding", "digits", "beyond", "last"],
)
def test_search_history_and_status_with_an_odd_commit(make_repo: Callable[..., Repo], head: str) -> None:
    repo = make_repo()
    first = repo.commit({"net.py": "def retry_request(url):\n    return url\n"}, "Retry requests")
    strange = odd(repo, "Odd", head, first)
    repo.git("branch", "strange", strange.hex())
    repo.git("update-ref", "HEAD", strange.hex())
    last = repo.commit({"cache.py": "def cached(key):\n    return key\n"}, "Keep answers")
    for revision in ("HEAD", "strange"):
        done = program("search", "--json-output", "--revision", revision, "retry a request", cwd=repo.path)
        assert done.status == 0, done.err
        first_hit = json.loads(done.out)["results"][0]["result"]
        assert first_hit["sourcePosition"]["relativePath"] == "net.py"
        assert program("search", "--evolution", "--revision", revision, "retry", cwd=repo.path).status == 0
    for query, commit in (("parser of invoices", strange), ("retry_request", first), ("keep answers", last)):
        for form in ((), ("--timeline",), ("--json-output",)):
            done = program("history", *form, query, cwd=repo.path)
            assert done.status == 0, done.err
        hits = json.loads(done.out)["hits"]
        assert commit.hex() in [hit["commit"] for hit in hits]
    status = program("status", cwd=repo.path)
    assert status.status == 0, status.err
    assert program("status", "--json-output", cwd=repo.path).status == 0
    assert program("evaluate", "--json-output", cwd=repo.path).status in (0, 128)
