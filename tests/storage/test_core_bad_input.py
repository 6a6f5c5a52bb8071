"""Bad input and bad directories: an answer, or a clear error with the command that fixes it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest
from projects import QUERIES, project
from repositories import Files, Repo
from ways import program

import ctx
from ctx.errors import NotARepository, NothingCommitted, UnknownRevision, UsageError
from ctx.ranking.ranker import POOL
from ctx.types import Answer, Hit

FEW = (QUERIES[0], QUERIES[2])


def search(repo: Repo, query: str, **options: object) -> Answer:
    """Search once."""
    with ctx.open(repo.path) as index:
        return index.search(query, **options)  # type: ignore[arg-type]


def texts(repo: Repo, query: str) -> dict[str, str]:
    """Return the text of each hit by path, as the library returns it."""
    with ctx.open(repo.path) as index:
        return {os.fsdecode(hit.path): hit.text for hit in index.search(query).hits}


def only_hit(repo: Repo, query: str, **options: object) -> Hit:
    """Return the only hit of a query."""
    (hit,) = search(repo, query, **options).hits
    return hit


# -- what is asked


def test_missing_directories_and_revisions(make_repo: Callable[..., Repo], tmp_path: Path) -> None:
    with pytest.raises(NotARepository, match="git init"):
        ctx.open(tmp_path)
    with pytest.raises(NotARepository, match="no directory"):
        ctx.open(tmp_path / "nowhere")
    repo = make_repo()
    for question in ("session", " \n", "x" * 10):
        with ctx.open(repo.path) as index, pytest.raises((NothingCommitted, UsageError)):
            index.search(question)
    repo.commit({"a.py": "x = 1\n"})
    for revision in ("nowhere", "", "HEAD~7", "--all", "deadbeef" * 5):
        with pytest.raises(UnknownRevision):
            search(repo, "session", revision=revision)
    with pytest.raises(UnknownRevision):
        search(repo, "session", branch="nowhere")
    with pytest.raises(UsageError):
        search(repo, "session", revision="HEAD", branch="main")


@pytest.mark.parametrize("query", ["", " ", "\t\n"])
def test_an_empty_query_is_an_error(make_repo: Callable[..., Repo], query: str) -> None:
    repo = make_repo()
    repo.commit({"a.py": "x = 1\n"})
    with pytest.raises(UsageError, match="empty"):
        search(repo, query)


def test_limits(make_repo: Callable[..., Repo]) -> None:
    repo = make_repo()
    repo.commit(project(1, 60))
    for limit in (0, -1):
        with pytest.raises(UsageError, match="limit"):
            search(repo, "session", limit=limit)
    everything = search(repo, "session", limit=1_000_000)
    assert everything.coverage.chunks >= len(everything.hits) > 20
    # Beyond the pool of the ranker more files are compared, which may move some of them.
    page = search(repo, "session", limit=POOL).hits
    for limit in (1, 2, 7, 20):
        assert search(repo, "session", limit=limit).hits == page[:limit]
    for limit in ("0", "1000000", "-3", "many"):
        run = program("search", "session", "--limit", limit, cwd=repo.path)
        assert run.status == 129
        assert "--limit" in run.err


@pytest.mark.parametrize(
    "query",
    [
        "renew session " * 8000,
        "x" * 100_000,
        "сессия" * 20_000,
        "\0\1\2",
        "\udcff\ud800",
        "😀 🏳️‍🌈",
        "::->#/\\",
        "_" * 500,
        "٣٤٥",
        "a" * 64 + "B" * 64 + "c1" * 64,
        "\u202eevil\u0301\u0301\u0301",
        "where is it",
        "!!!",
    ],
    ids=range(13),
)
def test_any_text_is_a_query(make_repo: Callable[..., Repo], query: str) -> None:
    repo = make_repo()
    repo.commit(project(2, 20))
    answer = search(repo, query)
    assert all(0 <= hit.score <= 1 and 0 <= hit.agreement <= 1 for hit in answer.hits)


def test_a_filter_that_matches_nothing_says_so(make_repo: Callable[..., Repo]) -> None:
    repo = make_repo()
    repo.commit(project(3, 20))
    answer = search(repo, "session", paths=["no/such/place"])
    assert answer.hits == []
    assert answer.message == "no file of this tree matches no/such/place"
    answer = search(repo, "session", languages=["haskell"], paths=["src"])
    assert answer.hits == []
    assert answer.message
    assert "haskell" in answer.message
    with pytest.raises(UsageError, match="klingon"):
        search(repo, "session", languages=["klingon"])
    assert program("search", "session", "-p", "no/such/place", cwd=repo.path).status == 1


def test_filters_apply_before_the_limit_and_change_no_score(make_repo: Callable[..., Repo]) -> None:
    repo = make_repo()
    many = {f"src/session_{i}.py": f"def renew_session_{i}():\n    return session\n" for i in range(200)}
    repo.commit(many | {"other/lonely.py": "def walk_the_dog():\n    return 'a session outside'\n"})
    (hit,) = search(repo, "renew session", paths=["other"], limit=5).hits
    assert hit.path == "other/lonely.py"
    whole = {(hit.path, hit.position): hit for hit in search(repo, "renew session", limit=1000).hits}
    some = search(repo, "renew session", limit=1000, paths=["src/session_1*"]).hits
    assert some
    assert all(whole[hit.path, hit.position].agreement == hit.agreement for hit in some)


# -- what is there


@pytest.mark.parametrize(
    ("files", "skipped"),
    [
        ({}, {}),
        ({"a.py": ""}, {"empty": 1}),
        ({"a.py": " \n\t\r\n"}, {"empty": 1}),
        ({"a.bin": b"\0\1\2" * 100, "b.png": b"\x89PNG", "c.py": b"x = 1\0"}, {"binary": 3}),
        ({"long.js": b"a=1;" * 250_000}, {"minified": 1}),
        ({"big.py": b"x = 1\n" * 200_000}, {"too large": 1}),
    ],
    ids=["nothing", "empty", "blank", "binary", "minified", "large"],
)
def test_trees_without_text(make_repo: Callable[..., Repo], files: Files, skipped: dict[str, int]) -> None:
    repo = make_repo()
    repo.commit(files)
    for _ in range(2):
        answer = search(repo, "session")
        assert answer.hits == []
        assert answer.coverage.files == answer.coverage.chunks == 0
        assert answer.coverage.skipped == skipped
    with ctx.open(repo.path) as index:
        assert index.status().snapshots[0].status == "complete"
    run = program("search", "session", cwd=repo.path)
    assert (run.status, run.err) == (1, "")


def test_a_line_of_nearly_a_megabyte(make_repo: Callable[..., Repo]) -> None:
    repo = make_repo()
    prose = b"the session of a user is renewed whenever it is asked for "
    repo.commit(
        {"one.txt": prose * 17_000, "two.md": prose * 100, "good.py": "def renew_session():\n    pass\n"}
    )
    assert search(repo, "renew_session").hits[0].path == "good.py"


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("crlf", b"def first():\r\n    pass\r\n\r\n\r\ndef renew_session(user):\r\n    return user\r\n"),
        ("utf-8 with a mark", "\ufeffdef renew_session(user):\n    return 'é'\n".encode()),
        ("utf-16-le", b"\xff\xfe" + "# 😀 é\ndef renew_session(user):\n    return 'é'\n".encode("utf-16-le")),
        ("utf-16-be", b"\xfe\xff" + "# 😀 é\ndef renew_session(user):\n    return 'é'\n".encode("utf-16-be")),
        ("utf-32-le", b"\xff\xfe\0\0" + "# 😀\ndef renew_session(user):\n    return 1\n".encode("utf-32-le")),
        ("latin-1", "# crée\ndef renew_session(user):\n    return 'clé'\n".encode("latin-1")),
        ("lone bytes", b"# \xff\xfe\x80\ndef renew_session(user):\n    return 1\n"),
        ("form feed", b"\x0cdef renew_session(user):\n    return 1\n"),
        ("old mac", b"def renew_session(user):\r    return 1\r"),
        ("no end", b"def renew_session(user):\n    return 1"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_offsets_refer_to_the_blob_in_any_encoding(
    make_repo: Callable[..., Repo], name: str, content: bytes
) -> None:
    repo = make_repo()
    repo.commit({"a.py": content})
    for _ in range(2):
        hits = search(repo, "renew_session").hits
        assert hits
        blob = repo.git("cat-file", "blob", "HEAD:a.py") if not content.endswith(b"\n") else content
        for hit in hits:
            assert 0 <= hit.position.start < hit.position.end <= len(content)
            assert 1 <= hit.position.start_line <= hit.position.end_line
        piece = blob[hits[0].position.start : hits[0].position.end]
        coding = name if name.startswith(("utf-16", "utf-32")) else "latin-1"
        assert "renew_session(user)" in piece.decode(coding)
        assert "renew_session(user)" in texts(repo, "renew_session")["a.py"]
        shutil.rmtree(repo.path / ".git/ctx/views")  # the words are read again from the stored structure


def test_lines_count_from_one_and_equal_those_of_git(make_repo: Callable[..., Repo]) -> None:
    repo = make_repo()
    lines = [f"def number_{i}():\n    return {i}\n\n\n" for i in range(300)]
    repo.commit({"a.py": "".join(lines)})
    hit = search(repo, "number_250").hits[0]
    shown = (
        repo.git("show", "HEAD:a.py")
        .decode()
        .split("\n")[hit.position.start_line - 1 : hit.position.end_line]
    )
    assert "def number_250():" in shown
    assert "\n".join(shown) == texts(repo, "number_250")["a.py"] or len(search(repo, "number_250").hits) > 1


def test_links_and_submodules_are_counted_and_never_followed(
    make_repo: Callable[..., Repo], tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.py").write_text("def renew_secret():\n    pass\n")
    repo = make_repo()
    for name, target in (
        ("up", "../outside"),
        ("file", "../outside/secret.py"),
        ("loop", "."),
        ("gone", "no"),
    ):
        (repo.path / name).symlink_to(target)
    repo.commit({"a.py": "def here():\n    pass\n"})
    repo.git("update-index", "--add", "--cacheinfo", f"160000,{'2' * 40},module")
    repo.git("commit", "--quiet", "--message", "a submodule")
    answer = search(repo, "renew_secret")
    assert {hit.path for hit in answer.hits} <= {"a.py"}
    assert answer.coverage.skipped == {"symlink": 4, "submodule": 1}


def test_one_blob_at_several_paths_is_one_hit(make_repo: Callable[..., Repo]) -> None:
    repo = make_repo()
    text = "def renew_session(user):\n    return user.session.renew()\n"
    repo.commit(dict.fromkeys(("src/a.py", "lib/b.py", "vendor/c.py"), text) | {"other.py": "x = 1\n"})
    hit = search(repo, "renew_session").hits[0]
    assert (hit.path, hit.also_at) == ("lib/b.py", ("src/a.py", "vendor/c.py"))
    assert sum(one.blob == hit.blob for one in search(repo, "renew_session").hits) == 1
    hit = only_hit(repo, "renew_session", paths=["vendor"])
    assert (hit.path, hit.also_at) == ("vendor/c.py", ("lib/b.py", "src/a.py"))
    repo.commit({"lib/b.py": None})
    hit = search(repo, "renew_session").hits[0]
    assert (hit.path, hit.also_at) == ("src/a.py", ("vendor/c.py",))


def test_one_blob_in_two_languages_is_one_hit(make_repo: Callable[..., Repo]) -> None:
    repo = make_repo()
    text = "".join(
        f"# Part {i}\n\nThe licensee may copy part {i} of the work.\n\n{'word ' * 200}\n\n" for i in range(9)
    )
    repo.commit({"LICENSE": text, "LICENSE.md": text, "docs/other.md": "# Other\n\nThe licensee may not.\n"})
    hits = search(repo, "the licensee may copy", limit=20).hits
    both = {"LICENSE", "LICENSE.md"}
    for hit in hits:
        assert ({hit.path, *hit.also_at} == both) is (hit.path != "docs/other.md")
    shown = sorted((hit.position.start, hit.position.end) for hit in hits if hit.path in both)
    assert len(shown) >= 9
    assert all(2 * (end - start) <= after - start for (_, end), (start, after) in pairwise(shown))
    assert hits[:3] == search(repo, "the licensee may copy", limit=3).hits
    hit = only_hit(repo, "the licensee may copy part 3", limit=1, languages=["markdown"], paths=["LICENSE*"])
    assert (hit.path, hit.also_at) == ("LICENSE.md", ("LICENSE",))


def test_paths_of_any_bytes(make_repo: Callable[..., Repo]) -> None:
    repo = make_repo()
    names = [
        b"caf\xe9/s.py",
        "папка/сессия.py".encode(),
        b"with\nnewline.py",
        b"-dash.py",
        b":(top)x.py",
        b" .py",
    ]
    repo.commit({name: f"def renew_session_{i}():\n    return {i}\n" for i, name in enumerate(names)})
    assert {hit.path for hit in search(repo, "renew session", limit=50).hits} == set(map(os.fsdecode, names))
