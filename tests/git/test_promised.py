"""Fetching promised objects ends, whatever the state of the objects that are present."""

from __future__ import annotations

import subprocess
from pathlib import Path

from repositories import Repo

from ctx.git.promised import fetch_missing
from ctx.git.repository import open_repository


def test_damaged_tree_is_not_fetched_again_and_again(repo: Repo, tmp_path: Path) -> None:
    repo.git("config", "uploadpack.allowFilter", "true")
    repo.commit({"src/a.py": "a = 1\n"})
    clone = tmp_path / "clone"
    command = ["git", "clone", "-q", "--no-checkout", "--filter=tree:0", repo.path.as_uri(), str(clone)]
    subprocess.run(command, check=True)
    tree = repo.id("HEAD^{tree}")
    name = tree.hex()
    damaged = clone / ".git/objects" / name[:2] / name[2:]
    damaged.parent.mkdir(exist_ok=True)
    damaged.write_bytes(b"no zlib stream")
    announced: list[int] = []
    with open_repository(clone) as repository:
        assert fetch_missing(repository, tree, lambda: (), announced.append) == 0
    assert announced == []
