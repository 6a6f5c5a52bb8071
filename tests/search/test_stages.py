"""In a conflict each side is a separate tree; an option selects one, or is refused with a message."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from repositories import Repo
from ways import program

import ctx
from ctx.errors import CtxError, NothingCommitted, UsageError
from ctx.types import BASE, COMMITTED, OURS, STAGED, THEIRS, WORK_TREE, Answer

SIDES = {BASE: 1, OURS: 2, THEIRS: 3}


def ask(repo: Repo, overlay: str | None, revision: str | None = None) -> Answer:
    with ctx.open(repo.path) as index:
        return index.search("open the session", limit=50, overlay=overlay, revision=revision)


def in_words(number: int, name: str) -> str:
    """A file whose first line differs between the sides, so that it cannot be merged."""
    rest = "".join(f"# line {line} of what {name.rpartition('_')[2]} is about\n" for line in range(12))
    return f"def {name}_session():\n    return {number}\n{rest}"


def diverged(make_repo: Callable[..., Repo], *options: str) -> Repo:
    """Two branches that differ in every way that a path can be in conflict, and in one that it cannot."""
    repo = make_repo("repo", *options)
    names = ("changed", "removed_here", "removed_there", "sub/renamed")
    common = {f"{name}.py": in_words(0, name.rpartition("/")[2]) for name in names}
    repo.commit(common | {"merged.py": in_words(0, "merged"), "caf\u00e9 [x].py": in_words(0, "odd")})
    repo.branch("side")
    repo.write({"removed_there.py": None})
    repo.git("mv", "sub/renamed.py", "sub/their_name.py")
    repo.commit(
        {
            "changed.py": in_words(3, "their_changed"),
            "removed_here.py": in_words(3, "their_here"),
            "both.py": in_words(3, "their_both"),
            "merged.py": in_words(3, "their_merged"),
            "caf\u00e9 [x].py": in_words(3, "their_odd"),
            "place": "a file here, a directory there\n",
        }
    )
    repo.git("checkout", "-q", "main")
    repo.write({"removed_here.py": None})
    repo.git("mv", "sub/renamed.py", "sub/our_name.py")
    repo.commit(
        {
            "changed.py": in_words(2, "our_changed"),
            "removed_there.py": in_words(2, "our_there"),
            "both.py": in_words(2, "our_both"),
            "caf\u00e9 [x].py": in_words(2, "our_odd"),
            "place/session.py": in_words(2, "placed"),
        }
    )
    return repo


def merging(repo: Repo) -> None:
    repo.git("merge", "side", check=False)


def rebasing(repo: Repo) -> None:
    repo.git("checkout", "-q", "side")
    repo.git("rebase", "main", check=False)


def picking(repo: Repo) -> None:
    repo.git("cherry-pick", "side", check=False)


def reverting(repo: Repo) -> None:
    repo.commit({"changed.py": in_words(5, "middle_changed")})
    repo.commit({"changed.py": in_words(6, "later_changed")})
    repo.git("revert", "--no-edit", "HEAD~1", check=False)


def side_of(repo: Repo, stage: int) -> tuple[dict[bytes, bytes], dict[bytes, bytes]]:
    """Index entries of each path on one side: those in conflict, and the others."""
    conflicts: dict[bytes, bytes] = {}
    rest: dict[bytes, bytes] = {}
    for line in repo.git("ls-files", "--stage", "-z").split(b"\0")[:-1]:
        entry, _, path = line.partition(b"\t")
        _, oid, found = entry.split(b" ")
        if found == b"0":
            rest[path] = oid
        elif int(found) == stage:
            conflicts[path] = oid
    return conflicts, rest


@pytest.mark.parametrize("start", [merging, rebasing, picking, reverting])
@pytest.mark.parametrize("side", SIDES)
def test_a_side_is_the_index_with_that_stage(
    make_repo: Callable[..., Repo], start: Callable[[Repo], None], side: str
) -> None:
    repo = diverged(make_repo)
    start(repo)
    conflicts, rest = side_of(repo, SIDES[side])
    assert repo.git("ls-files", "--unmerged")
    answer = ask(repo, side)
    tree = answer.tree
    # The tree is not kept after the search; build the same one by other means.
    for path in {line.partition(b"\t")[2] for line in repo.git("ls-files", "-u", "-z").split(b"\0")[:-1]}:
        repo.git("rm", "-q", "--cached", "--", b":(literal)" + path)
    for path, oid in conflicts.items():
        repo.git("update-index", "--add", "--replace", "--cacheinfo", b"100644," + oid + b"," + path)
    assert repo.git("write-tree").decode() == tree
    listed = repo.git("ls-tree", "-r", "-z", tree).split(b"\0")[:-1]
    found = {line.partition(b"\t")[2]: line.split()[2] for line in listed}
    assert {path: found.get(path) for path in conflicts} == conflicts
    assert found.items() - conflicts.items() <= rest.items()
    assert answer.hits == ask(repo, COMMITTED, tree).hits
    assert answer.uncommitted is not None
    differing = repo.git("diff-tree", "-r", "-z", "--name-only", "HEAD", tree).split(b"\0")[:-1]
    assert (answer.uncommitted.changed, answer.uncommitted.state) == (len(differing), side)


def test_each_side_shows_its_own_text(make_repo: Callable[..., Repo]) -> None:
    repo = diverged(make_repo)
    merging(repo)
    before = repo.git("status", "--porcelain=v2", "-z"), (repo.path / ".git/index").read_bytes()
    for side, word in ((OURS, "our"), (THEIRS, "their")):
        with ctx.open(repo.path) as index:
            hits = {hit.path: hit.text for hit in index.search("session", limit=50, overlay=side).hits}
        assert hits["changed.py"].startswith(f"def {word}_changed_session")
        assert hits["caf\u00e9 [x].py"].startswith(f"def {word}_odd_session")
        assert hits["merged.py"].startswith("def their_merged_session")
        assert ("removed_here.py" in hits, "removed_there.py" in hits) == (side == THEIRS, side == OURS)
    base = {hit.path for hit in ask(repo, BASE).hits}
    assert "both.py" not in base
    assert "changed.py" in base
    assert (repo.git("status", "--porcelain=v2", "-z"), (repo.path / ".git/index").read_bytes()) == before


def test_sha256(make_repo: Callable[..., Repo]) -> None:
    repo = diverged(make_repo, "--object-format=sha256")
    merging(repo)
    assert any(hit.symbol == "their_changed_session" for hit in ask(repo, THEIRS).hits)


def test_a_directory_in_conflict_with_a_file(make_repo: Callable[..., Repo]) -> None:
    """Older gits leave such a path at one stage and merge the files below it: the side's own file wins."""
    repo = make_repo()
    repo.commit({"place/session.py": in_words(1, "placed"), "other.py": in_words(1, "other")})
    oid = repo.git("hash-object", "-w", "--stdin", stdin=b"a session in a file\n")
    repo.git("update-index", "-z", "--index-info", stdin=b"100644 " + oid + b" 3\tplace\0")
    assert {hit.path for hit in ask(repo, THEIRS).hits} == {"place", "other.py"}
    assert {hit.path for hit in ask(repo, OURS).hits} == {"place/session.py", "other.py"}


