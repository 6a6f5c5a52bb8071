"""Uncommitted files are searched as the tree that `git add -A` would write."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from repositories import Repo

import ctx
from ctx.git import worktree
from ctx.storage.views.view import View
from ctx.types import COMMITTED, STAGED, WORK_TREE, Answer

QUERIES = ("open the session", "lightning rod", "parse a date", "shop basket total")

FILES = {
    "session.py": "def open_session(store):\n    return store.open()\n",
    "dates/parse.py": "def parse_date(text):\n    return text.split('-')\n",
    "shop/basket.py": "class Basket:\n    def total(self):\n        return sum(self.items)\n",
    "old.py": "def obsolete_lightning():\n    pass\n",
}


def ask(repo: Repo, query: str, overlay: str = WORK_TREE, revision: str | None = None) -> Answer:
    with ctx.open(repo.path) as index:
        return index.search(query, overlay=overlay, revision=revision)


def changed_repository(make_repo: Callable[..., Repo]) -> Repo:
    """A repository with every sort of change in its work tree."""
    repo = make_repo()
    repo.commit(FILES)
    repo.write(
        {"session.py": "def open_session(store):\n    return store.open_again()\n\ndef close(): pass\n"}
    )
    repo.write({"shop/rod.py": "class LightningRod:\n    def conduct(self): pass\n"})
    repo.write({"staged.py": "def staged_session(): pass\n"})
    repo.git("add", "staged.py")
    repo.write({"staged.py": "def staged_session_then_changed(): pass\n"})
    (repo.path / "old.py").unlink()
    repo.git("mv", "dates/parse.py", "dates/parsing.py")
    repo.write({".gitignore": "ignored.py\n"})
    repo.write({"ignored.py": "def lightning_ignored(): pass\n"})
    return repo


def test_the_work_tree_is_the_tree_that_add_all_would_write(make_repo: Callable[..., Repo]) -> None:
    repo = changed_repository(make_repo)
    before = {query: ask(repo, query) for query in QUERIES}
    repo.git("add", "-A")
    tree = repo.git("write-tree").decode()
    for query, answer in before.items():
        assert answer.tree == tree
        assert answer.hits == ask(repo, query, COMMITTED, tree).hits
        assert answer.coverage == ask(repo, query, COMMITTED, tree).coverage


def test_staged_is_the_tree_of_the_index(make_repo: Callable[..., Repo]) -> None:
    repo = changed_repository(make_repo)
    tree = repo.git("write-tree").decode()
    answer = ask(repo, "staged session", STAGED)
    assert answer.tree == tree
    assert answer.hits[0].symbol == "staged_session"
    assert answer.hits == ask(repo, "staged session", COMMITTED, tree).hits


def test_the_committed_state_can_be_searched(make_repo: Callable[..., Repo]) -> None:
    repo = changed_repository(make_repo)
    answer = ask(repo, "lightning", COMMITTED)
    assert [hit.path for hit in answer.hits][:1] == ["old.py"]
    assert answer.uncommitted is None


def test_a_deleted_file_and_old_text_are_never_shown(make_repo: Callable[..., Repo]) -> None:
    repo = changed_repository(make_repo)
    with ctx.open(repo.path) as index:
        for query in QUERIES:
            for hit in index.search(query, limit=50).hits:
                path = repo.path / os.fsdecode(hit.path)
                assert path.exists()
                assert hit.text in path.read_text()


def test_the_repository_stays_unchanged(make_repo: Callable[..., Repo]) -> None:
    repo = changed_repository(make_repo)

    def state() -> dict[str, bytes]:
        files = (path for path in repo.path.rglob("*") if path.is_file())
        return {
            str(path.relative_to(repo.path)): path.read_bytes()
            for path in files
            if path.relative_to(repo.path).parts[:2] != (".git", "ctx")
        }

    before = state()
    ask(repo, "open the session")
    assert state() == before


def test_a_clean_work_tree_answers_as_the_commit(make_repo: Callable[..., Repo]) -> None:
    repo = changed_repository(make_repo)
    repo.git("add", "-A")
    repo.git("commit", "-q", "-m", "second")
    answer = ask(repo, "open the session")
    assert answer.uncommitted is not None
    assert answer.uncommitted.changed == 0
    assert answer.hits == ask(repo, "open the session", COMMITTED).hits


def test_committing_searched_files_embeds_nothing(make_repo: Callable[..., Repo]) -> None:
    repo = changed_repository(make_repo)
    ask(repo, "open the session")
    repo.git("add", "-A")
    repo.git("commit", "-q", "-m", "second")
    with ctx.open(repo.path) as index:
        report = index.index()
    assert (report.processed_new_clusters, report.embedded_chunks) == (0, 0)


def test_an_overlay_is_no_snapshot(make_repo: Callable[..., Repo]) -> None:
    repo = changed_repository(make_repo)
    ask(repo, "open the session")
    with ctx.open(repo.path) as index:
        assert index.status().snapshots == []


def test_clean_filters_apply(make_repo: Callable[..., Repo]) -> None:
    repo = changed_repository(make_repo)
    repo.git("config", "core.autocrlf", "true")
    (repo.path / "crlf.py").write_bytes(b"def windows_lightning():\r\n    return 1\r\n")
    with ctx.open(repo.path) as index:
        hit = next(hit for hit in index.search("windows lightning").hits if hit.path == "crlf.py")
        assert "\r" not in hit.text


def test_a_conflict_is_searched_with_its_markers(make_repo: Callable[..., Repo]) -> None:
    repo = make_repo()
    repo.write({"a.py": "def common(): pass\n"})
    repo.git("add", "-A")
    repo.git("commit", "-q", "-m", "base")
    repo.git("checkout", "-q", "-b", "side")
    repo.write({"a.py": "def from_the_side(): pass\n"})
    repo.git("commit", "-q", "-am", "side")
    repo.git("checkout", "-q", "-")
    repo.write({"a.py": "def from_the_main_line(): pass\n"})
    repo.git("commit", "-q", "-am", "main")
    repo.git("merge", "side", check=False)
    with ctx.open(repo.path) as index:
        hit = index.search("from the side").hits[0]
        assert hit.text.startswith("<<<<<<<")


def test_large_and_endless_files_are_left_out(make_repo: Callable[..., Repo]) -> None:
    repo = changed_repository(make_repo)
    repo.write({"session.py": "def open_session(): pass\n" + "# padding\n" * 150_000})
    answer = ask(repo, "open the session")
    assert "session.py" not in {hit.path for hit in answer.hits}


@pytest.mark.parametrize("place", ["", "shop"])
def test_a_subdirectory_and_a_linked_work_tree(make_repo: Callable[..., Repo], place: str) -> None:
    repo = changed_repository(make_repo)
    linked = Path(f"{repo.path}-linked")
    repo.git("worktree", "add", "-q", str(linked), "HEAD")
    (linked / "shop" / "only_here.py").write_text("def lightning_in_the_linked_tree(): pass\n")
    with ctx.open(linked / place) as index:
        paths = [hit.path for hit in index.search("lightning linked tree").hits]
        assert paths[0] == "shop/only_here.py"
        assert "old.py" in paths
    with ctx.open(repo.path / place) as index:
        assert "shop/only_here.py" not in [hit.path for hit in index.search("lightning linked tree").hits]


def test_relative_paths_of_the_repository_and_its_index(
    make_repo: Callable[..., Repo], monkeypatch: pytest.MonkeyPatch
) -> None:
    repo = changed_repository(make_repo)
    expected = {overlay: ask(repo, "lightning", overlay).tree for overlay in (WORK_TREE, STAGED)}
    monkeypatch.chdir(repo.path / "shop")
    monkeypatch.setenv("GIT_DIR", "../.git")
    monkeypatch.setenv("GIT_WORK_TREE", "..")
    monkeypatch.setenv("GIT_INDEX_FILE", ".git/index")  # from the top of the work tree
    for overlay, tree in expected.items():
        with ctx.open(".") as index:
            assert index.search("lightning", overlay=overlay).tree == tree


def test_a_scratch_directory_with_a_colon(
    make_repo: Callable[..., Repo], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repo = changed_repository(make_repo)
    (tmp_path / "a:b").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "a:b"))
    monkeypatch.setattr(tempfile, "tempdir", None)
    assert ask(repo, "lightning rod conduct").hits[0].path == "shop/rod.py"


def test_a_small_file_size_limit(make_repo: Callable[..., Repo], tmp_path: Path) -> None:
    repo = changed_repository(make_repo)
    repo.write({"long.py": "".join(f"lightning_{os.urandom(20).hex()} = 1\n" for _ in range(4000))})
    small = tmp_path / "small"
    small.mkdir()
    program = "import ctx, sys; print(ctx.open(sys.argv[1]).search('lightning rod conduct').hits[0].path)"
    mount = ["unshare", "-rm", "sh", "-c", 'mount -t tmpfs -o size=64k tmpfs "$0" && exec "$@"', str(small)]
    if subprocess.run([*mount, "true"], capture_output=True).returncode:
        pytest.skip("no file system can be mounted here")
    done = subprocess.run(
        [*mount, sys.executable, "-c", program, str(repo.path)],
        capture_output=True,
        text=True,
        env={**os.environ, "XDG_RUNTIME_DIR": str(small)},
    )
    assert done.stdout == "shop/rod.py\n", done.stderr


def test_one_process_sees_each_edit(
    make_repo: Callable[..., Repo], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Including an edit of equal size with the old time restored, and another clean filter."""
    monkeypatch.setattr(worktree, "_GRAIN_NS", 0)
    repo = changed_repository(make_repo)
    path = repo.path / "session.py"
    written = []
    make = worktree.WorkTree._write_tree
    monkeypatch.setattr(
        worktree.WorkTree, "_write_tree", lambda self, *rest: written.append(1) or make(self, *rest)
    )
    with ctx.open(repo.path) as index:
        first, again = (index.search(QUERIES[0]) for _ in range(2))
        assert first.tree == again.tree
        assert first.hits == again.hits
        assert len(written) == 1
        seen = path.stat()
        path.write_text(path.read_text().replace("open_again", "open_twice"))
        os.utime(path, ns=(seen.st_atime_ns, seen.st_mtime_ns))
        edited = index.search(QUERIES[0])
        assert edited.tree != first.tree
        assert "open_twice" in str([hit.text for hit in edited.hits])
        repo.git("config", "filter.loud.clean", "tr a-z A-Z")
        (repo.path / ".git" / "info").mkdir(exist_ok=True)
        (repo.path / ".git" / "info" / "attributes").write_text("session.py filter=loud\n")
        assert "OPEN_TWICE" in str([hit.text for hit in index.search(QUERIES[0]).hits])
        attributes = tmp_path / "attributes"
        attributes.write_text("staged.py filter=loud\n")
        repo.git("config", "core.attributesFile", str(attributes))
        index.repository.__dict__.pop("settings")  # which are read once; the server for agents does so too
        assert "STAGED_SESSION" in str([hit.text for hit in index.search("staged session").hits])
        attributes.write_text("staged.py -filter\n")
        assert "staged_session" in str([hit.text for hit in index.search("staged session").hits])
        repo.write({"new.py": "def open_session_anew(): pass\n"})
        assert "new.py" in {hit.path for hit in index.search(QUERIES[0]).hits}
        assert len(written) == 6


def test_a_process_with_many_edits_keeps_few_views_open(make_repo: Callable[..., Repo]) -> None:
    repo = changed_repository(make_repo)
    with ctx.open(repo.path) as index:
        first = index.search(QUERIES[0])
        for number in range(20):
            repo.write({"more.py": f"def quokka_{number}():\n    return {number}\n"})
            assert f"quokka_{number}" in str([hit.text for hit in index.search("quokka").hits])
        gc.collect()
        assert sum(isinstance(kept, View) for kept in gc.get_objects()) <= 8
        (repo.path / "more.py").unlink()
        assert index.search(QUERIES[0]).hits == first.hits
