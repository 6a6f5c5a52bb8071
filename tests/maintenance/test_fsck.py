"""`git ctx fsck`: every kind of damage is found and repaired, and searches answer as before."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from repositories import Repo
from stores import answers, done, files, forget, git_ctx, indexed, source, state, store

import ctx
from ctx.storage.clusters import encode_cluster
from ctx.storage.store import encode_object


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def empty(path: Path) -> None:
    path.write_bytes(b"")


def flipped(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 0x10
    path.write_bytes(data)


def foreign(path: Path) -> None:
    path.write_bytes(b"\xff{ this is something else\n" * 40)


def of_another_name(path: Path) -> None:
    """Return the bytes of another file of the same kind, or of another kind if there is none."""
    others = [other for other in path.parent.parent.rglob("*") if other.is_file() and other != path]
    path.write_bytes((others or [store_of(path) / "CACHEDIR.TAG"])[0].read_bytes())


def store_of(path: Path) -> Path:
    return next(parent for parent in path.parents if parent.name == "ctx")


PLACES = {
    "cluster": "objects/*/*/*",
    "node": "snapshots/*/nodes/*/*",
    "tree": "snapshots/*/trees/*/*",
    "log": "snapshots/*/log/*",
    "segment": "views/*/segment-*",
    "view": "views/*/view-*",
    "fit": "fit",
}


@pytest.fixture
def sound(repo: Repo) -> Repo:
    """Return a repository with one indexed tree of several nodes, and a view."""
    repo.commit(files("src", "lib/deep"))
    assert git_ctx(repo.path, "index").status == 0
    repo.git("config", "ctx.fit", "true")
    answers(repo.path)
    return repo


@pytest.mark.parametrize("damage", [cut, empty, flipped, foreign, of_another_name])
@pytest.mark.parametrize("kind", list(PLACES))
def test_damage_is_found_and_repaired(sound: Repo, kind: str, damage: Callable[[Path], None]) -> None:
    before = answers(sound.path)
    path = sorted(store(sound).glob(PLACES[kind]))[0]
    good = path.read_bytes()
    damage(path)
    if kind == "log" and damage in (empty, flipped, of_another_name):
        # A log has no checksum; what is still JSON is believed.
        path.write_bytes(good + b"nonsense\n")
    damaged = state(sound)
    run = git_ctx(sound.path, "fsck", "--dry-run", "--json-output")
    assert (run.status, run.err) == (1, "")
    name = str(path.relative_to(store(sound)))
    assert name in {found["path"] for found in run.json["findings"]}
    assert not any(found["mended"] for found in run.json["findings"])
    assert state(sound) == damaged
    repaired = git_ctx(sound.path, "fsck")
    assert repaired.status == 1
    assert f"repaired {kind} {name}: " in repaired.out
    assert git_ctx(sound.path, "fsck").out.endswith("no damage found\n")
    assert answers(sound.path) == before
    assert git_ctx(sound.path, "index").status == 0
    assert git_ctx(sound.path, "fsck", "--full").status == 0
    if kind in ("cluster", "node", "tree"):
        assert path.read_bytes() == good


@pytest.mark.parametrize("kind", ["cluster", "node"])
def test_references_to_missing_files(sound: Repo, kind: str) -> None:
    before = answers(sound.path)
    with ctx.open(sound.path) as index:
        root = index.session.snapshots.tree(sound.id("HEAD^{tree}"))
        assert root is not None
    path = next(path for path in sorted(store(sound).glob(PLACES[kind])) if root.hex()[2:] != path.name)
    path.unlink()
    findings = git_ctx(sound.path, "fsck", "--json-output").json["findings"]
    kinds = [found["kind"] for found in findings]
    assert kinds[0] == "tree"
    assert kinds.count("node") == len(findings) - 1 > 0
    assert {found["problem"] for found in findings} == {"it refers to a missing or damaged file"}
    assert answers(sound.path) == before
    assert git_ctx(sound.path, "fsck", "--full").status == 0


def test_foreign_files_are_reported_and_kept(sound: Repo) -> None:
    strange = (
        "notes.txt", "objects/readme", "objects/x/ab/not-hex", "snapshots/x/nodes/ab/cd", "views/x/y/z",
        "pins/v1", "strange/deep/file",
    )  # fmt: skip
    for name in strange:
        path = store(sound) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("mine")
    os.symlink("/etc/passwd", store(sound) / "link")
    report = done(sound.path, "fsck")
    assert sorted(report["foreign"]) == sorted([*strange, "link"])
    assert report["findings"] == []
    run = git_ctx(sound.path, "gc", "--grace=now")
    assert run.status == 0
    assert all((store(sound) / name).exists() for name in strange)
    assert "not of git-ctx, left alone: notes.txt" in git_ctx(sound.path, "fsck").out


def test_only_full_detects_an_incomplete_node(sound: Repo) -> None:
    before = answers(sound.path)
    with ctx.open(sound.path) as index:
        root = index.session.snapshots.tree(sound.id("HEAD^{tree}"))
        assert root is not None
        record = index.session.snapshots.node(root)
        assert record is not None
        index.session.snapshots.write_node(root, record._replace(nodes=record.nodes[:-1]))
    assert git_ctx(sound.path, "fsck").status == 0
    run = git_ctx(sound.path, "fsck", "--full", "--json-output")
    assert run.status == 1
    assert [found["kind"] for found in run.json["findings"]] == ["node", "tree"]
    assert answers(sound.path) == before
    assert git_ctx(sound.path, "fsck", "--full").status == 0


def test_only_full_detects_a_record_of_another_blob(sound: Repo) -> None:
    sound.commit({f"src/f{i}.py": source("longer", i) + "# more\n" * i for i in range(20)})
    done(sound.path, "index")
    with ctx.open(sound.path) as index:
        for key in list(index.session.clusters.keys()):
            stored = index.session.clusters.stored(key)
            documents = dict(stored.documents)
            if len(documents) > 1:
                first, second = list(documents)[:2]
                documents[first], documents[second] = documents[second], documents[first]
            payload = encode_cluster(str(index.session.descriptor), stored.members, stored.skips, documents)
            path = index.session.store.file(f"objects/{index.session.descriptor}", key.hex())
            Path(path).write_bytes(encode_object(key.hex(), payload))
    assert git_ctx(sound.path, "fsck").status == 0
    run = git_ctx(sound.path, "fsck", "--full", "--json-output")
    assert run.status == 1
    assert "cluster" in {found["kind"] for found in run.json["findings"]}


def test_missing_trees_cannot_be_compared(repo: Repo) -> None:
    indexed(repo)
    gone = repo.id("other^{tree}")
    forget(repo, "other")
    repo.git("prune", "--expire=now")
    report = done(repo.path, "fsck", "--full")
    assert gone.hex() in report["notCompared"]
    assert report["findings"] == []


def test_damaged_layout_file(sound: Repo) -> None:
    (store(sound) / "version").write_bytes(b"\0\0")
    assert git_ctx(sound.path, "fsck", "--dry-run").status == 1
    assert (store(sound) / "version").read_bytes() == b"\0\0"
    git_ctx(sound.path, "fsck")
    assert (store(sound) / "version").read_text() == "1\n"


def test_empty_store(repo: Repo) -> None:
    repo.commit(files("src", many=2))
    assert git_ctx(repo.path, "fsck").out == "checked 0 files, no damage found\n"
    assert not store(repo).exists()
