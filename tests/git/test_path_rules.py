"""Selection of files by path."""

from __future__ import annotations

from hashlib import blake2b
from itertools import count

import pytest
from repositories import Repo

from ctx.git.path_rules import (
    _ATTRIBUTES,
    BINARY,
    GENERATED,
    IGNORED,
    IMAGE,
    SUBMODULE,
    SYMLINK,
    VENDORED,
    PathRules,
)
from ctx.git.repository import Repository, open_repository
from ctx.git.rule_files import parse_attributes, parse_ignores
from ctx.storage.partition import root_node

Files = dict["str | bytes", "str | bytes | None"]


def judged(repository: Repository, tree: bytes) -> dict[bytes, str | None]:
    """Return the reason to skip each file of a tree, or None."""
    entries = repository.tree_entries(tree)
    open_ = [(b"", entries, PathRules.root(repository, entries))]
    found: dict[bytes, str | None] = {}
    while open_:
        path, entries, rules = open_.pop()
        for entry in entries:
            if entry.mode == 0o040000:
                inner = repository.tree_entries(entry.oid)
                open_.append((path + entry.name + b"/", inner, rules.enter(entry.name, inner)))
            else:
                found[path + entry.name] = rules.judge(entry.name, entry.mode)
    return found


def verdicts(repo: Repo, files: Files) -> dict[bytes, str | None]:
    repo.commit(files)
    with open_repository(repo.path) as repository:
        return judged(repository, repository.resolve_tree("HEAD").tree)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("a.py", None),
        ("README", None),
        ("package.json", None),
        ("package-lock.json", GENERATED),
        ("go.sum", GENERATED),
        ("jquery.min.js", GENERATED),
        ("app.js.map", GENERATED),
        ("logo.PNG", BINARY),
        ("logo.svg", IMAGE),
        ("logo.SVG", IMAGE),
        ("png", None),
        (".png", BINARY),
        ("video.ts", None),
    ],
)
def test_names(repo: Repo, name: str, expected: str | None) -> None:
    entries = open_repository(repo.path).tree_entries(
        bytes.fromhex("4b825dc642cb6eb9a060e54bf8d69288fbee4904")
    )
    rules = PathRules.root(open_repository(repo.path), entries)
    assert rules.judge(name.encode(), 0o100644) == expected
    assert rules.judge(name.encode(), 0o120000) == SYMLINK
    assert rules.judge(name.encode(), 0o160000) == SUBMODULE
    assert rules.enter(b"dir", entries) is rules


def shown(found: dict[bytes, str | None]) -> dict[str, list[str]]:
    """Return the files by the reason to skip them, without rule files."""
    groups: dict[str, list[str]] = {}
    for path, reason in sorted(found.items()):
        if b"/." not in b"/" + path:
            groups.setdefault(reason or "indexed", []).append(path.decode("latin-1"))
    return groups


def test_attributes(repo: Repo) -> None:
    files: Files = {
        ".gitattributes": "[attr]made linguist-generated\n*.gen made\n/lib/** linguist-vendored\n"
        "private/* -ctx\nyarn.lock -linguist-generated\nCargo.lock ctx\n",
        "x/.gitattributes": "b.gen -made\n",
        "lib/.gitattributes": "mine.c linguist-vendored=false\n",
    }
    places = "a.gen x/b.gen lib/c lib/deep/d x/lib/e lib/mine.c private/f private/deep/g"
    places += " yarn.lock go.sum x/Cargo.lock"
    assert shown(verdicts(repo, files | dict.fromkeys(places.split(), ""))) == {
        GENERATED: ["a.gen", "go.sum"],
        VENDORED: ["lib/c", "lib/deep/d"],
        IGNORED: ["private/f"],
        "indexed": ["lib/mine.c", "private/deep/g", "x/Cargo.lock", "x/b.gen", "x/lib/e", "yarn.lock"],
    }


def test_negated_ignore_pattern_overrides_other_rules(repo: Repo) -> None:
    files: Files = {
        ".gitattributes": "*.pb.go linguist-generated\nkept.txt ctx\n",
        ".ctxignore": "*.txt\n/build/\n!go.sum\n!api.pb.go\n*.PNG\n!logo.svg\n",
        "build/.ctxignore": "!x.c\n",
        "sub/.ctxignore": "!a.txt\n*.c\n",
        b"sub/\xff.txt": "",
    }
    places = "a.txt kept.txt build/x.c sub/build/x.c go.sum api.pb.go other.pb.go logo.svg"
    places += " sub/a.txt sub/b.txt sub/c.c"
    assert shown(verdicts(repo, files | dict.fromkeys(places.split(), ""))) == {
        IGNORED: ["a.txt", "build/x.c", "kept.txt", "sub/b.txt", "sub/build/x.c", "sub/c.c", "sub/\xff.txt"],
        GENERATED: ["other.pb.go"],
        "indexed": ["api.pb.go", "go.sum", "logo.svg", "sub/a.txt"],
    }


def test_rule_files_of_the_user_have_no_effect(repo: Repo) -> None:
    repo.git("config", "core.attributesFile", str(repo.path / "mine"))
    repo.write({"mine": "* -ctx\n", ".git/info/attributes": "* -ctx\n", ".git/info/exclude": "*\n"})
    assert verdicts(repo, {"a.c": ""})[b"a.c"] is None


def test_languages(repo: Repo) -> None:
    repo.commit(
        {".gitattributes": "*.h linguist-language=C++\nx.h -linguist-language\ny.h !linguist-language\n"}
    )
    repository = open_repository(repo.path)
    rules = PathRules.root(repository, repository.tree_entries(repository.resolve_tree("HEAD").tree))
    assert [rules.language(name) for name in (b"a.h", b"x.h", b"y.h", b"a.c")] == ["C++", None, None, None]


