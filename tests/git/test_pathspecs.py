"""Path filters, compared with `git diff --name-only` on random pathspecs."""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from repositories import Repo

from ctx.errors import UsageError
from ctx.git.pathspec import compile_pathspecs

EMPTY_TREE = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
PATHS = [
    b"a", b"A.c", b"ab", b"b.c", b"d/a", b"d/A.C", b"d/ab.c", b"d/e/a.c", b"d/e/f/ab", b"D2/a.c", b"[a]",
    b"*", b"d/[a]/a", b"\xff/a", b"a b", b"d/b\\c", b"e/d/a.c", b"d/-x", b"d.c/a",
]  # fmt: skip
PIECES = [
    "a", "b", "A", "ab", ".c", "d", "D", "e", "d/", "d/e", "/", "*", "*", "**", "**/", "?", "[ab]",
    "[!a]", "[A-Z]", "[[:upper:]]", "[a", "\\", "\\*", "\\A", "../", "..", "./", ".", "//", "d/../", "-",
]  # fmt: skip
MAGIC = [
    "", "", "", "", ":!", ":^", ":/", ":/!", ":(glob)", ":(icase)", ":(literal)", ":(top)", ":(exclude)",
    ":(glob,icase)", ":(top,icase)", ":(exclude,glob)", ":()", "::", ":!:", ":(attr:x)",
    ":(glob,literal)", ":", ":%", ":x", ":(top", ":(foo)", ":(icase,literal)", ":.", ":*", ":-",
]  # fmt: skip
specs = st.builds(
    str.__add__,
    st.sampled_from(MAGIC),
    # After a literal prefix git treats `**` as a path component, although the manual says `*`.
    st.lists(st.sampled_from(PIECES), max_size=4)
    .map("".join)
    .filter(lambda text: "**" not in text.replace("/**/", "/").removeprefix("**/")),
)


@pytest.fixture
def committed(repo: Repo) -> Repo:
    repo.commit(dict.fromkeys(PATHS, ""))
    return repo


@settings(
    max_examples=400,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    deadline=None,
)
@given(texts=st.lists(specs, min_size=1, max_size=3), prefix=st.sampled_from([b"", b"d/", b"d/e/"]))
@example(texts=["d/e/.."], prefix=b"")
@example(texts=[":(icase)D/A*"], prefix=b"")
@example(texts=[":(icase)../D/A"], prefix=b"d/e/")
def test_same_as_git(committed: Repo, texts: list[str], prefix: bytes) -> None:
    directory = os.path.join(os.fsencode(committed.path), prefix)
    try:
        matches = compile_pathspecs(texts, prefix)
    except UsageError:
        matches = None
    if any("attr:" in text for text in texts):
        assert matches is None
        return
    done = committed.run("-C", directory, "diff", "--name-only", "-z", EMPTY_TREE, "HEAD", "--", *texts)
    if matches is None or done.returncode:
        assert matches is None, done.stderr
        assert done.returncode
        return
    expected = sorted(done.stdout.split(b"\0")[:-1])
    assert sorted(filter(matches, PATHS)) == expected
    assert sorted(PATHS[place] for place in matches.select(PATHS)) == expected
