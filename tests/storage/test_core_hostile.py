"""Foreign files in the index directory harm neither the user's files nor the commands."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import forking
import msgpack
import numpy as np
import pytest
from repositories import Repo
from ways import environment, program

import ctx
from ctx.storage.arrays import decode, encode
from ctx.storage.store import decode_object, encode_object


def test_removing_a_linked_index_keeps_the_target(make_repo: Callable[..., Repo], tmp_path: Path) -> None:
    repo = make_repo()
    repo.commit({"a.py": "x = 1\n"})
    kept = tmp_path / "kept" / "letter.txt"
    kept.parent.mkdir()
    kept.write_text("dear\n")
    link = repo.path / ".git" / "ctx"
    link.symlink_to(kept.parent)
    with ctx.open(repo.path) as index:
        index.remove()
    assert not os.path.lexists(link)
    assert kept.read_text() == "dear\n"


def test_only_the_searched_view_is_touched(make_repo: Callable[..., Repo]) -> None:
    repo = make_repo()
    for number in range(3):
        repo.commit({"a.py": f"def f{number}():\n    return {number}\n"})
        with ctx.open(repo.path) as index:
            index.index()
    views = sorted((repo.path / ".git/ctx").glob("views/*/view-*"))
    for age, view in enumerate(views):
        os.utime(view, (1_600_000_000 + age, 1_600_000_000 + age))
    tree = bytes.fromhex(views[0].name.partition("-")[2])
    with ctx.open(repo.path) as index:
        assert len(list(index.session.catalog.views())) == len(views) == 3
        assert [view.stat().st_mtime for view in views] == [1_600_000_000 + age for age in range(3)]
        assert index.session.catalog.view(tree) is not None
    assert [view.stat().st_mtime > 1_700_000_000 for view in views] == [True, False, False]


def rewritten(repo: Repo, area: str, change: Callable[[Any], Any]) -> None:
    """Change the payloads of an area, with matching digests."""
    files = [path for path in (repo.path / ".git/ctx").glob(f"{area}/*/*") if path.is_file()]
    assert files
    for path in files:
        name = path.parent.name + path.name
        payload = msgpack.unpackb(decode_object(name, path.read_bytes()))
        path.write_bytes(encode_object(name, msgpack.packb(change([bytes.fromhex(name), payload]))))


def totals(place: int, value: object) -> Callable[[Any], Any]:
    def change(found: Any) -> Any:
        _, (nodes, clusters, sums) = found
        sums[place] = value
        return nodes, clusters, sums

    return change


def member(place: int, value: object) -> Callable[[Any], Any]:
    def change(found: Any) -> Any:
        _, (name, members, *rest) = found
        members[0][place] = value
        return name, members, *rest

    return change


NODES = {
    "names itself": lambda found: ([found[0]], *found[1][1:]),
    "a number for nodes": lambda found: (5, *found[1][1:]),
    "a number for clusters": lambda found: ([], 5, found[1][2]),
    "short keys": lambda found: ([], [b"short"], found[1][2]),
    "keys of text": lambda found: ([], ["x" * 20], found[1][2]),
    "text for a count": totals(1, "many"),
    "less than nothing": totals(2, -1),
    "a list of languages": totals(5, [1]),
    "reasons without numbers": totals(6, {"binary": None}),
}
CLUSTERS = {
    "path": member(0, "a.py"),
    "mode": member(1, "100644"),
    "object": member(2, None),
    "language": member(3, 5),
    "reason": member(4, 5),
    "records": lambda found: [*found[1][:2], [5], *found[1][3:]],
    "hashes": lambda found: [*found[1][:3], "text", found[1][4]],
}


@pytest.fixture
def repo(make_repo: Callable[..., Repo]) -> Repo:
    """Return a small repository with an index and no view."""
    made = make_repo()
    made.commit({f"src/{name}.py": f"def renew_{name}():\n    return 1\n" for name in "abc"})
    with ctx.open(made.path) as index:
        index.index()
    shutil.rmtree(made.path / ".git/ctx/views")
    return made


def commands_answer(repo: Repo) -> None:
    """Check that each command that reads the store succeeds in time and reports no bug."""
    for words in (("status",), ("fsck",), ("search", "renew", "a"), ("status", "--log"), ("gc",), ("fsck",)):
        done = forking.run(words, cwd=repo.path, env=environment(), timeout=20)
        assert done.returncode in ((0, 1) if words == ("fsck",) else (0,)), (words, done.stderr)
        assert b"unexpected" not in done.stderr
    assert done.stdout.endswith(b"no damage found\n")


@pytest.mark.parametrize("change", NODES.values(), ids=NODES.keys())
def test_invalid_nodes(repo: Repo, change: Callable[[Any], Any]) -> None:
    rewritten(repo, "snapshots/*/nodes", change)
    with ctx.open(repo.path) as index:
        assert [one.status for one in index.status().snapshots] == ["damaged"]
        assert index.search("renew a").hits
    rewritten(repo, "snapshots/*/nodes", change)
    commands_answer(repo)


@pytest.mark.parametrize("change", CLUSTERS.values(), ids=CLUSTERS.keys())
def test_invalid_clusters(repo: Repo, change: Callable[[Any], Any]) -> None:
    rewritten(repo, "objects/*", change)
    with ctx.open(repo.path) as index:
        assert index.search("renew a").hits
    rewritten(repo, "objects/*", change)
    commands_answer(repo)


def test_files_with_other_names_and_pipes(repo: Repo) -> None:
    store = repo.path / ".git/ctx"
    for area in ("objects/*", "snapshots/*/nodes", "snapshots/*/trees"):
        (folder,) = store.glob(area)
        for name in ("ab", "cd" * 40, "ef" * 19, "not hexadecimal"):
            (folder / "ab").mkdir(exist_ok=True)
            (folder / "ab" / name).write_bytes(b"x")
    found = [path for path in store.glob("objects/*/*/*") if len(path.name) == 38]
    found += [*store.glob("snapshots/*/nodes/*/*"), *store.glob("snapshots/*/log/*")]
    for path in found:
        if path.name in ("ab", "cd" * 40, "ef" * 19, "not hexadecimal"):
            continue
        path.unlink()
        os.mkfifo(path)
    commands_answer(repo)


def test_impossible_times(repo: Repo) -> None:
    (log,) = (repo.path / ".git/ctx").glob("snapshots/*/log/*")
    line = json.loads(log.read_text())
    for created in (1e30, -(10**15), 10**17):
        log.write_text(json.dumps({**line, "created_at": created, "committer_time": created}) + "\n")
        commands_answer(repo)


@pytest.mark.parametrize("kind", ["view", "segment"])
def test_arrays_of_wrong_shapes(repo: Repo, kind: str) -> None:
    with ctx.open(repo.path) as index:
        expected = index.search("renew a").hits
        (path,) = (repo.path / ".git/ctx").glob(f"views/*/{kind}-*")
        whole = path.read_bytes()
        arrays, meta = decode(whole)
    for name, array in arrays.items():
        for wrong in (array[:-1], array.reshape(-1, 1), array.astype("<f4"), np.zeros((0, 3), "<u8")):
            path.write_bytes(encode({**arrays, name: wrong}, meta))
            with ctx.open(repo.path) as index:
                assert index.search("renew a").hits == expected, (name, wrong.shape)
    path.write_bytes(encode(arrays, {**meta, "tree": 5, "languages": 5, "skipped": [3]}))
    with ctx.open(repo.path) as index:
        assert index.search("renew a").hits == expected


def test_hits_with_a_missing_blob_are_printed_without_text(repo: Repo) -> None:
    blob = repo.id("HEAD:src/a.py")
    with ctx.open(repo.path) as index:
        assert index.search("renew a").hits
    repo.delete_object(blob)
    options: tuple[tuple[str, ...], ...] = (("--color=never",), ("--color=always",), ("--json-output",))
    for option in options:
        done = program("search", *option, "--no-overlay", "renew a", cwd=repo.path)
        assert done.status == 0, done.err
        assert (b'"content":null' if "json" in option[0] else b"the text is missing or damaged") in done.out
        assert b"src/b.py" in done.out
