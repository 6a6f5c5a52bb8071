"""Views of trees that are not indexed, borrowed from other trees."""

from __future__ import annotations

import os
from pathlib import Path

from repositories import Repo

import ctx


def nodes(repo: Repo) -> set[Path]:
    """Return the files of manifest nodes."""
    return {path for path in (repo.path / ".git/ctx/snapshots").glob("*/nodes/*/*") if path.is_file()}


def test_files_below_a_missing_node_are_searched(repo: Repo) -> None:
    deep = {f"src/deep/file{i}.py": f"def renew_{i}(value):\n    return value\n" for i in range(20)}
    beside = {f"src/file{i}.py": f"def close_{i}(value):\n    return value\n" for i in range(20)}
    repo.commit(deep | beside | {f"file{i}.py": f"A{i} = 1\n" for i in range(20)})
    with ctx.open(repo.path) as index:
        index.index()
        inner = [
            node for node, _ in index.session.indexer.trees.root(repo.id("HEAD^{tree}")).walk()
            if node.path == b"src/deep/"
        ]  # fmt: skip
    (lost,) = (path for path in nodes(repo) if path.parent.name + path.name == inner[0].key.hex())
    os.unlink(lost)
    repo.commit({"file0.py": "A0 = 2\n"})
    repo.git("config", "ctx.catchUp", "never")
    with ctx.open(repo.path) as index:
        answer = index.search("renew_13")
    assert answer.hits[0].path == "src/deep/file13.py"
    assert answer.coverage.files + answer.coverage.scanned == 60
