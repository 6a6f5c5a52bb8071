"""`git ctx gc`: unneeded data is removed, needed data is kept."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from repositories import Repo
from stores import (
    age,
    answers,
    done,
    files,
    forget,
    fresh,
    git_ctx,
    indexed,
    named,
    now,
    source,
    state,
    store,
    trees,
)

import ctx
from ctx.indexing.lock import IndexLock
from ctx.maintenance.inventory import Kind, inventory
from ctx.maintenance.mark import find_garbage
from ctx.maintenance.sweep import sweep
from ctx.storage.store import Store


def tree(repo: Repo, revision: str) -> str:
    return repo.id(f"{revision}^{{tree}}").hex()


def test_data_of_a_deleted_branch_is_removed(repo: Repo, tmp_path: Path) -> None:
    indexed(repo)
    before = answers(repo.path)
    forget(repo, "other")
    age(repo)
    report = done(repo.path, "gc")
    assert report["removed"]["tree"] == 3
    assert report["removed"]["cluster"] > 0
    assert report["keptSnapshots"] == 1
    assert report["after"]["total"] < report["before"]["total"]
    only_main = fresh(repo, tmp_path, "main")
    assert named(repo.path) == named(only_main)
    assert answers(repo.path) == answers(only_main) == before
    assert not [path for path in store(repo).glob("objects/*/*") if not any(path.iterdir())]
    assert len(list(store(repo).glob("snapshots/*/log/*"))) == 1
    assert git_ctx(repo.path, "fsck", "--full").status == 0


def test_removed_data_is_rebuilt(repo: Repo) -> None:
    indexed(repo)
    other = repo.id("other").hex()
    expected, held = answers(repo.path, other), named(repo.path)
    forget(repo, "other")
    age(repo)
    assert done(repo.path, "gc")["removed"]["tree"] == 3
    assert answers(repo.path, other) == expected
    assert set(named(repo.path)) < set(held)
    assert git_ctx(repo.path, "fsck", "--full").status == 0


def test_dry_run_changes_nothing(repo: Repo) -> None:
    indexed(repo)
    forget(repo, "other")
    age(repo)
    before = state(repo)
    promised = done(repo.path, "gc", "--dry-run")
    assert state(repo) == before
    kept = done(repo.path, "gc")
    assert promised["removed"] == kept["removed"]
    assert promised["before"] == kept["before"] | {
        "other": promised["before"]["other"],
        "total": promised["before"]["total"],
    }
    assert {area: promised["after"][area] for area in ("objects", "snapshots", "views")} == {
        area: kept["after"][area] for area in ("objects", "snapshots", "views")
    }


def test_text_output(repo: Repo) -> None:
    indexed(repo)
    forget(repo, "other")
    run = git_ctx(repo.path, "gc", "--grace=now", "--dry-run")
    assert run.out.startswith("would remove 3 snapshots, ")
    run = git_ctx(repo.path, "gc", "--grace=now")
    assert run.out.startswith("removed 3 snapshots, ")
    assert run.out.splitlines()[-1].startswith("kept 1 snapshot with ")
    assert git_ctx(repo.path, "gc").out.startswith("removed nothing\n")
    assert git_ctx(repo.path, "gc", "--silent")[:2] == (0, "")


@pytest.mark.parametrize(
    ("grace", "gone"),
    [
        ([], 0),
        (["--grace", "30"], 0),
        (["--grace", "4.weeks.ago"], 0),
        (["--grace", "never"], 0),
        (["--grace", "2"], 3),
        (["--grace", "yesterday"], 3),
        (["--grace", "now"], 3),
    ],
)
def test_grace(repo: Repo, grace: list[str], gone: int) -> None:
    indexed(repo)
    forget(repo, "other")
    age(repo, 3 * 86_400)
    assert done(repo.path, "gc", *grace)["removed"]["tree"] == gone


def test_grace_by_configuration(repo: Repo) -> None:
    indexed(repo)
    forget(repo, "other")
    age(repo)
    repo.git("config", "ctx.gcGrace", "60")
    assert done(repo.path, "gc")["removed"]["tree"] == 0
    repo.git("config", "ctx.gcGrace", "21")
    assert done(repo.path, "gc", "--grace", "60")["removed"]["tree"] == 0
    assert done(repo.path, "gc")["removed"]["tree"] == 3
    repo.git("config", "ctx.gcGrace", "soon")
    run = git_ctx(repo.path, "gc")
    assert run.status == 129
    assert "'soon'" in run.err
    assert "ctx.gcGrace" in run.err


def test_used_data_is_young(repo: Repo) -> None:
    indexed(repo)
    first, last = tree(repo, "other~1"), tree(repo, "other")
    forget(repo, "other")
    age(repo)
    assert git_ctx(repo.path, "search", "token", "--revision", first).status == 0
    assert git_ctx(repo.path, "index", last).status == 0
    done(repo.path, "gc")
    assert trees(repo) == {tree(repo, "main"), first, last}


def test_reflog_within_the_grace_period(repo: Repo) -> None:
    indexed(repo)
    repo.git("checkout", "--quiet", "other")
    replaced = tree(repo, "HEAD")
    now(repo)
    repo.git("reset", "--quiet", "--hard", "main")
    repo.git("checkout", "--quiet", "main")
    age(repo)
    done(repo.path, "gc")
    assert trees(repo) == {tree(repo, "main"), replaced}
    done(repo.path, "gc", "--grace=now")
    assert trees(repo) == {tree(repo, "main")}


def nested_tag(repo: Repo) -> None:
    """Make a tag of a tag of HEAD."""
    repo.git("tag", "-a", "-m", "inner", "inner")
    repo.git("tag", "-a", "-m", "outer", "outer", "inner")
    repo.git("tag", "-d", "inner")


def test_every_kind_of_reference_keeps_its_tree(repo: Repo, tmp_path: Path) -> None:
    indexed(repo)
    kept = {tree(repo, "main")}
    for number, keep in enumerate(
        (
            lambda: repo.git("tag", "light"),
            lambda: repo.git("tag", "-a", "-m", "heavy", "heavy"),
            lambda: nested_tag(repo),
            lambda: repo.git("tag", "tree", "HEAD^{tree}"),
            lambda: repo.git("update-ref", "refs/remotes/origin/x", "HEAD"),
            lambda: repo.git("update-ref", "refs/other/x", "HEAD"),
            lambda: repo.git("config", "ctx.revision", repo.id().hex()),
        )
    ):
        repo.git("checkout", "--quiet", "--detach", "main")
        repo.commit({f"kept{number}.py": source("kept", number)})
        kept.add(tree(repo, "HEAD"))
        assert git_ctx(repo.path, "index", "HEAD").status == 0
        keep()
    repo.git("checkout", "--quiet", "main")
    for number in range(2):
        repo.write({"src/f1.py": f"def stashed_{number}():\n    return {number}\n"})
        repo.git("stash", "--quiet")
    for number in range(2):
        assert git_ctx(repo.path, "index", f"stash@{{{number}}}").status == 0
        kept.add(tree(repo, f"stash@{{{number}}}"))
    repo.git("branch", "--quiet", "-D", "other")
    repo.git("reflog", "expire", "--expire=now", "HEAD", "refs/heads/main")
    repo.git("tag", "blob", "HEAD:src/f1.py")
    age(repo)
    done(repo.path, "gc")
    assert trees(repo) == kept


def test_heads_of_work_trees(repo: Repo, tmp_path: Path) -> None:
    indexed(repo)
    away = tmp_path / "away"
    repo.git("worktree", "add", "--quiet", "--detach", str(away), "other")
    detached = tree(repo, "other")
    forget(repo, "other")
    age(repo)
    done(away, "gc")
    assert trees(repo) == {tree(repo, "main"), detached}
    shutil.rmtree(away)
    done(repo.path, "gc", "--grace=now")
    assert detached in trees(repo), "the disk with the work tree may come back"
    repo.git("worktree", "prune", "--expire=now")
    done(repo.path, "gc", "--grace=now")
    assert trees(repo) == {tree(repo, "main")}


def test_bare_repository_without_commits(make_repo: Callable[..., Repo]) -> None:
    bare = make_repo("bare", "--bare")
    assert done(bare.path, "gc")["keptSnapshots"] == 0
    assert not (bare.path / "ctx").exists()
    assert git_ctx(bare.path, "fsck").status == 0
    assert done(bare.path, "pin") == {"type": "pin_result", "pinned": []}


def test_uncommitted_overlays(repo: Repo) -> None:
    indexed(repo)
    repo.write({"src/f3.py": "def wear_hat(head):\n    return head.hat\n"})
    assert "wear_hat" in git_ctx(repo.path, "search", "wear hat").out
    before = named(repo.path, "objects")
    done(repo.path, "gc")
    assert named(repo.path, "objects") == before
    age(repo, 86_400)
    overlays = list(store(repo).glob("views/*/overlay-*"))
    assert "wear_hat" in git_ctx(repo.path, "search", "wear hat").out
    done(repo.path, "gc", "--grace=0.days.ago")
    age(repo)
    done(repo.path, "gc")
    assert overlays
    assert not any(path.exists() for path in overlays)
    assert len(named(repo.path, "objects")) < len(before)
    assert "wear_hat" in git_ctx(repo.path, "search", "wear hat").out


def test_other_descriptors_and_other_words(repo: Repo) -> None:
    indexed(repo)
    with ctx.open(repo.path) as index:
        descriptor, views = str(index.session.descriptor), index.session.catalog.group
    top = store(repo)
    for area in ("objects", "snapshots"):
        shutil.copytree(top / area / descriptor, top / area / "CODE_BLOCKS-old-64-bit-0.9")
    shutil.copytree(top / "views" / views, top / "views" / f"{descriptor}-w0")
    shutil.copytree(top / "views" / views, top / "views" / "CODE_BLOCKS-old-64-bit-0.9-w1")
    forget(repo, "other")
    age(repo)
    report = done(repo.path, "gc")
    assert report["removed"]["tree"] == 6
    assert list(report["otherDescriptors"]) == ["CODE_BLOCKS-old-64-bit-0.9"]
    assert os.listdir(top / "views") == [views]
    assert "--drop-descriptor CODE_BLOCKS-old-64-bit-0.9" in git_ctx(repo.path, "gc").out
    for wrong in (descriptor, "CODE_BLOCKS-new-64-bit-0.9", ".", ""):
        run = git_ctx(repo.path, "gc", "--drop-descriptor", wrong)
        assert (run.status, run.err[:7]) == (129, "error: ")
    report = done(repo.path, "gc", "--drop-descriptor", "CODE_BLOCKS-old-64-bit-0.9")
    assert (report["removed"]["tree"], report["otherDescriptors"]) == (1, {})
    assert os.listdir(top / "objects") == [descriptor]
    assert git_ctx(repo.path, "fsck").status == 0


def test_temporary_files(repo: Repo) -> None:
    indexed(repo)
    old, young = store(repo) / "tmp" / "old", store(repo) / "tmp" / "young"
    old.write_bytes(b"half")
    os.utime(old, (1, 1))
    young.write_bytes(b"half")
    (store(repo) / "objects" / "x" / "ab").mkdir(parents=True)
    assert done(repo.path, "gc")["removed"]["temporary"] == 1
    assert os.listdir(store(repo) / "tmp") == ["young"]
    assert not (store(repo) / "objects" / "x").exists()


def test_auto_runs_rarely(repo: Repo) -> None:
    assert done(repo.path, "gc", "--auto") == {"type": "gc_result", "skipped": "NOT_DUE"}
    indexed(repo)
    forget(repo, "other")
    assert "removed" in done(repo.path, "gc", "--auto")
    age(repo, 86_000)
    stamp = store(repo) / "collected"
    assert done(repo.path, "gc", "--auto") == {"type": "gc_result", "skipped": "NOT_DUE"}
    stamp.write_text('{"time": 1000, "snapshots": 4}')
    assert "removed" in done(repo.path, "gc", "--auto")
    stamp.write_text("nonsense")
    assert "removed" in done(repo.path, "gc", "--auto")
    stamp.unlink()
    assert git_ctx(repo.path, "gc", "--auto", "--grace=now").status == 129


def test_lock_held_by_another_process(repo: Repo) -> None:
    indexed(repo)
    lock = IndexLock(Store(str(repo.path / ".git")))
    assert lock.acquire()
    with lock:
        for command in ("gc", "fsck"):
            run = git_ctx(repo.path, command)
            assert run.status == 128
            assert run.err.startswith(f"fatal: another process (pid {os.getpid()}) is working on this index")
            assert git_ctx(repo.path, command, "--dry-run").status == 0
        assert git_ctx(repo.path, "gc", "--auto")[:3] == (0, "", "")
    assert git_ctx(repo.path, "gc").status == 0


def test_store_that_cannot_be_written(repo: Repo) -> None:
    indexed(repo)
    (store(repo) / "lock").unlink()
    (store(repo) / "lock").mkdir()
    for command in ("gc", "fsck"):
        run = git_ctx(repo.path, command)
        assert run.status == 128
        assert run.err.startswith(f"fatal: the index in {store(repo)} cannot be written (Is a directory)")
        assert git_ctx(repo.path, command, "--dry-run").status == 0
    assert git_ctx(repo.path, "gc", "--auto")[:3] == (0, "", "")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_store_without_permission(repo: Repo) -> None:
    indexed(repo)
    forget(repo, "other")
    folders = [path for path in store(repo).rglob("*") if path.is_dir()]
    for folder in folders:
        folder.chmod(0o500)
    try:
        for command in (["gc", "--grace=now"], ["pin", "HEAD"]):
            run = git_ctx(repo.path, *command)
            assert run.status == 128
            assert "cannot be written (Permission denied)" in run.err
    finally:
        for folder in folders:
            folder.chmod(0o700)


def test_damage_in_a_needed_node_keeps_everything_below(repo: Repo) -> None:
    indexed(repo)
    forget(repo, "other")
    age(repo)
    with ctx.open(repo.path) as index:
        root = index.session.snapshots.tree(repo.id("main^{tree}"))
        assert root is not None
        damaged = Path(index.session.store.file(f"snapshots/{index.session.descriptor}/nodes", root.hex()))
    damaged.write_bytes(b"damaged")
    run = git_ctx(repo.path, "gc")
    assert run.status == 0
    assert "run `git ctx fsck`" in run.out
    assert done(repo.path, "gc")["removed"]["cluster"] == 0
    assert git_ctx(repo.path, "fsck").status == 1
    assert answers(repo.path)
    age(repo)
    assert done(repo.path, "gc")["removed"]["cluster"] > 0


def test_node_used_after_marking_is_kept_with_all_below(repo: Repo) -> None:
    indexed(repo)
    other = repo.id("other^{tree}")
    forget(repo, "other")
    age(repo)
    with ctx.open(repo.path) as index:
        session = index.session
        found = list(inventory(session.store))
        cutoff = max(file.mtime for file in found) + 1
        marked = find_garbage(
            session.store, found, {repo.id("main^{tree}")}, cutoff, cutoff, session.catalog.group
        )
        root = session.snapshots.tree(other)
        assert root is not None
        assert root.hex() in {file.name for file in marked.files if file.kind == Kind.NODE}
        below = session.snapshots.cluster_keys(root)
        assert session.snapshots.use_node(root)
        gone = sweep(session.store, marked.files)
        assert any(file.kind == Kind.NODE for file in gone)
        assert session.snapshots.cluster_keys(root) == below
        assert session.clusters.absent(below) == []


def test_remove_index_removes_pins_too(repo: Repo) -> None:
    repo.commit(files("src"))
    done(repo.path, "pin", "HEAD")
    done(repo.path, "remove-index")
    assert done(repo.path, "pin")["pinned"] == []
