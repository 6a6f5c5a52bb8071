"""Partial clones: present objects are searched, missing ones are fetched only on request and in bulk."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from repositories import Repo

import ctx
from ctx.errors import GitFailed
from ctx.git.unknown import FETCH_TREES
from ctx.types import COMMITTED, Answer

MakeRepo = Callable[..., Repo]
Program = Callable[..., "subprocess.CompletedProcess[str]"]


def source(name: str) -> str:
    return f'def {name}(value):\n    """Renews {name} for the session of a user."""\n    return value\n'


@pytest.fixture
def remote(make_repo: MakeRepo) -> Repo:
    """A repository that serves partial clones, with rule files and a file that they exclude."""
    repo = make_repo("remote")
    repo.git("config", "uploadpack.allowFilter", "true")
    repo.commit(
        {f"src/part{i % 3}/file{i}.py": source(f"renew_{i}") for i in range(60)}
        | {"src/.ctxignore": "part2/\n", ".gitattributes": "*.gen.py linguist-generated\n"}
        | {"logo.png": b"\x89PNG", "made.gen.py": source("made"), "large.py": source("large") * 900}
    )
    repo.commit({"src/part0/file0.py": source("renewed_anew")})
    return repo


@pytest.fixture
def clone(remote: Repo, tmp_path: Path) -> Callable[..., Repo]:
    def make(kind: str, *options: str) -> Repo:
        path = tmp_path / "partial"
        command = ["git", "clone", "-q", f"--filter={kind}", *options, remote.path.as_uri(), str(path)]
        subprocess.run(command, check=True)
        return Repo(path)

    return make


def ask(repo: Repo, revision: str | None = None) -> Answer:
    with ctx.open(repo.path) as index:
        return index.search("renew the session", limit=20, overlay=COMMITTED, revision=revision)


def objects(repo: Repo) -> set[str]:
    """Return all objects of this clone."""
    command = ["git", "-C", str(repo.path), "cat-file", "--batch-all-objects", "--batch-check=%(objectname)"]
    return set(subprocess.run(command, capture_output=True, check=True, text=True).stdout.split())


def packs(repo: Repo) -> int:
    """Return the number of packs, which grows with each fetch."""
    return len(list((repo.path / ".git/objects/pack").glob("*.promisor")))


def names(repo: Repo, revision: str) -> dict[str, str]:
    """Return the blob of each path of a revision."""
    lines = repo.git("ls-tree", "-rt", "-z", revision).decode().split("\0")[:-1]
    return {line.partition("\t")[2]: line.split()[2].partition("\t")[0] for line in lines}


@pytest.mark.parametrize("kind", ["blob:none", "blob:limit=1k", "tree:0"])
@pytest.mark.parametrize("revision", ["HEAD", "HEAD~1"])
def test_missing_objects_are_fetched_in_bulk(
    remote: Repo, clone: Callable[..., Repo], kind: str, revision: str
) -> None:
    repo = clone(kind, "--no-checkout")
    before, configuration = packs(repo), (repo.path / ".git/config").read_bytes()
    references = repo.git("for-each-ref")
    announced: list[int] = []
    with ctx.open(repo.path) as index:
        fetched = index.fetch(revision, on_fetch=announced.append)
        assert sum(announced) == fetched > 0
        assert announced == ([1] if kind == "tree:0" else []) + ([] if kind.endswith("1k") else [2]) + [
            announced[-1]
        ]
        assert packs(repo) - before == len(announced)
        assert index.fetch(revision) == 0
        assert index.index(revision).embedded_chunks
        assert index.fetch(revision) == 0
    wanted = names(remote, revision)
    here = objects(repo)
    assert {wanted["src/part0/file0.py"], wanted["large.py"], wanted["src/.ctxignore"]} <= here
    if kind != "blob:limit=1k":
        assert not {wanted["logo.png"], wanted["made.gen.py"], wanted["src/part2/file2.py"]} & here
    answer = ask(repo, revision)
    assert answer.message is None
    assert answer.coverage.complete
    assert answer.hits == ask(remote, revision).hits
    assert (repo.path / ".git/config").read_bytes() == configuration
    assert repo.git("for-each-ref") == references
    assert not (repo.path / ".git/FETCH_HEAD").exists()


def test_nothing_is_fetched_without_request(
    remote: Repo, clone: Callable[..., Repo], program: Program
) -> None:
    repo = clone("blob:none", "--no-checkout")
    before = objects(repo)
    for command in (["search", "renew"], ["index"], ["status"], ["search", "renew", "--revision", "HEAD~1"]):
        done = program(*command, cwd=repo.path)
        assert done.returncode in (0, 1), done.stderr
    assert objects(repo) == before
    done = program("search", "renew", "--revision", "HEAD~1", cwd=repo.path)
    assert "64 files of this tree are not in this clone" in done.stdout
    assert "`git ctx index --fetch 'HEAD~1'` gets them" in done.stdout


def test_missing_tree_is_reported_with_the_remedy(
    remote: Repo, clone: Callable[..., Repo], program: Program
) -> None:
    repo = clone("tree:0", "--no-checkout")
    for command in (["search", "renew", "--revision", "HEAD~1"], ["index", "HEAD~1"]):
        done = program(*command, cwd=repo.path)
        assert done.returncode == 128
        assert (
            "is not in this repository: `git ctx index --fetch` of this revision gets the missing"
            in done.stderr
        )


def test_unreadable_history_is_reported(remote: Repo, clone: Callable[..., Repo], program: Program) -> None:
    """Commits without trees do not count; once fetched they do."""
    repo = clone("tree:0")
    said = f"ctx.fit has no effect, since trees of earlier commits are not in this clone: `{FETCH_TREES}`"
    assert said not in program("search", "renew", cwd=repo.path).stdout
    repo.git("config", "ctx.fit", "true")
    before = objects(repo)
    for command in (
        ["search", "renew"],
        ["search", "renew", "--json-output"],
        ["search", "renew", "--explain"],
        ["search", "renew", "--modified"],
        ["explain", "src/part0/file0.py", "--task", "renew the session"],
        ["pack", "--task", "renew the session", "--stdout"],
        ["status"],
        ["status", "--json-output"],
    ):
        assert said in program(*command, cwd=repo.path).stdout, command
    assert said in program("search", "renew", "-z", cwd=repo.path).stderr
    assert said in program("index", cwd=repo.path).stderr
    assert objects(repo) == before
    repo.git(*FETCH_TREES.split()[1:])
    done = program("search", "renew", cwd=repo.path)
    assert said not in done.stdout
    assert f"ranked with past {repo.id().hex()[:12]}" in done.stdout
    assert "note" not in program("status", cwd=repo.path).stdout


def test_checkout_is_searched_before_and_after_fetching(
    remote: Repo, clone: Callable[..., Repo], program: Program
) -> None:
    repo = clone("blob:none", "--sparse")
    done = program("search", "renew", "--no-overlay", cwd=repo.path)
    assert "`git ctx index --fetch` gets them" in done.stdout
    done = program("index", "--fetch", "--json-output", cwd=repo.path)
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert lines[0]["type"] == "fetched"
    assert lines[0]["objects"] > 30
    assert lines[-1]["type"] == "finished"
    done = program("search", "renew", "--no-overlay", cwd=repo.path)
    assert "not in this clone" not in done.stdout
    assert done.returncode == 0


def test_fetching_is_reported(remote: Repo, clone: Callable[..., Repo], program: Program) -> None:
    repo = clone("blob:none", "--no-checkout")
    done = program("index", "--fetch", cwd=repo.path)
    assert done.returncode == 0
    assert done.stderr.splitlines() == [
        "fetching 2 objects that this clone does not have",
        "fetching 41 objects that this clone does not have",
    ]
    assert program("index", "--fetch", "--silent", "HEAD~1", cwd=repo.path).stderr == ""
    assert program("index", "--fetch", cwd=repo.path).stdout.endswith("is indexed already\n")


def test_unreachable_remote(remote: Repo, clone: Callable[..., Repo], program: Program) -> None:
    repo = clone("blob:none", "--no-checkout")
    shutil.move(remote.path, f"{remote.path}-moved")
    done = program("index", "--fetch", cwd=repo.path)
    assert done.returncode == 128
    assert "2 objects of this tree could not be fetched" in done.stderr
    assert str(remote.path) in done.stderr
    assert "Without --fetch" in done.stderr
    assert program("index", cwd=repo.path).returncode == 0


def test_missing_object_without_promisor_is_damage(make_repo: MakeRepo) -> None:
    repo = make_repo()
    repo.commit({"a.py": source("one"), "b.py": source("other")})
    repo.delete_object(repo.id("HEAD:a.py"))
    with ctx.open(repo.path) as index, pytest.raises(GitFailed, match="no remote has promised"):
        index.fetch()
    with ctx.open(repo.path) as index:
        message = index.search("renew", overlay=COMMITTED).message
    assert message is not None
    assert "git fsck" in message


def test_second_promisor_is_asked_after_the_first(
    remote: Repo, clone: Callable[..., Repo], tmp_path: Path
) -> None:
    repo = clone("blob:none", "--no-checkout")
    empty = Repo(tmp_path / "empty")
    subprocess.run(["git", "init", "-q", str(empty.path)], check=True)
    repo.git("config", "remote.first.url", empty.path.as_uri())
    repo.git("config", "remote.first.promisor", "true")
    with ctx.open(repo.path) as index:
        assert set(index.repository.settings.promisors) == {"first", "origin"}
        assert index.fetch()
        assert index.index().embedded_chunks


def test_missing_rule_file_is_fetched_first(remote: Repo, clone: Callable[..., Repo]) -> None:
    repo = clone("blob:none", "--no-checkout")
    with ctx.open(repo.path) as index:
        index.fetch()
        index.index()
        assert index.session.indexer.trees.warnings == []
        partial = set(index.session.clusters.keys())
    with ctx.open(remote.path) as index:
        index.index()
        assert set(index.session.clusters.keys()) == partial


@pytest.fixture
def large_left_out(make_repo: MakeRepo, tmp_path: Path) -> Repo:
    """A clone without the one large file, which is in a directory with a small one."""
    remote = make_repo("with a large file")
    remote.git("config", "uploadpack.allowFilter", "true")
    remote.git("config", "uploadpack.allowAnySHA1InWant", "true")
    small = {f"src/part{i % 3}/file{i}.py": source(f"renew_{i}") for i in range(60)}
    remote.commit(small | {"big/large.py": source("large") * 900, "big/small.py": source("beside_it")})
    path = tmp_path / "without"
    options = ["--filter=blob:limit=1k", "--sparse", remote.path.as_uri(), str(path)]
    subprocess.run(["git", "clone", "-q", *options], check=True)
    return Repo(path)


def stored(repo: Repo) -> dict[str, int]:
    """Return the files of complete and partial clusters; a rebuilt one is another file."""
    store = repo.path / ".git/ctx"
    files = [file for area in ("objects", "partial") for file in (store / area).rglob("*") if file.is_file()]
    return {str(file.relative_to(store)): file.stat().st_ino for file in files}


def found(answer: Answer) -> dict[str, tuple[str, int]]:
    return {hit.path: (hit.symbol, hit.position.start_line) for hit in answer.hits}


def ask_beside(repo: Repo, overlay: str | None = COMMITTED) -> Answer:
    with ctx.open(repo.path) as index:
        return index.search("beside_it", limit=20, overlay=overlay)


def test_tree_with_missing_blobs_is_indexed_once(large_left_out: Repo, program: Program) -> None:
    repo = large_left_out
    first = ask_beside(repo)
    assert first.message is not None
    assert "1 file of this tree is not in this clone and not searched" in first.message
    assert (first.coverage.complete, first.coverage.skipped) == (False, {"missing": 1})
    assert first.coverage.files == 61
    assert found(first)["big/small.py"] == ("beside_it", 1)
    before = stored(repo)
    assert len([name for name in before if name.startswith("partial")]) == 1
    with ctx.open(repo.path) as index:
        for _ in range(2):
            again = index.search("beside_it", limit=20, overlay=COMMITTED)
            assert (again.hits, again.coverage, again.message) == (first.hits, first.coverage, first.message)
        report = index.index()
        assert (report.processed_new_clusters, report.embedded_chunks) == (0, 0)
        assert report.skipped_files == {"missing": 1}
    assert ask_beside(repo).hits == first.hits
    assert "is indexed except for 1 file that is not in this clone" in program("status", cwd=repo.path).stdout
    assert stored(repo) == before


def test_commit_with_missing_blobs_indexes_only_its_changes(large_left_out: Repo) -> None:
    repo = large_left_out
    ask_beside(repo)
    before = stored(repo)
    repo.git("sparse-checkout", "set", "src/part0")
    repo.write({"src/part0/file0.py": source("changed")})
    uncommitted = ask_beside(repo, None)
    assert uncommitted.coverage.skipped == {"missing": 1}
    assert found(uncommitted)["big/small.py"] == ("beside_it", 1)
    repo.git("commit", "-q", "-a", "-m", "change")
    assert found(ask_beside(repo))["big/small.py"] == ("beside_it", 1)
    after = stored(repo)
    assert before.items() <= after.items()
    assert len(after) == len(before) + 1


@pytest.mark.parametrize("loose", [True, False])
@pytest.mark.parametrize("overlay", [COMMITTED, None])
def test_blob_that_became_present_is_indexed(large_left_out: Repo, loose: bool, overlay: str | None) -> None:
    repo = large_left_out
    if overlay is None:
        repo.write({"later.py": source("later")})
    before = ask_beside(repo, overlay)
    assert before.coverage.skipped == {"missing": 1}
    with ctx.open(repo.path) as index:
        index.search("beside_it", overlay=overlay)
        if loose:
            oid = repo.git("hash-object", "-w", "--stdin", stdin=(source("large") * 900).encode())
            assert bytes.fromhex(oid.decode()) == repo.id("HEAD:big/large.py")
        else:
            repo.git("cat-file", "-e", "HEAD:big/large.py")
        answers = [index.search("beside_it", limit=20, overlay=overlay), ask_beside(repo, overlay)]
    for answer in answers:
        assert (answer.coverage.complete, answer.message) == (True, None)
        assert found(answer)["big/small.py"] == ("beside_it", 1)
    with ctx.open(repo.path) as index:
        assert "big/large.py" in found(index.search("large", paths=["big"], overlay=overlay))
    assert answers[0].hits == answers[1].hits
    with ctx.open(repo.path) as index:
        assert (index.session.snapshots.covered(repo.id("HEAD^{tree}")) is not None) == (overlay == COMMITTED)


def test_new_packs_without_the_missing_blobs(large_left_out: Repo) -> None:
    repo = large_left_out
    first = ask_beside(repo)
    before = stored(repo)
    repo.git("commit", "-q", "--allow-empty", "-m", "empty")
    repo.git("repack", "-q", "-d")
    for _ in range(2):
        answer = ask_beside(repo)
        assert (answer.coverage, answer.message, answer.hits) == (first.coverage, first.message, first.hits)
    assert stored(repo) == before


def test_tree_with_damaged_blobs_is_indexed_once(make_repo: MakeRepo) -> None:
    repo = make_repo()
    repo.commit({"big/large.py": source("large"), "big/small.py": source("beside_it"), "a.py": source("a")})
    repo.delete_object(repo.id("HEAD:big/large.py"))
    first = ask_beside(repo)
    before = stored(repo)
    assert found(first)["big/small.py"] == ("beside_it", 1)
    assert ask_beside(repo).hits == first.hits
    assert stored(repo) == before
    repo.git("add", "--renormalize", ".")
    repo.git("hash-object", "-w", "big/large.py")
    assert ask_beside(repo).coverage.complete


def test_gc_keeps_the_data_of_a_tree_with_missing_blobs(large_left_out: Repo, program: Program) -> None:
    repo = large_left_out
    first = ask_beside(repo)
    before = stored(repo)
    assert program("gc", "--grace", "now", cwd=repo.path).returncode == 0
    assert stored(repo) == before
    assert ask_beside(repo).hits == first.hits
    assert stored(repo) == before
    done = program("fsck", cwd=repo.path)
    assert done.returncode == 0, done.stdout
    repo.git("cat-file", "-e", "HEAD:big/large.py")
    assert ask_beside(repo).coverage.complete
    for name in stored(repo):
        os.utime(repo.path / ".git/ctx" / name, (1e9, 1e9))
    assert program("gc", "--grace", "now", cwd=repo.path).returncode == 0
    assert not [name for name in stored(repo) if name.startswith("partial")]
    assert ask_beside(repo).coverage.complete


def test_shared_index_completes_a_tree_with_missing_blobs(
    large_left_out: Repo, program: Program, tmp_path: Path
) -> None:
    repo = large_left_out
    assert not ask_beside(repo).coverage.complete
    url = repo.git("config", "remote.origin.url").decode()
    subprocess.run(["git", "clone", "-q", url, str(tmp_path / "full")], check=True)
    assert program("push", "--with-words", cwd=tmp_path / "full").returncode == 0
    assert program("fetch", cwd=repo.path).returncode == 0
    answer = ask_beside(repo)
    assert answer.coverage.complete
    assert answer.hits == ask_beside(Repo(tmp_path / "full")).hits


def test_tree_with_missing_blobs_is_not_published(large_left_out: Repo, program: Program) -> None:
    done = program("push", cwd=large_left_out.path)
    assert done.returncode == 128
    assert "`git ctx index --fetch` of this revision gets them, then push again" in done.stderr
    assert program("index", "--fetch", cwd=large_left_out.path).returncode == 0
    assert program("push", cwd=large_left_out.path).stdout.startswith("published 1 snapshot")


def test_shared_index_without_words_is_searched_by_symbols(
    remote: Repo, clone: Callable[..., Repo], program: Program, tmp_path: Path
) -> None:
    full = tmp_path / "full"
    subprocess.run(["git", "clone", "-q", remote.path.as_uri(), str(full)], check=True)
    assert program("push", cwd=full).returncode == 0
    repo = clone("blob:none", "--no-checkout")
    assert program("fetch", cwd=repo.path).returncode == 0
    before = objects(repo)
    with ctx.open(repo.path) as index:
        answer = index.search("renew_13", overlay=COMMITTED)
    assert (answer.hits[0].path, answer.hits[0].symbol) == ("src/part1/file13.py", "renew_13")
    assert answer.hits[0].position.start_line == 1
    assert not answer.coverage.complete
    assert answer.coverage.without_words == answer.coverage.files == 41
    assert answer.message is not None
    assert "not in this clone, all searched by symbols, paths and vectors only" in answer.message
    assert "`git ctx index --fetch` gets them" in answer.message
    said = program("status", cwd=repo.path).stdout
    assert "the words of 41 files of HEAD are missing" in said
    assert "`git ctx index --fetch`" in said
    assert "`git ctx push --with-words`" in said
    assert objects(repo) == before
    assert program("index", "--fetch", cwd=repo.path).returncode == 0
    with ctx.open(repo.path) as index:
        assert index.search("renew_13", overlay=COMMITTED).coverage.complete
    assert "the words of" not in program("status", cwd=repo.path).stdout
