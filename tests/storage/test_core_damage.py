"""Derived data is expendable: damage to any file of the index does not change an answer."""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from projects import QUERIES, project, source
from repositories import Repo
from ways import ask, program

import ctx
from ctx.errors import StoreUnusable
from ctx.indexing.reports import ALREADY_INDEXED

FEW = (QUERIES[0], QUERIES[2])
FILTERS = ((), ("src",))

KINDS = {
    "cluster": "objects/*/*/*",
    "node": "snapshots/*/nodes/*/*",
    "tree": "snapshots/*/trees/*/*",
    "log": "snapshots/*/log/*",
    "segment": "views/*/segment-*",
    "view": "views/*/view-*",
    "version": "version",
    "lock": "lock",
    "tag": "CACHEDIR.TAG",
}


@pytest.fixture(scope="module")
def indexed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Return a repository with two indexed revisions; never changed."""
    patch = pytest.MonkeyPatch()
    for who in ("AUTHOR", "COMMITTER"):
        patch.setenv(f"GIT_{who}_NAME", "Ada Tester")
        patch.setenv(f"GIT_{who}_EMAIL", "ada@example.org")
    patch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    repo = Repo(tmp_path_factory.mktemp("damage") / "repo")
    repo.path.mkdir()
    repo.git("init", "--quiet")
    repo.git("symbolic-ref", "HEAD", "refs/heads/main")
    made = random.Random(3)
    files = project(31, 70)
    repo.commit(files)
    with ctx.open(repo.path) as index:
        index.index(jobs=1)
    repo.commit({name: source(made, name.rpartition(".")[2]) for name in list(files)[::9]})
    with ctx.open(repo.path) as index:
        index.index(jobs=1)
    yield repo.path
    patch.undo()


@pytest.fixture(scope="module")
def expected(indexed: Path) -> object:
    """Return the answers before any damage."""
    return ask(indexed, FEW, FILTERS)


@pytest.fixture
def copy(indexed: Path, tmp_path: Path) -> Path:
    """Return a copy of that repository with its index, for one test."""
    shutil.copytree(indexed, tmp_path / "copy")
    return tmp_path / "copy"


def files(path: Path, kind: str) -> list[Path]:
    """Return the files of a kind in the index of a repository, by name."""
    return sorted((path / ".git" / "ctx").glob(KINDS[kind]))


def truncate(file: Path, others: list[Path]) -> None:
    os.truncate(file, file.stat().st_size // 2)


def cut_last(file: Path, others: list[Path]) -> None:
    os.truncate(file, max(0, file.stat().st_size - 1))


def empty(file: Path, others: list[Path]) -> None:
    os.truncate(file, 0)


def flip(file: Path, others: list[Path]) -> None:
    """Flip bits throughout the file."""
    data = bytearray(file.read_bytes())
    for place in random.Random(len(data)).choices(range(len(data)), k=1 + len(data) // 50) if data else ():
        data[place] ^= 0x41
    file.write_bytes(bytes(data))


def flip_one(file: Path, others: list[Path]) -> None:
    """Flip one bit in the content, late in the file."""
    data = bytearray(file.read_bytes())
    if data:
        data[len(data) * 2 // 3] ^= 0x10
        file.write_bytes(bytes(data))


def swap(file: Path, others: list[Path]) -> None:
    """Replace a file with another valid one of the same kind."""
    data = {other: other.read_bytes() for other in others if other != file}
    if data:
        file.write_bytes(data[min(data)])


def rotate(_: Path, others: list[Path]) -> None:
    """Rotate the contents of all files of a kind."""
    data = [other.read_bytes() for other in others]
    for other, content in zip(others, data[1:] + data[:1], strict=True):
        other.write_bytes(content)


def delete(file: Path, others: list[Path]) -> None:
    file.unlink()


def text(file: Path, others: list[Path]) -> None:
    file.write_bytes(b"<<<<<<< this is not what belongs here\n" * 9)


def directory(file: Path, others: list[Path]) -> None:
    file.unlink()
    file.mkdir()


WAYS = (truncate, cut_last, empty, flip, flip_one, swap, rotate, delete, text)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in ("lock", "tag", "version")])
@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
def test_every_file_of_a_kind_damaged(
    copy: Path, expected: object, kind: str, way: Callable[[Path, list[Path]], None]
) -> None:
    found = files(copy, kind)
    assert found, f"there is no {kind}"
    for file in found[:1] if way is rotate else found:
        way(file, found)
    assert ask(copy, FEW, FILTERS) == expected
    # Repaired files stay repaired: the next run has nothing to do.
    assert ask(copy, FEW, FILTERS) == expected
    with ctx.open(copy) as index:
        assert index.index(jobs=1).skipped == ALREADY_INDEXED
        index.status()


@pytest.mark.parametrize("kind", ["cluster", "node", "segment"])
@pytest.mark.parametrize("way", [empty, flip_one, swap, delete], ids=lambda way: way.__name__)
def test_each_single_file_damaged(
    indexed: Path, expected: object, tmp_path: Path, kind: str, way: Callable[[Path, list[Path]], None]
) -> None:
    names = [file.relative_to(indexed) for file in files(indexed, kind)]
    for number, name in enumerate(names[:: max(1, len(names) // 4)]):
        copy = tmp_path / str(number)
        shutil.copytree(indexed, copy)
        way(copy / name, [copy / other for other in names])
        for view in files(copy, "view"):
            view.unlink()
        assert ask(copy, FEW[:1], FILTERS).items() <= expected.items(), name  # type: ignore[attr-defined]
        shutil.rmtree(copy)


@pytest.mark.parametrize("way", [empty, delete, text], ids=lambda way: way.__name__)
def test_small_files_of_the_directory_damaged(
    copy: Path, expected: object, way: Callable[[Path, list[Path]], None]
) -> None:
    for kind in ("version", "lock", "tag"):
        way(files(copy, kind)[0], [])
    assert ask(copy, FEW, FILTERS) == expected
    repo = Repo(copy)
    repo.commit({"new.py": "def renewed():\n    return 1\n"})
    run = program("index", cwd=copy)
    assert run.status == 0, run.err
    assert (copy / ".git/ctx/version").read_text() == "1\n"


def test_everything_damaged_at_once(copy: Path) -> None:
    before = program("search", "renew the session", "-z", cwd=copy)
    assert before.status == 0
    for kind in KINDS:
        for file in files(copy, kind):
            truncate(file, [])
    after = program("search", "renew the session", "-z", cwd=copy)
    assert (after.status, after.out, after.err) == (0, before.out, "")


@pytest.mark.parametrize("way", [empty, flip, rotate, delete], ids=lambda way: way.__name__)
def test_related_code_is_found_in_damaged_clusters(
    copy: Path, way: Callable[[Path, list[Path]], None]
) -> None:
    with ctx.open(copy) as index:
        code = index.search(FEW[0]).hits[0].text
        assert code is not None
        before = index.related(None, code, limit=5).hits
        changes = index.related_changes("HEAD~..HEAD")[1]
    assert before
    found = files(copy, "cluster")
    for file in found[:1] if way is rotate else found:
        way(file, found)
    with ctx.open(copy) as index:
        assert index.related(None, code, limit=5).hits == before
        assert index.related_changes("HEAD~..HEAD")[1] == changes


def test_directories_instead_of_files(copy: Path, expected: object) -> None:
    for kind in ("segment", "view"):
        for file in files(copy, kind):
            directory(file, [])
    assert ask(copy, FEW, FILTERS) == expected


def test_whole_areas_are_missing(copy: Path, expected: object) -> None:
    for area in ("views", "snapshots", "objects", "tmp"):
        shutil.rmtree(copy / ".git" / "ctx" / area)
        assert ask(copy, FEW, FILTERS) == expected, area


def test_status_reads_a_damaged_log(copy: Path) -> None:
    log = files(copy, "log")[0]
    whole = log.read_text()
    lines = [
        "",
        "[]",
        "5",
        "{}",
        whole.strip().replace('"created_at": ', '"created_at": "x'),
        whole.strip().replace('"created_at": 1', '"created_at": 1e400, "x": 1'),
        whole.strip().replace('"commit": "', '"commit": "zz'),
        '{"commit": 5, "revision": null, "committer_time": null, "created_at": 1, "trigger": []}',
    ]
    log.write_text("\n".join(lines) + "\n" + whole)
    run = program("status", cwd=copy)
    assert (run.status, run.err) == (0, "")
    assert program("status", "--json-output", cwd=copy).status == 0


@pytest.mark.parametrize("layout", ["2", "99", "0"])
@pytest.mark.parametrize(
    "command", [("search", "session"), ("index",), ("status",)], ids=lambda words: words[0]
)
def test_another_layout_is_an_error_and_left_alone(copy: Path, layout: str, command: tuple[str, ...]) -> None:
    (copy / ".git/ctx/version").write_text(f"{layout}\n")
    before = sorted(str(file) for file in (copy / ".git/ctx").rglob("*"))
    run = program(*command, cwd=copy)
    assert run.status == 128
    assert f"has layout '{layout}'" in run.err
    assert "newer git-ctx" in run.err
    assert before == sorted(str(file) for file in (copy / ".git/ctx").rglob("*"))
    with pytest.raises(StoreUnusable):
        ctx.open(copy)


def test_temporary_files_of_killed_writers_are_removed(copy: Path) -> None:
    old, new = copy / ".git/ctx/tmp/old", copy / ".git/ctx/tmp/new"
    for file in (old, new):
        file.write_bytes(b"half a file")
    os.utime(old, (1_600_000_000, 1_600_000_000))
    Repo(copy).commit({"swept.py": "x = 1\n"})
    assert program("index", cwd=copy).status == 0
    assert (old.exists(), new.exists()) == (False, True)


def test_a_damaged_git_object_is_an_error_or_counted(copy: Path) -> None:
    """A file whose blob cannot be read is skipped; a damaged tree is an error that names the fix."""
    repo = Repo(copy)
    repo.commit(
        {"gone/blob.py": "def gone():\n    return 1\n", "gone/stays.py": "def stays():\n    return 2\n"}
    )
    repo.delete_object(repo.id("HEAD:gone/blob.py"))
    run = program("search", "gone stays", cwd=copy)
    assert run.status == 0, run.err
    repo.delete_object(repo.id("HEAD:gone"))
    shutil.rmtree(copy / ".git/ctx")
    run = program("search", "gone", cwd=copy)
    assert run.status == 128
    assert "git fsck" in run.err
    assert "unexpected" not in run.err
