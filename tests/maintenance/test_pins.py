"""`git ctx pin`: pinned trees are kept, even without a branch."""

from __future__ import annotations

from repositories import Repo
from stores import age, answers, done, files, forget, git_ctx, indexed, source, store, trees


def test_pinned_trees_are_kept(repo: Repo) -> None:
    indexed(repo)
    tree, commit = repo.id("other^{tree}").hex(), repo.id("other").hex()
    expected = answers(repo.path, commit)
    pinned = done(repo.path, "pin", "other")["pinned"]
    assert [(pin["tree"], pin["revisionName"]) for pin in pinned] == [(tree, "other")]
    forget(repo, "other")
    age(repo)
    report = done(repo.path, "gc")
    assert (report["pinned"], report["removed"]["tree"]) == (1, 2)
    assert trees(repo) == {repo.id("main^{tree}").hex(), tree}
    assert answers(repo.path, commit) == expected
    assert done(repo.path, "pin")["pinned"] == pinned
    (shown,) = [one for one in done(repo.path, "status")["snapshots"] if one["pinned"]]
    assert shown["tree"] == tree
    assert f"tree {tree[:12]}  complete, pinned  (no branch or tag)" in git_ctx(repo.path, "status").out
    # The branch is gone, but its name still says which pin is meant.
    assert done(repo.path, "pin", "--remove", "other") == {"type": "pin_result", "unpinned": pinned}
    done(repo.path, "gc", "--grace=now")
    assert trees(repo) == {repo.id("main^{tree}").hex()}


def test_pinning_indexes_first(repo: Repo) -> None:
    repo.commit(files("src"))
    repo.git("tag", "v1")
    repo.commit({"src/later.py": source("later", 1)})
    run = git_ctx(repo.path, "pin", "v1")
    assert (run.status, run.out[:12]) == (0, "pinned tree ")
    assert trees(repo) == {repo.id("v1^{tree}").hex()}
    assert git_ctx(repo.path, "pin").out.split()[2] == "v1"
    again = done(repo.path, "pin", "v1^{commit}")["pinned"]
    assert [pin["revisionName"] for pin in again] == ["v1"]
    assert git_ctx(repo.path, "pin", "--remove", repo.id("v1^{tree}").hex()[:8]).status == 0
    none = git_ctx(repo.path, "pin")
    assert (none.status, none.out) == (0, "")
    assert "nothing is pinned; `git ctx pin <revision>`" in none.err


def test_wrong_names(repo: Repo) -> None:
    repo.commit(files("src", many=2))
    for arguments, status, words in (
        (["pin", "nowhere"], 128, "'nowhere'"),
        (["pin", "--remove", "nowhere"], 128, "'nowhere'"),
        (["pin", "--remove", "HEAD"], 128, "no pinned tree"),
        (["pin", "--remove"], 129, "--remove needs a revision"),
    ):
        run = git_ctx(repo.path, *arguments)
        assert run.status == status
        assert words in run.err
    assert not (store(repo) / "pins").exists()


def test_a_pin_that_cannot_be_read_still_pins(repo: Repo) -> None:
    indexed(repo)
    tree = repo.id("other^{tree}").hex()
    done(repo.path, "pin", "other")
    (store(repo) / "pins" / tree).write_text("nonsense")
    forget(repo, "other")
    age(repo)
    done(repo.path, "gc")
    assert tree in trees(repo)
    assert git_ctx(repo.path, "fsck").status == 1
    assert git_ctx(repo.path, "fsck").status == 0
    assert [pin["tree"] for pin in done(repo.path, "pin")["pinned"]] == [tree]
    assert git_ctx(repo.path, "pin", "--remove", tree).status == 0
