"""Work killed at hundreds of points: the next run continues with the remaining data."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from repositories import Repo
from stores import ROOT, age, files, forget, git_ctx, indexed, source


@pytest.fixture
def left_behind(repo: Repo) -> Repo:
    """Return a repository with a new HEAD, unneeded data and uncommitted changes."""
    indexed(repo)
    forget(repo, "other")
    age(repo)
    repo.commit({"src/new.py": source("new", 1), "src/f1.py": source("src", 90), **files("added", many=18)})
    repo.write({"src/f2.py": source("not committed", 2), "untracked.py": source("untracked", 3)})
    return repo


@pytest.mark.long
@pytest.mark.parametrize("work", ["index", "gc", "background", "search", "remove"])
def test_killed_at_any_point(left_behind: Repo, tmp_path: Path, work: str) -> None:
    if work == "gc":
        assert git_ctx(left_behind.path, "index").status == 0
        age(left_behind)
    script = Path(__file__).with_name("killing.py")
    done = subprocess.run(
        [sys.executable, script, left_behind.path, "1", "40", work],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT), "OPENBLAS_NUM_THREADS": "1"},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith(f"{work}: 40 deaths")
