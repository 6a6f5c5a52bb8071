"""Searches of trees that are not indexed."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from repositories import Repo

import ctx
from ctx.errors import UsageError
from ctx.indexing import indexer
from ctx.types import COMMITTED, Answer, Behind

QUERY = "renew the session"


def source(name: str, version: int) -> str:
    return f'def {name}(value):\n    """Step {version} of {name}."""\n    return value + {version}\n'


def grown(make_repo: Callable[..., Repo]) -> Repo:
    """A repository with an index and later commits."""
    repo = make_repo()
    repo.commit(
        {f"kept{i}/one.py": source(f"kept_{i}", 0) for i in range(40)}
        | {"gone.py": source("session_gone", 1)}
    )
    with ctx.open(repo.path) as index:
        index.index()
    (repo.path / "gone.py").unlink()
    new = {f"new{i}/two.py": source(f"renew_session_{i}", i) for i in range(20)}
    repo.commit(new | {"kept0/one.py": source("session_changed", 9)})
    return repo


def ask(repo: Repo) -> Answer:
    with ctx.open(repo.path) as index:
        return index.search(QUERY, limit=50, overlay=COMMITTED)


def behind(tree: bytes, commit: bytes | None, commits: int | None, files: int, ahead: int = 0) -> Behind:
    """Return the distance of an indexed tree."""
    name = commit.hex() if commit else None
    return Behind(tree=tree.hex(), commit=name, commits=commits, files=files, ahead=ahead)


def test_a_small_gap_is_indexed_at_once(make_repo: Callable[..., Repo]) -> None:
    answer = ask(grown(make_repo))
    assert answer.coverage.complete
    assert answer.message is None


def test_a_large_gap_is_answered_by_borrowed_rows(
    make_repo: Callable[..., Repo], monkeypatch: pytest.MonkeyPatch
) -> None:
    repo = grown(make_repo)
    monkeypatch.setattr(indexer, "_CATCH_UP_BYTES", 100)
    answer = ask(repo)
    assert not answer.coverage.complete
    assert (answer.coverage.files, answer.coverage.scanned, answer.coverage.uncovered) == (39, 21, 0)
    assert answer.message is not None
    assert "21 files of this tree are not indexed yet" in answer.message
    paths = {hit.path for hit in answer.hits}
    assert "gone.py" not in paths
    assert any(path.startswith("new") for path in paths)
    with ctx.open(repo.path) as index:
        assert all(hit.text in (repo.path / hit.path).read_text() for hit in answer.hits)
        assert index.session.snapshots.covered(bytes.fromhex(answer.tree)) is None


def test_unread_directories_are_reported(
    make_repo: Callable[..., Repo], monkeypatch: pytest.MonkeyPatch
) -> None:
    repo = grown(make_repo)
    monkeypatch.setattr(indexer, "_CATCH_UP_BYTES", 100)
    monkeypatch.setattr(indexer, "_SCAN_BYTES", 500)
    coverage = ask(repo).coverage
    assert coverage.scanned + coverage.uncovered == 21
    assert 0 < coverage.scanned < 21


@pytest.mark.parametrize(("setting", "complete"), [("always", True), ("never", False), ("auto", True)])
def test_catching_up_is_configured(make_repo: Callable[..., Repo], setting: str, complete: bool) -> None:
    repo = grown(make_repo)
    repo.git("config", "ctx.catchUp", setting)
    assert ask(repo).coverage.complete is complete


@pytest.mark.parametrize("setting", ["ctx.catchUp", "ctx.fallback"])
def test_an_invalid_setting_is_refused(make_repo: Callable[..., Repo], setting: str) -> None:
    repo = grown(make_repo)
    repo.git("config", setting, "sometimes")
    with pytest.raises(UsageError, match=setting):
        ask(repo)


def test_falling_back_on_a_snapshot_is_configured_and_reported(make_repo: Callable[..., Repo]) -> None:
    repo = grown(make_repo)
    repo.git("config", "ctx.fallback", "snapshot")
    answer = ask(repo)
    assert answer.resolved_by == "ctx.fallback"
    assert answer.commit == repo.id("HEAD~1").hex()
    assert answer.message is not None
    assert answer.message.startswith("WARNING: main is not indexed")
    assert "1 commit behind main, 22 files differ" in answer.message
    assert answer.behind == behind(repo.id("HEAD~1^{tree}"), repo.id("HEAD~1"), 1, 22)


def test_the_distance_of_borrowed_rows_is_reported(make_repo: Callable[..., Repo]) -> None:
    repo = grown(make_repo)
    repo.git("config", "ctx.catchUp", "never")
    repo.branch("topic", "HEAD~1")
    repo.commit({"topic.py": source("topic", 3)})
    repo.git("merge", "-q", "--no-edit", "main")
    answer = ask(repo)
    # The merge and both of its parents are new.
    assert answer.behind == behind(repo.id("main~1^{tree}"), repo.id("main~1"), 3, 23)
    assert answer.message is not None
    assert f"{repo.id('main~1').hex()[:12]}, is 3 commits behind topic, 23 files differ" in answer.message
    repo.write({"untracked.py": source("untracked", 1)})
    with ctx.open(repo.path) as index:
        answer = index.search(QUERY)
    assert answer.behind == behind(repo.id("main~1^{tree}"), repo.id("main~1"), 3, 24)
    with ctx.open(repo.path) as index:
        index.index()
        assert index.search(QUERY, overlay=COMMITTED).behind is None
        answer = index.search(QUERY)
    assert answer.behind == behind(repo.id("HEAD^{tree}"), repo.id(), 0, 1)


def test_a_snapshot_of_another_history_or_of_none(make_repo: Callable[..., Repo]) -> None:
    repo = make_repo()
    repo.commit({f"kept/{i}.py": source(f"kept_{i}", 0) for i in range(3)} | {"top.py": source("top", 1)})
    repo.git("config", "ctx.catchUp", "never")
    kept = repo.id("HEAD:kept")
    with ctx.open(repo.path) as index:
        index.index(kept.hex())
    answer = ask(repo)
    assert answer.behind == behind(kept, None, None, 7)
    assert answer.message is not None
    assert f"{kept.hex()[:12]}, is not of its history, 7 files differ from main" in answer.message
    with ctx.open(repo.path) as index:
        index.index()
    main = repo.id()
    repo.git("checkout", "-q", "--orphan", "fresh")
    repo.commit({"fresh.py": source("fresh", 1)})
    repo.git("branch", "-q", "-m", "main", "other")
    assert ask(repo).behind == behind(repo.id("other^{tree}"), main, 1, 1, 1)


def test_a_snapshot_that_is_ahead_is_not_behind(make_repo: Callable[..., Repo]) -> None:
    repo = grown(make_repo)
    repo.git("config", "ctx.catchUp", "never")
    with ctx.open(repo.path) as index:
        index.remove()
        index.index()
    tip = repo.id()
    repo.branch("older", "HEAD~1")
    answer = ask(repo)
    assert answer.behind == behind(repo.id("main^{tree}"), tip, 0, 22, 1)
    assert answer.message is not None
    assert f"{tip.hex()[:12]}, is 1 commit ahead of older, 22 files differ" in answer.message
    repo.commit({"topic.py": source("topic", 3)})
    repo.commit({"topic.py": source("topic", 4)})
    answer = ask(repo)
    assert answer.behind == behind(repo.id("main^{tree}"), tip, 2, 23, 1)
    assert answer.message is not None
    assert "is 2 commits behind older and 1 ahead of it, 23 files differ" in answer.message
    repo.git("checkout", "-q", "main")
    repo.write({"untracked.py": source("untracked", 1)})
    with ctx.open(repo.path) as index:
        answer = index.search(QUERY)
    assert answer.message is not None
    assert f"{tip.hex()[:12]}, is at main, 1 file differs" in answer.message


def test_nothing_is_behind_without_an_index(make_repo: Callable[..., Repo]) -> None:
    repo = make_repo()
    repo.commit({"one.py": source("renew_session", 1)})
    repo.git("config", "ctx.catchUp", "never")
    answer = ask(repo)
    assert answer.behind is None
    assert not answer.coverage.complete


def test_a_named_revision_never_falls_back(make_repo: Callable[..., Repo]) -> None:
    repo = grown(make_repo)
    repo.git("config", "ctx.fallback", "snapshot")
    with ctx.open(repo.path) as index:
        assert index.search(QUERY, revision="HEAD").commit == repo.id("HEAD").hex()


def test_a_missing_blob_is_indexed_once_present(make_repo: Callable[..., Repo]) -> None:
    repo = make_repo()
    repo.commit({f"{name}.py": source(f"renew_{name}", 1) for name in ("one", "two", "three")})
    blob = repo.id("HEAD:two.py")
    stored = repo.path / ".git" / "objects" / blob.hex()[:2] / blob.hex()[2:]
    kept = stored.read_bytes()
    repo.delete_object(blob)
    answer = ask(repo)
    assert {hit.path for hit in answer.hits} == {"one.py", "three.py"}
    assert not answer.coverage.complete
    assert answer.coverage.skipped == {"missing": 1}
    assert answer.message is not None
    assert "1 file of this tree is not in this clone" in answer.message
    with ctx.open(repo.path) as index:
        assert index.index().skipped is None
        assert index.session.snapshots.covered(bytes.fromhex(answer.tree)) is None
    stored.write_bytes(kept)
    with ctx.open(repo.path) as index:
        assert index.index().skipped is None
    assert {hit.path for hit in ask(repo).hits} == {"one.py", "two.py", "three.py"}
    assert ask(repo).coverage.complete
