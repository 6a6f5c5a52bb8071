"""A blob of any indexed tree is not chunked again, and reusing its document makes the same bytes."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from repositories import Repo
from ways import ask, payloads, program, store

import ctx
from ctx.indexing.reports import IndexReport
from ctx.storage.document_index import AREA, DocumentIndex

QUERY = ("where is the session renewed",)
NOISE = bytes(range(256)) * 8


def index(repo: Repo) -> IndexReport:
    with ctx.open(repo.path) as opened:
        return opened.index(jobs=1)


def known(repo: Repo) -> Path:
    """Return the path of the document index."""
    (found,) = (store(repo.path) / AREA).iterdir()
    return found


@pytest.fixture
def back(make_repo: Callable[..., Repo]) -> Repo:
    """Return a repository where HEAD, not indexed, has two files of an older tree and a new one."""
    repo = make_repo()
    wanted = {"session.py": "def renew(session):\n    return session\n", "logo.bin": NOISE}
    repo.commit({"many.py": "def zero():\n    return 0\n", **wanted}, "Begin")
    index(repo)
    repo.commit(dict.fromkeys(wanted), "Take two files away")
    for number in range(20):
        repo.commit({"many.py": f"def many_{number}():\n    return {number}\n"}, f"Step {number}")
        index(repo)
    repo.commit(wanted | {"many.py": "def last():\n    return -1\n"}, "Bring them back")
    return repo


def test_documents_of_older_trees_are_reused(back: Repo, tmp_path: Path) -> None:
    fresh = tmp_path / "fresh"
    back.git("clone", "--quiet", str(back.path), str(fresh))
    # Git no longer has the binary file: only who remembers why it was left out can make the cluster.
    back.delete_object(back.id("HEAD:logo.bin"))
    report = index(back)
    assert (report.embedded_chunks, report.reused_chunks) == (1, 1)
    assert report.skipped_files == {"binary": 1}
    answers = ask(back.path, QUERY, ((),), "HEAD")
    assert answers == ask(fresh, QUERY, ((),), "HEAD")
    of_fresh = payloads(fresh)
    assert {name: payloads(back.path)[name] for name in of_fresh} == of_fresh


@pytest.mark.parametrize("damage", ["gone", "cut short", "garbage", "of another release", "a pipe", "wrong"])
def test_the_document_index_is_rebuilt_and_verified(back: Repo, damage: str) -> None:
    path = known(back)
    data = path.read_bytes()
    path.unlink()
    if damage == "cut short":
        path.write_bytes(data[:-3])
    elif damage == "garbage":
        path.write_bytes(os.urandom(len(data)))
    elif damage == "of another release":
        path.write_bytes(data[:4] + b"\2" + data[5:])
    elif damage == "a pipe":
        os.mkfifo(path)
    elif damage == "wrong":
        # Each document in a cluster that has another one.
        records = [data[at : at + 28] for at in range(28, len(data), 28)]
        keys = [record[8:] for record in records]
        turned = [record[:8] + key for record, key in zip(records, keys[1:] + keys[:1], strict=True)]
        path.write_bytes(data[:28] + b"".join(turned))
    index(back)
    answers = ask(back.path, QUERY, ((),), "HEAD")
    fresh = back.path.parent / "fresh"
    back.git("clone", "--quiet", str(back.path), str(fresh))
    assert answers == ask(fresh, QUERY, ((),), "HEAD")
    for name in ("session.py", "many.py"):
        assert has(back, (back.id(f"HEAD:{name}"), "python"))


def has(repo: Repo, document: tuple[bytes, str]) -> bool:
    """Return True if the index leads to a cluster with this document."""
    with ctx.open(repo.path) as opened:
        found = DocumentIndex(opened.session.store, str(opened.session.descriptor)).clusters_of([document])
        return document in found and document in opened.session.clusters.stored(found[document]).documents


def test_a_collection_removes_entries_of_deleted_clusters(back: Repo) -> None:
    index(back)
    before = known(back).stat().st_size
    for folder, _, files in os.walk(store(back.path)):
        for name in files:
            os.utime(os.path.join(folder, name), (back.clock - 10**7, back.clock - 10**7))
    back.git("checkout", "--quiet", "--orphan", "alone")
    back.commit({"other.py": "def other():\n    return 1\n"}, "Begin again")
    back.git("branch", "--quiet", "-D", "main")
    back.git("reflog", "expire", "--expire=now", "--expire-unreachable=now", "--all")
    index(back)
    assert program("gc", "--grace", "now", cwd=back.path).status == 0
    assert known(back).stat().st_size < before
    with ctx.open(back.path) as opened:
        there = {key.hex() for key in opened.session.clusters.keys()}  # noqa: SIM118
        data = known(back).read_bytes()
        assert {data[at + 8 : at + 28].hex() for at in range(28, len(data), 28)} <= there
    assert has(back, (back.id("HEAD:other.py"), "python"))
    assert program("fsck", "--full", cwd=back.path).status == 0