def digests(repo: Repo, files: Files, *paths: bytes) -> list[bytes]:
    repo.commit(files)
    repository = open_repository(repo.path)
    found = []
    for path in paths:
        entries = repository.tree_entries(repository.resolve_tree("HEAD").tree)
        rules = PathRules.root(repository, entries)
        for part in path.split(b"/") if path else []:
            entries = repository.tree_entries(next(entry.oid for entry in entries if entry.name == part))
            rules = rules.enter(part, entries)
        found.append(rules.digest)
    return found


def test_digest_changes_only_where_a_rule_applies(repo: Repo) -> None:
    places = (b"", b"src", b"src/deep", b"docs")
    plain = digests(repo, {"src/deep/a": "", "docs/a": ""}, *places)
    assert len(set(plain)) == 1
    assert len(plain[0]) == 8
    assert digests(repo, {".gitattributes": "* text=auto\n"}, *places) == plain
    docs = digests(repo, {".ctxignore": "# none\n\n/docs/old\n"}, *places)
    assert docs[1:3] == plain[1:3]
    assert docs[0] != plain[0]
    assert docs[3] != plain[3]
    assert digests(repo, {".ctxignore": "/docs/old\n"}, *places) == docs
    names = digests(repo, {".ctxignore": "*.old\n"}, *places)
    assert len(set(names)) == 1
    assert names[0] != plain[0]
    nested = digests(repo, {".ctxignore": None, "src/.ctxignore": "deep/a\n"}, *places)
    assert (nested[0], nested[3]) == (plain[0], plain[3])
    assert len({nested[0], nested[1], nested[2]}) == 3
    ignored = digests(repo, {".ctxignore": "src/\n"}, *places)
    assert ignored[1] == ignored[2] != ignored[3]


def test_unusable_rule_files(repo: Repo) -> None:
    files: Files = {
        ".gitattributes": "*.c -ctx\n" * 120_000,
        "a.c": "",
        "sub/b.c": "",
        "sub/.ctxignore": "*\n",
    }
    repo.write(files)
    (repo.path / ".ctxignore").symlink_to("sub/.ctxignore")
    repo.commit()
    repository = open_repository(repo.path)
    entries = repository.tree_entries(repository.resolve_tree("HEAD").tree)
    rules = PathRules.root(repository, entries)
    assert rules.judge(b"a.c", 0o100644) is None
    assert rules.warnings == [
        "the rules of .gitattributes are not applied: the file is larger than 1048576 bytes"
    ]
    repo.delete_object(repo.id("HEAD:sub/.ctxignore"))
    inner = repository.tree_entries(next(entry.oid for entry in entries if entry.name == b"sub"))
    assert rules.enter(b"sub", inner).judge(b"b.c", 0o100644) is None
    assert rules.warnings[1:] == [
        "the rules of .ctxignore in 'sub' are not applied: the file is not in this repository"
    ]


def test_names_with_rising_hashes_are_split_without_recursion(repo: Repo) -> None:
    def above(least: float, number: int) -> str:
        names = (f"{number:04}-{suffix}" for suffix in count())
        hashes = ((name, blake2b(name.encode(), digest_size=4).digest()) for name in names)
        return next(
            name for name, found in hashes if least <= int.from_bytes(found, "big") / 2**32 < least + 0.0008
        )

    repo.commit({above(0.1 + number * 0.0008, number): "" for number in range(1100)})
    with open_repository(repo.path) as repository:
        tree = repository.resolve_tree("HEAD").tree
        root = root_node(
            "d", tree, lambda entries: PathRules.root(repository, entries), repository.tree_entries
        )
        sizes = [len(cluster.members) for cluster in root.read().clusters]
    assert sizes == [1] * 1076 + [24]


def test_digest_depends_only_on_the_rules(repo: Repo) -> None:
    files: Files = {".gitattributes": "[attr]made linguist-generated\n*.gen made -ctx\n", "sub/a": ""}
    files["sub/.gitattributes"] = "*.h linguist-language=C++ !ctx\n"
    files["sub/.ctxignore"] = "old/\n!/kept\n"

    def hashed(*parts: bytes) -> bytes:
        return blake2b(b"".join(parts), digest_size=8).digest()

    # As in docs/format.md.
    top = hashed(b"5 *.gen", b"1", b"2 4 made+3 ctx-") + bytes(4)
    below = hashed(b"3 *.h", b"1", b"2 17 linguist-language=3 C++3 ctx!") + bytes(4)
    ignores = hashed(b"3 old", b"3", b"+", b"4 kept", b"0", b"-") + bytes(4)
    macros = b"4 made1 18 linguist-generated+"
    expected = [hashed(top, macros), hashed(below, top, ignores, macros)]
    assert digests(repo, files, b"", b"sub") == expected
    different = [
        b"a\n", b"/a\n", b"a/\n", b"!a\n", b"a\na\n", b"a\nb\n", b"ab\n", b"/a/\n", b"!/a\n",
    ]  # fmt: skip
    assert len({parse_ignores(data).digest for data in different}) == len(different)
    words = ["ctx", "-ctx", "!ctx", "ctx=x", "ctx=", "linguist-vendored", "ctx linguist-vendored"]
    made = {parse_attributes(f"a {word}\n".encode(), _ATTRIBUTES, {}).digest for word in words}
    assert len(made) == len(words)
