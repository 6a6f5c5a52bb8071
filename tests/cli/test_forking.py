"""The warm children in which the tests run the program behave as a newly started program."""

from __future__ import annotations

import subprocess
import sys

import forking
import pytest

COMMANDS = [
    ("--version",),
    ("-h",),
    ("serach", "session"),
    ("search", "session", "-z", "--full-name"),
    ("search", "-", "--json-output"),
    ("search", "nothing of the kind", "--revision", "nowhere", "--json-output"),
    ("index", "HEAD"),
    ("show", "HEAD:src/session.py"),
    ("plan", "HEAD", "--json-output"),
]


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_a_forked_child_prints_what_a_program_prints(project, environment, words):
    """Byte by byte, with the same status, after the first search has indexed what is there."""
    given = {"cwd": project.path, "env": {**environment, "TZ": "Asia/Tokyo"}, "timeout": 120}
    assert forking.run(["index"], **given).returncode == 0
    warm = forking.run(words, stdin=b"where is a session renewed\n", **given)
    started = subprocess.run(
        [sys.executable, "-m", "ctx", *words],
        input=b"where is a session renewed\n",
        capture_output=True,
        **given,
    )
    assert (warm.returncode, warm.stdout, warm.stderr) == (
        started.returncode,
        started.stdout,
        started.stderr,
    )


def test_forked_calls_are_independent(project, environment, tmp_path):
    """Each has the directory and the variables that it is called with, and numbers of chance of its own."""
    other = {**environment, "GIT_DIR": str(tmp_path / "nowhere")}
    assert forking.run(["status"], cwd=tmp_path, env=other).returncode == 128
    assert forking.run(["status"], cwd=project.path, env=environment).returncode == 0
    assert forking.run(["status"], cwd=tmp_path, env=environment).returncode == 128
    with pytest.raises(subprocess.TimeoutExpired):
        forking.run(["mcp", "--http"], cwd=project.path, env=environment, timeout=0.5)
    assert forking.run(["status"], cwd=project.path, env=environment).returncode == 0
