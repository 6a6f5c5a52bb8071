"""A full disk: an error says so, nothing is damaged, and freeing space is enough to continue."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable

import pytest
from projects import QUERIES, project
from repositories import Repo
from ways import environment, program

SCRIPT = """
mount -t tmpfs -o size=$2 tmpfs .git/ctx || exit 99
shift 2
ctx() { echo "-- $1"; "$PYTHON" -m ctx "$@" 2>&1; echo "status $?"; }
ctx index
ctx search "$QUERY" -z
ctx fsck --dry-run
ctx gc
mount -o remount,size=50m .git/ctx
ctx index
ctx search "$QUERY" -z
ctx fsck --full
"""


@pytest.mark.parametrize("room", ["8k", "60k"])
def test_a_disk_that_is_full(make_repo: Callable[..., Repo], room: str) -> None:
    repo = make_repo()
    repo.commit(project(61, 150))
    expected = program("search", QUERIES[0], "-z", cwd=repo.path).out.decode()
    assert program("remove-index", "--yes", cwd=repo.path).status == 0
    (repo.path / ".git/ctx").mkdir()
    command = ["unshare", "-rm", "sh", "-c", SCRIPT, "sh", "", room]
    done = subprocess.run(
        command,
        cwd=repo.path,
        capture_output=True,
        env=environment({"PYTHON": sys.executable, "QUERY": QUERIES[0], "LC_ALL": "C"}),
    )
    if done.returncode == 99 or not done.stdout:
        pytest.skip(f"no file system can be mounted here: {os.fsdecode(done.stderr)}")
    parts = done.stdout.decode().split("-- ")[1:]
    full, roomy = parts[:4], parts[4:]
    assert "no room left for the index" in full[0]
    assert "free some space" in full[0]
    assert full[0].endswith("status 128\n")
    assert full[1] == f"search\n{expected}status 0\n"
    assert full[2].endswith("status 0\n"), full[2]
    assert "Traceback" not in full[3]
    assert "unexpected" not in full[3]
    assert all(part.endswith("status 0\n") for part in roomy), roomy
    assert roomy[1] == f"search\n{expected}status 0\n"