def test_staged_in_a_conflict_is_refused_with_alternatives(make_repo: Callable[..., Repo]) -> None:
    repo = diverged(make_repo)
    merging(repo)
    with pytest.raises(CtxError, match=r"conflicts \('both.py'\): .*--ours, --theirs or --base.*--work-tree"):
        ask(repo, STAGED)


@pytest.mark.parametrize("side", SIDES)
def test_a_side_without_a_conflict_is_refused(make_repo: Callable[..., Repo], side: str) -> None:
    with pytest.raises(CtxError, match=f"no conflict here, so '{side}'"):
        ask(diverged(make_repo), side)


@pytest.mark.parametrize("overlay", [WORK_TREE, STAGED, *SIDES])
def test_a_bare_repository_refuses_overlays(make_repo: Callable[..., Repo], overlay: str) -> None:
    repo = diverged(make_repo)
    bare = Repo(repo.path / ".git")
    bare.git("config", "core.bare", "true")
    with pytest.raises(CtxError, match=f"nothing is checked out in .*'{overlay}'"):
        ask(bare, overlay)
    assert ask(bare, None).uncommitted is None


@pytest.mark.parametrize("overlay", [WORK_TREE, STAGED])
def test_an_overlay_is_based_on_head_for_any_configuration(
    make_repo: Callable[..., Repo], overlay: str
) -> None:
    repo = diverged(make_repo)
    repo.git("config", "ctx.revision", "side")
    repo.write({"changed.py": in_words(7, "new_changed")})
    repo.git("add", "changed.py")
    assert ask(repo, None).resolved_by == "ctx.revision"
    answer = ask(repo, overlay)
    assert (answer.resolved_by, answer.revision) == ("HEAD", "main")
    assert any(hit.symbol == "new_changed_session" for hit in answer.hits)
    with pytest.raises(UsageError, match="applies only to HEAD"):
        ask(repo, overlay, "side")
    repo.git("config", "--unset", "ctx.revision")
    repo.git("config", "ctx.fallback", "snapshot")
    repo.commit({"later.py": in_words(8, "later")})
    repo.write({"untracked.py": in_words(9, "untracked")})
    assert ask(repo, overlay).commit == repo.id().hex()


