"""The parent tree of a commit is searched as it was, and leaves no trace for users of the index."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest
from repositories import Repo

import ctx
from ctx.maintenance.gc import collect
from ctx.search.evaluation.commits import commits
from ctx.search.evaluation.measures import Target
from ctx.search.evaluation.parents import Parents
from ctx.search.evaluation.replay import Replay
from ctx.search.evaluation.settings import Setting
from ctx.search.evaluation.tasks import DOCS, SOURCES, TESTS, task_of
from ctx.search.hits import FileFilter, search_view


def source(*names: str) -> str:
    return "\n\n".join(f"def {name}(session):\n    return session.{name}_all()\n" for name in names)


@pytest.fixture
def project(repo: Repo) -> Repo:
    repo.commit({"src/session.py": source("renew", "expire"), "tests/test_session.py": source("test_renew")})
    repo.commit({"src/session.py": source("renew", "expire", "revoke")}, "Let sessions be revoked at once")
    repo.commit(
        {"src/session.py": source("renew", "revoke"), "tests/test_session.py": source("test_revoke")},
        "Sessions expire by themselves, no call is needed",
    )
    return repo


def files(store: Path) -> dict[str, float]:
    return {
        os.path.relpath(os.path.join(folder, name), store): os.stat(os.path.join(folder, name)).st_mtime
        for folder, _, names in os.walk(store)
        for name in names
    }


def test_each_commit_is_searched_in_its_parent_tree(project):
    with ctx.open(project.path) as index:
        parents = Parents(index.session)
        newest, older = commits(index.repository, project.id(), 10)
        for commit, defined in ((newest, b"revoke"), (older, None)):
            view = parents.view(index.repository.commit_info(commit.parent).tree)
            hits = search_view(view, parents.records(view), "revoke", 5, FileFilter(index.repository)).hits
            text = b"".join(
                index.repository.read_blob(bytes.fromhex(hit.blob))[hit.position.start : hit.position.end]
                for hit in hits
            )
            assert (b"def revoke" in text) is (defined is not None)
        view = parents.view(index.repository.commit_info(newest.parent).tree)
        task = task_of(newest, view, parents.records(view))
        assert task.kind == SOURCES
        assert task.files == (Target(b"src/session.py"),)
        assert [target.path for target in task.places] == [b"src/session.py"]


def test_the_same_tree_gives_the_same_answer_as_a_search(project):
    with ctx.open(project.path) as index:
        parents = Parents(index.session)
        view = parents.view(index.resolve("HEAD^").tree)
        hits = search_view(
            view, parents.records(view), "expire the session", 5, FileFilter(index.repository)
        ).hits
        found = index.search("expire the session", limit=5, revision="HEAD^").hits
        assert hits == found


def test_parents_leave_no_snapshot_no_log_and_no_view(project):
    with ctx.open(project.path) as index:
        index.index()
        before = files(Path(index.session.store.path))
        status = index.status()
    with ctx.open(project.path) as index:
        parents = Parents(index.session)
        for revision in ("HEAD^", "HEAD^^"):
            parents.view(index.resolve(revision).tree)
        after = files(Path(index.session.store.path))
        assert replace(index.status(), store_size=0) == replace(status, store_size=0)
    assert {
        name for name in after.keys() - before.keys() if not name.startswith(("objects", "snapshots"))
    } == set()
    assert not [name for name in after.keys() - before.keys() if "/trees/" in name or "/log/" in name]
    assert {name for name in before if "views" in name and before[name] != after[name]} == set()


def test_what_parents_needed_can_be_collected(project):
    with ctx.open(project.path) as index:
        index.index()
        before = files(Path(index.session.store.path)).keys()
        Parents(index.session).view(index.resolve("HEAD^^").tree)
        assert files(Path(index.session.store.path)).keys() > before
        project.git("reflog", "expire", "--expire=now", "--all")
        for name in files(Path(index.session.store.path)):
            os.utime(os.path.join(index.session.store.path, name), (1_600_000_000, 1_600_000_000))
        collect(index.session, grace="now")
        assert {name for name in files(Path(index.session.store.path)) if name.startswith("objects")} == {
            name for name in before if name.startswith("objects")
        }


@pytest.mark.parametrize(
    ("changed", "kind"),
    [({"tests/test_session.py": source("test_expire")}, TESTS), ({"README.md": "# Sessions\n"}, DOCS)],
)
def test_a_commit_without_sources_targets_its_other_files(project, changed, kind):
    project.commit({"README.md": "# Session\n"}, "Say what this is in a readme")
    project.commit(changed, "Show that sessions are not for ever")
    with ctx.open(project.path) as index:
        parents = Parents(index.session)
        commit = next(commits(index.repository, project.id(), 1))
        view = parents.view(index.repository.commit_info(commit.parent).tree)
        assert task_of(commit, view, parents.records(view)).kind == kind


def test_a_partial_clone_is_graded_by_its_blobs(project):
    project.commit({"logo.py": "LOGO = 1\n"}, "Draw a logo in one line")
    project.commit(
        {"src/session.py": source("renew", "revoke", "pause")}, "Let a session be paused for a while"
    )
    project.delete_object(project.id("HEAD^:logo.py"))
    with ctx.open(project.path) as index:
        replay = Replay(index.session, project.id(), 1, [Setting("as shipped")])
        (graded,) = replay.run()
        assert graded.task.files == (Target(b"src/session.py"),)
        assert graded.shown[0][0].paths == (b"src/session.py",)
        assert replay.left_out == {}
