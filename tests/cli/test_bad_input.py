"""Errors are one clear sentence with an exit status, and lose nothing."""

from __future__ import annotations

import os

import pytest

SEARCHES = (["search", "session"], ["index"], ["status"], ["remove-index"])


def fatal(run):
    """The sentence of a fatal error."""
    assert run.status == 128
    assert "Traceback" not in run.err
    assert "unexpected" not in run.err
    assert run.err.startswith("fatal: ")
    return run.err


@pytest.mark.parametrize("arguments", SEARCHES)
def test_not_a_repository(git_ctx, tmp_path, arguments):
    run = git_ctx(*arguments, cwd=tmp_path)
    assert "git repository" in fatal(run)
    assert run.out == b""


def test_errors_in_json(git_ctx, tmp_path):
    run = git_ctx("search", "x", "--json-output", cwd=tmp_path)
    error = run.json
    assert (run.status, error["type"], error["exitCode"]) == (128, "error", 128)
    assert error["message"] in fatal(run)


def test_unborn_head(git_ctx, tmp_path, project):
    empty = tmp_path / "empty"
    project.git("init", "-q", str(empty))
    assert "commit" in fatal(git_ctx("search", "session", cwd=empty))
    assert "commit" in fatal(git_ctx("index", cwd=empty))
    assert git_ctx("status", cwd=empty).text.endswith("HEAD     no commit yet\n")


@pytest.mark.parametrize("name", ["nowhere", "--all", "HEAD:src/session.py", "a..b", ""])
def test_unknown_revision(git_ctx, project, name):
    message = fatal(git_ctx("search", "session", f"--revision={name}", cwd=project.path))
    assert name in message


def test_unknown_branch(git_ctx, project):
    assert "nowhere" in fatal(git_ctx("search", "session", "--branch", "nowhere", cwd=project.path))


def test_huge_query(git_ctx, project):
    query = "renew a session " * 6400
    run = git_ctx("search", "-", cwd=project.path, stdin=query.encode())
    assert run.status == 0
    assert git_ctx("search", query, "--json-output", cwd=project.path).status == 0


@pytest.mark.parametrize("query", ["\0", "\udcff", "😀", "::", "сессия", "-- ", "会话", "\x1b[31m"])
def test_strange_queries(git_ctx, project, query):
    run = git_ctx("search", "-", cwd=project.path, stdin=query.encode("utf-8", "surrogateescape"))
    assert run.status in (0, 1)
    assert run.lines[-1].startswith("-- ")


def test_unknown_language(git_ctx, project):
    run = git_ctx("search", "session", "--lang", "klingon", cwd=project.path)
    assert run.status in (1, 129)
    assert "klingon" in run.text + run.err


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_store_that_may_not_be_written(git_ctx, project):
    git = project.path / ".git"
    git.chmod(0o500)
    try:
        assert git_ctx("search", "renew session", cwd=project.path).status == 0
        assert "ermission" in fatal(git_ctx("index", cwd=project.path))
    finally:
        git.chmod(0o700)


def test_damaged_store_is_rebuilt(git_ctx, project):
    git_ctx("index", cwd=project.path)
    expected = git_ctx("search", "renew session", "-z", cwd=project.path).out
    store = git_ctx("status", "--json-output", cwd=project.path).json["storePath"]
    for folder, _, names in os.walk(store):
        for name in names:
            with open(os.path.join(folder, name), "r+b") as file:
                file.truncate(max(0, os.path.getsize(file.name) // 2))
    run = git_ctx("search", "renew session", "-z", cwd=project.path)
    assert (run.status, run.out) == (0, expected)


def test_a_bug_names_the_variable_that_shows_a_traceback(environment, tmp_path):
    import subprocess
    import sys

    program = "import sys, ctx, ctx.cli.main; ctx.open = None; sys.exit(ctx.cli.main.main(['status']))"
    command = [sys.executable, "-c", program]
    plain = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert plain.returncode == 128
    assert plain.stderr.startswith("fatal: unexpected TypeError: ")
    assert plain.stderr.endswith("GIT_CTX_TRACE=1 shows where it happened.\n")
    traced = subprocess.run(
        command, cwd=tmp_path, env={**environment, "GIT_CTX_TRACE": "1"}, capture_output=True, text=True
    )
    assert traced.returncode == 128
    assert "Traceback (most recent call last):" in traced.stderr
