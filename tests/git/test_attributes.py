"""Parsing of attribute files, compared with `git check-attr` on random files."""

from __future__ import annotations

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from repositories import Repo

from ctx.git.rule_files import State, fill, parse_attributes, parse_macros

WANTED = (b"ctx", b"linguist-generated", b"linguist-language")
PATHS = [
    b"a", b"b", b"ab", b"a.c", b"A.c", b"b.c", b"#a", b"!a", b"-", b"]", b"a/a", b"a/b.c", b"a/b/a.c",
    b"a/b/c/ab", b"b/a", b"b/a/b/a.c", b"a\\b", b"[a]", b"ab/a.c", b"*", b"a b", b"\xff", b'"a', b"a\tb",
]  # fmt: skip
PIECES = [
    "a", "b", "c", "ab", ".c", "/", "/", "*", "*", "?", "[ab]", "[!a]", "[^b]", "[a-c]", "[]a]",
    "[[:alpha:]]", "[[:upper:]]", "[a", "[[:x:]]", "[\\]]", "[[:a]", "[--]", "[a-]", "\\", "\\a", "\\*",
    "/**/", "**/", "/**", "**", "#", "!", "-", ".",
]  # fmt: skip
ATTRIBUTES = [
    "ctx", "-ctx", "!ctx", "ctx=no", "-ctx=yes", "m", "-m", "n", "!n", "!m", "linguist-generated",
    "linguist-generated=false", "text", "-", "=x", "a+b", "-linguist-generated", "linguist-language=C",
    "linguist-language=", "binary",
]  # fmt: skip
patterns = (
    st.lists(st.sampled_from(PIECES), min_size=1, max_size=5)
    .map("".join)
    .filter(
        # After a literal prefix git treats `**` as a path component, although the manual says `*`.
        lambda text: "**" not in text.replace("/**/", "/").removeprefix("**/").removesuffix("/**")
    )
)
quoted = st.builds(
    lambda text, tail: '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"' + tail,
    st.one_of(patterns, st.sampled_from(["a b", "a\\b", '"a', "[attr]m"])),
    st.sampled_from(["", "", " "]),
) | st.sampled_from(['"\\377"', '"a\\tb"', '"a', '"a\\q"', '"\\141"', '"\\400"'])
words = st.lists(st.sampled_from(ATTRIBUTES), max_size=4).map(" ".join)
lines = st.builds(
    "{}{}{}{}{}".format,
    st.sampled_from(["", "", "", " ", "\t"]),
    st.one_of(
        patterns,
        patterns,
        quoted,
        st.sampled_from(["[attr]m", "[attr]n", "[attr]ctx", "[attr]", "#", "[attr]-x", "*"]),
    ),
    st.sampled_from([" ", " ", "\t ", ""]),
    words,
    st.sampled_from(["", "", "\r", " "]),
)
files = st.lists(lines, max_size=6).map(lambda parts: "\n".join(parts).encode())


def ours(root: bytes, nested: bytes, path: bytes) -> dict[bytes, State]:
    macros = parse_macros(root)
    found: dict[bytes, State] = {}
    first, _, rest = path.partition(b"/")
    if first == b"a" and rest:
        for states in parse_attributes(nested, WANTED, macros).matching(rest):
            fill(states, found, macros)
    rules = parse_attributes(root, WANTED, macros)
    for states in (rules.below(first) if rest else rules).matching(path):
        fill(states, found, macros)
    return {name: found.get(name) for name in WANTED}


def gits(repo: Repo) -> dict[bytes, dict[bytes, State]]:
    asked = b"".join(path + b"\0" for path in PATHS)
    answer = repo.git("-c", "core.ignoreCase=false", "check-attr", "-z", "--stdin", *WANTED, stdin=asked)
    fields = answer.split(b"\0")
    meaning: dict[bytes, State] = {b"set": True, b"unset": False, b"unspecified": None}
    found: dict[bytes, dict[bytes, State]] = {}
    for path, name, value in zip(fields[::3], fields[1::3], fields[2::3], strict=False):
        found.setdefault(path, {})[name] = meaning.get(value, value)
    return found


@settings(
    max_examples=150,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    deadline=None,
)
@given(root=files, nested=files)
def test_same_as_git(repo: Repo, root: bytes, nested: bytes) -> None:
    repo.write({".gitattributes": root, "a/.gitattributes": nested})
    expected = gits(repo)
    assert {path: ours(root, nested, path) for path in PATHS} == expected


def test_two_stars_after_a_letter_match_like_one_star() -> None:
    rules = parse_attributes(b"a/b**/x ctx\n", WANTED, {})
    assert not list(rules.matching(b"a/bc/d/x"))
    assert list(rules.matching(b"a/bc/x")) == [((b"ctx", True),)]


def test_long_lines_and_byte_order_mark() -> None:
    data = b"\xef\xbb\xbfa ctx\n" + b"b ctx" + b" " * 2048 + b"\nc ctx\n"
    assert [pattern.text for pattern, _ in parse_attributes(data, WANTED, {}).rules] == [b"a", b"c"]


def test_pattern_with_many_stars_is_fast() -> None:
    lines = b"*a*a*a*a*a*a*a*a*a*a*b ctx\n**/*a/**/*a/**/*a/**/*a/**/b ctx\n"
    rules = parse_attributes(lines, WANTED, {})
    assert not list(rules.matching(b"a" * 255))
    assert not list(rules.matching(b"a/" * 400 + b"c"))


def test_long_chain_of_macros() -> None:
    chain = b"".join(b"[attr]m%d m%d\n" % (i, i + 1) for i in range(20_000))
    data = chain + b"[attr]m20000 -ctx\n*.c m0\n"
    macros = parse_macros(data)
    found: dict[bytes, State] = {}
    for states in parse_attributes(data, WANTED, macros).matching(b"a.c"):
        fill(states, found, macros)
    assert found[b"ctx"] is False
