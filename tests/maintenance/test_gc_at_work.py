"""Collections during indexing and searches, and killed collections: no data is lost."""

from __future__ import annotations

import random
import time
from pathlib import Path

import pytest
from repositories import Repo
from stores import (
    age,
    answers,
    done,
    files,
    finish,
    forget,
    fresh,
    git_ctx,
    indexed,
    source,
    start,
    store,
    trees,
)


@pytest.mark.long
@pytest.mark.parametrize("grace", ["14", "now"])
def test_many_processes_at_once(repo: Repo, tmp_path: Path, grace: str) -> None:
    indexed(repo)
    other = tmp_path / "tree"
    repo.git("worktree", "add", "--quiet", str(other), "other")
    for round_number in range(2):
        # What the trees share with those of the last round is old, and nobody needs it when the round begins.
        for place in (repo, Repo(other)):
            place.clock = repo.clock + 10_000 * round_number
            place.commit(
                {f"src/round{round_number}.py": source("round", round_number), "docs/f1.py": place.path.name}
            )
        repo.git("reflog", "expire", "--expire=now", "--expire-unreachable=now", "--all")
        age(repo)
        running = []
        for place in (repo.path, other):
            running += [start(place, "search", "renew the session", "-z", "--no-overlay") for _ in range(2)]
            running += [start(place, "gc", f"--grace={grace}", "--silent"), start(place, "index", "--silent")]
            running += [start(place, "fsck", "--dry-run", "--json-output")]
        runs = [finish(process) for process in running]
        for run in runs:
            # On a busy machine a collection may have to wait for too long for all the others.
            assert (run.status, run.err) == (0, "") or "is working on this index" in run.err, run
        searched = [run.out for run in runs if run.out and not run.out.startswith("{")]
        assert len(searched) == 4
        assert len(set(searched)) <= 2
    for name, place, branch in (("one", repo.path, "main"), ("two", other, "other")):
        clone = fresh(repo, tmp_path, f"origin/{branch}", name=name)
        assert answers(place) == answers(clone, f"origin/{branch}")
        assert git_ctx(place, "index").out.endswith(" is indexed already\n")
    assert git_ctx(repo.path, "fsck", "--full").status == 0


@pytest.mark.long
def test_killed_collections(repo: Repo, tmp_path: Path) -> None:
    indexed(repo)
    before = answers(repo.path)
    seed = random.Random(7)
    forget(repo, "other")
    started = time.monotonic()
    git_ctx(repo.path, "gc", "--dry-run")
    usual = time.monotonic() - started
    for number in range(12):
        repo.git("checkout", "--quiet", "--detach", "main")
        repo.commit({"src/f1.py": source("killed", number), "lib/deep/f2.py": source("killed", number)})
        assert git_ctx(repo.path, "index", "HEAD").status == 0
        repo.git("checkout", "--quiet", "main")
        repo.git("reflog", "expire", "--expire=now", "--expire-unreachable=now", "--all")
        age(repo)
        process = start(repo.path, "gc", "--silent")
        time.sleep(seed.uniform(usual / 2, usual))
        process.kill()
        process.communicate()
        assert git_ctx(repo.path, "fsck", "--dry-run").status == 0
    assert answers(repo.path) == before
    age(repo)
    done(repo.path, "gc")
    assert trees(repo) == {repo.id("main^{tree}").hex()}
    assert not list((store(repo) / "tmp").iterdir())
    assert git_ctx(repo.path, "fsck", "--full").status == 0


def test_a_request_during_a_collection(repo: Repo) -> None:
    repo.commit(files("src"))
    done(repo.path, "index")
    repo.commit({"src/later.py": source("later", 1)})
    (store(repo) / "wishes").mkdir()
    (store(repo) / "wishes" / repo.id("HEAD^{tree}").hex()).touch()
    done(repo.path, "gc")
    assert git_ctx(repo.path, "index").out.endswith(" is indexed already\n")
    assert not list((store(repo) / "wishes").iterdir())