def test_a_branch_without_a_commit_is_an_empty_head(make_repo: Callable[..., Repo]) -> None:
    repo = diverged(make_repo)
    expected = ask(repo, WORK_TREE)
    repo.git("checkout", "-q", "--orphan", "fresh")
    answer = ask(repo, WORK_TREE)
    assert (answer.tree, answer.hits) == (expected.tree, expected.hits)
    assert (answer.commit, answer.revision, answer.resolved_by) == (None, "fresh", "HEAD")


@pytest.mark.parametrize("options", [(), ("--object-format=sha256",)], ids=["sha1", "sha256"])
def test_before_the_first_commit_the_files_are_searched(
    make_repo: Callable[..., Repo], options: tuple[str, ...]
) -> None:
    repo = make_repo("new", *options)
    with pytest.raises(NothingCommitted, match="there are no files to search"):
        ask(repo, None)
    repo.write(
        {"src/session.py": in_words(1, "session"), "src/other.py": in_words(1, "other")}
        | {".gitignore": "*.log\n", "noise.log": "session\n"}
    )
    answer = ask(repo, None)
    assert {hit.path for hit in answer.hits} >= {"src/session.py"}
    assert "noise.log" not in {hit.path for hit in answer.hits}
    assert (answer.commit, answer.revision, answer.resolved_by) == (None, "main", "HEAD")
    assert (answer.uncommitted.changed, answer.coverage.complete) == (3, True)
    assert repo.git("count-objects") == b"0 objects, 0 kilobytes"
    assert not (repo.path / ".git/index").exists()
    with pytest.raises(NothingCommitted, match="nothing is staged"):
        ask(repo, STAGED)
    for command in (
        ["search", "session", "--json-output"],
        ["related", "src/session.py:1"],
        ["explain", "src/session.py", "--task", "session"],
        ["pack", "--task", "session", "--stdout"],
        ["status"],
    ):
        done = program(*command, cwd=repo.path / "src" if command[0] == "search" else repo.path)
        assert (done.status, done.err) == (0, ""), command
    for revision in ("HEAD", "main"):
        assert program("search", "session", "--revision", revision, cwd=repo.path).status == 128
    assert program("search", "session", "--no-overlay", cwd=repo.path).status == 128
    assert program("index", cwd=repo.path).status == 128
    repo.git("add", "src")
    repo.write({"src/session.py": in_words(2, "changed")})
    staged = ask(repo, STAGED)
    assert staged.tree == repo.git("write-tree").decode().strip()
    assert staged.uncommitted.changed == 2
    repo.write({"src/session.py": in_words(1, "session")})
    repo.git("add", "--all")
    repo.git("commit", "-q", "-m", "first")
    after = ask(repo, COMMITTED)
    assert (after.tree, after.hits) == (answer.tree, answer.hits)


def test_a_bare_repository_without_a_commit_has_nothing_to_search(make_repo: Callable[..., Repo]) -> None:
    repo = make_repo("empty.git", "--bare")
    for overlay in (None, WORK_TREE):
        with pytest.raises(NothingCommitted):
            ask(repo, overlay)
