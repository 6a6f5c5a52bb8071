"""Parsing of ignore files, compared with `git check-ignore` on random files."""

from __future__ import annotations

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from repositories import Repo

from ctx.git.rule_files import RuleFile, parse_ignores

PATHS = [
    b"bc", b"ab", b"a.c", b"b.c", b"#a", b"!a", b"-", b"]", b"a/a", b"a/b.c", b"a/b/a.c", b"a/d/c/ab",
    b"b/a", b"b/c/b/a.c", b"a\\b", b"[a]", b"abc/a.c", b"*", b"c/d", b"a b", b"\xff", b"a ", b" a",
    b"a\t",
]  # fmt: skip
PIECES = [
    "a", "b", "c", "ab", ".c", "/", "/", "/", "*", "*", "?", "[ab]", "[!a]", "[a-c]", "[[:alpha:]]",
    "[a", "\\", "\\a", "\\*", "/**/", "**/", "/**", "**", "#", "!", ".", " ", "\\ ", "\t",
]  # fmt: skip


def has_only_plain_stars(line: str) -> bool:
    """After a literal prefix git treats `**` as a path component, although the manual says `*`."""
    text = line.removeprefix("!").rstrip(" \r/").replace("/**/", "/")
    return "**" not in text.removeprefix("**/").removesuffix("/**")


lines = st.builds(
    "{}{}{}".format,
    st.sampled_from(["", "", "", "!", "!", " "]),
    st.lists(st.sampled_from(PIECES), min_size=1, max_size=5).map("".join),
    st.sampled_from(["", "", "\r", " "]),
).filter(has_only_plain_stars)
files = st.lists(lines, max_size=6).map(lambda parts: "\n".join(parts).encode())


def ours(root: RuleFile[bool], nested: RuleFile[bool], path: bytes) -> bool:
    parts = path.split(b"/")
    for depth in range(1, len(parts) + 1):
        is_directory = depth < len(parts)
        inner = b"/".join(parts[1:depth])
        verdict = next(nested.matching(inner, is_directory), None) if parts[0] == b"a" and inner else None
        if verdict is None:
            rules = root if depth == 1 else root.below(parts[0])
            verdict = next(rules.matching(b"/".join(parts[:depth]), is_directory), None)
        if verdict is not None and (verdict or not is_directory):
            return verdict
    return False


@settings(
    max_examples=200,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    deadline=None,
)
@given(root=files, nested=files)
def test_same_as_git(repo: Repo, root: bytes, nested: bytes) -> None:
    repo.write(dict.fromkeys(PATHS, "") | {".gitignore": root, "a/.gitignore": nested})
    asked = b"".join(path + b"\0" for path in PATHS)
    answer = repo.git(
        "-c", "core.ignoreCase=false", "check-ignore", "-z", "--stdin", "--no-index", stdin=asked, check=False
    )
    expected = {path: path in answer.split(b"\0") for path in PATHS}
    assert {path: ours(parse_ignores(root), parse_ignores(nested), path) for path in PATHS} == expected


def test_patterns_of_stars_only() -> None:
    rules = parse_ignores(b"a*" * 400 + b"\n" + b"**/a*/" * 400 + b"a\n" + b"b*" * 100_000 + b"\n")
    assert list(rules.matching(b"a" * 400)) == [True]
    assert list(rules.matching(b"a/" * 400 + b"a")) == [True]
    assert not list(rules.matching(b"a" * 399))
    assert not list(rules.matching(b"a/" * 399 + b"a"))
    assert not list(rules.matching(b"b" * 100_000))
