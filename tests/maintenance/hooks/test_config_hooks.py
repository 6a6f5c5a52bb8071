"""Hooks in git's configuration, if the git on the PATH supports them."""

from __future__ import annotations

import os

import pytest
from test_install import hooks_of, put, state
from waiting import SCRIPT, settled

from ctx.git.repository import open_repository
from ctx.maintenance.hooks import registration, shims


@pytest.fixture(autouse=True)
def _new_git(git_version: tuple[int, ...]) -> None:
    if git_version < registration.CONFIG_HOOKS:
        pytest.skip("git before 2.54 takes no hooks from its configuration")


def test_installed_beside_all_others(repo, git_ctx):
    put(hooks_of(repo) / "post-commit", b"#!/usr/bin/env python3\nopen('said', 'a').write('x')\n")
    repo.commit({"a.py": "def one(): pass\n"})
    config, before = (repo.path / ".git" / "config").read_bytes(), state(hooks_of(repo))
    done = git_ctx("init", "--no-index", "--json-output")
    assert (done.status, done.err) == (0, "")
    assert done.json_lines[0]["method"] == "config"
    assert {hook["action"] for hook in done.json_lines[0]["hooks"]} == {"install"}
    assert state(hooks_of(repo)) == before
    written = (repo.path / ".git" / "config").read_bytes()
    again = git_ctx("init", "--no-index", "--json-output")
    assert {hook["action"] for hook in again.json_lines[0]["hooks"]} == {"keep"}
    assert (repo.path / ".git" / "config").read_bytes() == written
    with open_repository(repo.path) as repository:
        assert registration.is_registered(registration.settings(repository))
    repo.commit({"b.py": "def two(): pass\n"})
    assert (repo.path / "said").read_text() == "xx"
    (entry,) = settled(repo)
    assert (entry.trigger, entry.outcome) == ("post-commit", "done")
    repo.git("checkout", "-q", "-b", "topic")
    assert settled(repo, 2)[1].trigger == "post-checkout"
    assert git_ctx("deinit").status == 0
    assert (repo.path / ".git" / "config").read_bytes() == config


def test_replaces_files_and_older_settings(repo, git_ctx):
    put(hooks_of(repo) / "post-commit", shims.shim("post-commit"))
    put(hooks_of(repo) / "post-merge", shims.with_block(b"#!/bin/sh\n:\n"))
    repo.git("config", "hook.ctx.command", "git-ctx index")
    repo.git("config", "hook.ctx.event", "post-commit")
    done = git_ctx("init", "--no-index", "--json-output")
    assert {hook["action"] for hook in done.json_lines[0]["hooks"]} == {"upgrade"}
    assert not (hooks_of(repo) / "post-commit").exists()
    assert (hooks_of(repo) / "post-merge").read_bytes() == b"#!/bin/sh\n:\n"
    assert repo.git("config", "--get-all", "hook.ctx.event").decode().split() == list(shims.EVENTS)
    assert repo.git("config", "ctx.program") == os.fsencode(SCRIPT)
