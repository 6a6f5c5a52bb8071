"""An answer consists of definitions: one place for each, and as many of one file as answer."""

from __future__ import annotations

import pytest
from repositories import Repo

import ctx
from ctx.types import Hit, signature_line

LONG = (
    "// RefreshLedger brings the ledger up to date.\n"
    "// RefreshLedger is called by the clerk.\n"
    "func RefreshLedger(book *Book) error {\n"
    + "".join(
        f"\tif book.Page({number}).IsStale() {{\n"
        f"\t\tbook.RefreshPage({number}, ledgerOf(book, {number}))\n"
        f'\t\tlog.Printf("refreshed page %d of the ledger", {number})\n\t}}\n'
        for number in range(60)
    )
    + "\treturn nil\n}\n"
)
BOOK = "package books\n\n" + LONG
CACHE = '''"""Entries that are kept for a while."""


def is_stale(entry, now):
    """Return True for an entry that is too old."""
    ttl = entry.ttl or DEFAULT_TTL
    return entry.created + ttl < now


def drop_all(entries):
    """Remove each of the entries from the memory."""
    for entry in list(entries):
        entries.pop(entry)


def count_entries(entries):
    """Return the number of entries, of any kind and any size."""
    return sum(1 for entry in entries if entry)
'''


def hits(repo: Repo, text: str, limit: int = 10) -> list[Hit]:
    with ctx.open(repo.path) as index:
        found = index.search(text, limit=limit).hits
        return [hit for hit in found if hit.text is not None]


def test_a_long_function_is_one_place(repo: Repo) -> None:
    repo.commit({"books.go": BOOK, "main.go": "package main\n\nfunc main() {\n\trun()\n}\n"})
    with ctx.open(repo.path) as index:
        found = [
            hit for hit in index.search("refresh the pages of the ledger").hits if hit.path == "books.go"
        ]
        (hit,) = [hit for hit in found if hit.is_definition]
        assert hit.symbol == "RefreshLedger"
        assert hit.kind == "function"
        assert hit.definition_lines == (1, BOOK.count("\n"))
        assert hit.signature == (5, "func RefreshLedger(book *Book) error {")
        first, last = hit.lines
        assert last - first < 100


def test_one_file_may_have_many_places(repo: Repo) -> None:
    repo.commit({"cache.py": CACHE, "other.py": "def unrelated():\n    return None\n"})
    found = hits(repo, "entries of the cache", 3)
    assert sorted(hit.symbol for hit in found) == ["count_entries", "drop_all", "is_stale"]
    assert {hit.path for hit in found} == {"cache.py"}


def test_words_of_similar_meaning_are_found(repo: Repo) -> None:
    """No word of the question is in the function, nor in any other file."""
    files = {f"part_{number}.py": f"def part_{number}():\n    return {number}\n" for number in range(8)}
    repo.commit(files | {"cache.py": CACHE})
    assert hits(repo, "lifetime")[0].symbol == "is_stale"


def test_related_code_is_not_of_the_same_function(repo: Repo) -> None:
    repo.commit({"books.go": BOOK})
    with ctx.open(repo.path) as index:
        assert not index.related("books.go:20").hits
        assert not index.related("books.go:200").hits


@pytest.mark.parametrize(
    ("text", "symbol", "line"),
    [
        ("// Open opens\n// a book\nfunc (b *Book) Open() {\n}", "Book.Open", 2),
        ("@route('/')\ndef index():\n    '''index of all'''", "index", 1),
        ("/**\n * The shelf.\n */\n@Entity\npublic class Shelf {", "Shelf", 4),
        ("[Obsolete]\npublic void Close()\n{", "Door.Close", 1),
        ("#define ROOM(x) (x)", "ROOM", 0),
        ("#[derive(Debug)]\npub struct Shelf {", "Shelf", 1),
        ("bool operator==(const Book &other) const {", "Book::operator==", 0),
        ("# only a comment", "x", 0),
        ("import { actor, waitFor } from 'x';\n\ndescribe('waitFor', () => {", "waitFor", 2),
        ("import {\n  waitFor\n} from 'x';\n\ndescribe('waitFor', () => {", "waitFor", 4),
        ("from store import renew\n\n\ndef test_it():\n    renew()", "test_it", 3),
        ("import renew from 'x'", "renew", 0),
    ],
)
def test_the_line_of_a_signature(text: str, symbol: str, line: int) -> None:
    assert signature_line(text.split("\n"), symbol) == line


SIZE = """\
pub fn parse_size(text: &str) -> Option<u64> {
    let digits = text.trim();
    digits.parse().ok().filter(|size| *size > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parse_size_of_a_size() {
        let size = parse_size("12");
        assert_eq!(size, Some(12), "the parsed size of a size");
        assert_eq!(parse_size("parse"), None, "no size to parse");
    }
}
"""


def test_the_heading_names_the_constant_that_is_meant(repo: Repo) -> None:
    """Small definitions are one chunk, which does not always have the name of the first."""
    constants = "PORTS = 0\nMAX_HEADER = 1\nDEPTH = 2\n"
    repo.commit({"const.py": constants, "other.py": "def unrelated():\n    return None\n"})
    with ctx.open(repo.path) as index:
        found = [hit for hit in index.search("largest header").hits if hit.path == "const.py"]
        assert [hit.symbol for hit in found] == ["MAX_HEADER"]
        assert found[0].signature == (2, "MAX_HEADER = 1")


GUARDS = """\
package shelf

var bookKinds = []string{"novel", "essay"}

// Interface guards
var (
	_ Renewer = (*Shelf)(nil)
	_ Library  = (*Shelf)(nil)
)
"""


def test_no_heading_is_a_blank_name(repo: Repo) -> None:
    repo.commit({"shelf.go": GUARDS, "other.py": "def unrelated():\n    return None\n"})
    with ctx.open(repo.path) as index:
        for text in ("guards of a renewer", "kinds of a novel"):
            found = [hit for hit in index.search(text).hits if hit.path == "shelf.go"]
            assert "bookKinds" in [hit.symbol for hit in found]
            assert "_" not in [hit.symbol for hit in found]


def test_a_comment_is_no_signature(repo: Repo) -> None:
    words = " ".join("paper shelf reader library index novel essay poem letter".split())
    comment = "\n".join(f"// Part {number} of the manual: {words} {number}." for number in range(150))
    code = "type Shelf struct {\n\tlength int // the length of a shelf in metres\n\tpaint string\n}\n"
    repo.commit({"shelf.go": f"package shelf\n\n// Shelf is long.\n{comment}\n{code}", "other.py": "x = 1\n"})
    with ctx.open(repo.path) as index:
        hits = index.search("part 75 of the manual of the shelf", limit=20).hits
        pieces = [hit for hit in hits if hit.path == "shelf.go" and hit.is_definition]
        assert pieces
        for hit in pieces:
            assert hit.signature in (None, (154, "type Shelf struct {"))


def test_a_test_beside_its_code_comes_after_it(repo: Repo) -> None:
    repo.commit({"src/size.rs": SIZE})
    assert hits(repo, "parse the size")[0].symbol == "parse_size"
    assert hits(repo, "test of parsing the size")[0].symbol != "parse_size"
