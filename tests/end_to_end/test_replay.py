"""A small replay: random git commands, and answers compared with those of an index from scratch.

tests/benchmarks/replay.py does the same for long over the history of a real project.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from pathlib import Path

import pytest
from projects import project, source
from replay_run import Replay
from repositories import Repo


def history(repo: Repo) -> Path:
    """A project with many kinds of changes."""
    made = random.Random(5)
    files = project(5, 40)
    repo.commit(files)
    names = sorted(files)
    for number in range(12):
        name = names[number * 3]
        repo.commit({name: source(made, name.rpartition(".")[2])}, f"change {name}")
    repo.git("mv", "wide", "broad")
    repo.commit(message="rename a directory")
    repo.commit(
        {".ctxignore": "docs/\n", ".gitattributes": "lib/** linguist-vendored\n"},
        "leave out what is not ours",
    )
    os.symlink("src", repo.path / "link")
    (repo.path / names[-1].replace("wide", "broad")).chmod(0o755)
    repo.commit({"assets/logo.bin": b"\0\1\2" * 99}, "a link, a mode, a binary file")
    repo.commit({name: None for name in names if name.startswith("docs/")}, "drop the documents")
    for number in range(8):
        repo.commit(project(100 + number, 3), f"add part {number}")
    return repo.path


@pytest.mark.parametrize(("seed", "ids"), [(1, "sha1"), (2, "sha256")])
def test_answers_of_a_replay_equal_those_of_an_index_from_scratch(
    make_repo: Callable[..., Repo], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int, ids: str
) -> None:
    monkeypatch.setenv("GIT_EDITOR", "true")
    donor = history(make_repo("project", f"--object-format={ids}"))
    figures = Replay(donor, tmp_path, seed, span=18).run(13)
    assert (figures.steps, figures.stale) == (13, 0)
    assert figures.hits > 100
