"""Exactness: with any history, answers equal those of a fresh index; work is proportional to changes."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from projects import QUERIES, function, project, source
from repositories import Repo
from ways import ask, payloads, program, store

import ctx
from ctx.indexing.reports import ALREADY_INDEXED, IndexReport

FEW = (QUERIES[0], QUERIES[2], QUERIES[5])
FILTERS = ((), ("src",), ("*.py", ":!tests"))


def index(path: Path, revision: str | None = None, jobs: int = 1) -> IndexReport:
    """Index one revision."""
    with ctx.open(path) as opened:
        return opened.index(revision, jobs=jobs)


class History:
    """Random but repeatable changes to a repository, made by git."""

    def __init__(self, repo: Repo, number: int, files: int = 40) -> None:
        self.repo = repo
        self.random = random.Random(number)
        repo.commit(project(number, files))
        self.branches = ["main"]

    def files(self) -> list[str]:
        return [name for name in self.repo.git("ls-files").decode().split("\n") if name]

    def pick(self) -> str:
        return self.random.choice(self.files())

    def step(self) -> str:
        """Make one change, and return its description."""
        kinds = [self.edit] * 5 + [
            self.append,
            self.add,
            self.add,
            self.delete,
            self.rename,
            self.move,
            self.copy,
        ]
        kinds += [self.switch, self.merge, self.revert, self.amend, self.rule]
        chosen = self.random.choice(kinds)
        chosen()
        return chosen.__name__

    def edit(self) -> None:
        name = self.pick()
        self.repo.commit({name: source(self.random, name.rpartition(".")[2])})

    def append(self) -> None:
        name = self.pick()
        text = (self.repo.path / name).read_text() + function(self.random, name.rpartition(".")[2])
        self.repo.commit({name: text})

    def add(self) -> None:
        made = project(self.random.randrange(10**6), self.random.randrange(1, 20))
        self.repo.commit({name: text for name, text in made.items() if not (self.repo.path / name).exists()})

    def delete(self) -> None:
        if len(self.files()) > 20:
            self.repo.commit(dict.fromkeys(self.random.sample(self.files(), 3)))

    def rename(self) -> None:
        name = self.pick()
        self.repo.git("mv", name, f"{name.rpartition('.')[0]}_renamed.{name.rpartition('.')[2]}")
        self.repo.commit()

    def move(self) -> None:
        folders = sorted({name.rpartition("/")[0] for name in self.files() if "/" in name})
        folder = self.random.choice(folders)
        if not (self.repo.path / f"{folder}_moved").exists():
            self.repo.git("mv", folder, f"{folder}_moved")
        self.repo.commit()

    def copy(self) -> None:
        name = self.pick()
        self.repo.commit({f"copies/{name}": (self.repo.path / name).read_bytes()})

    def switch(self) -> None:
        if len(self.branches) < 3:
            self.branches.append(f"topic{len(self.branches)}")
            self.repo.branch(self.branches[-1], "HEAD")
            self.edit()
        else:
            self.repo.git("checkout", "--quiet", self.random.choice(self.branches))

    def merge(self) -> None:
        self.repo.git("merge", "--quiet", "-X", "ours", self.random.choice(self.branches), check=False)
        self.repo.commit()

    def revert(self) -> None:
        self.repo.git("revert", "--no-edit", "-X", "theirs", "HEAD", check=False)
        self.repo.commit()

    def amend(self) -> None:
        name = self.pick()
        self.repo.write({name: source(self.random, name.rpartition(".")[2])})
        self.repo.git("commit", "--quiet", "--amend", "--all", "--message", "amended")

    def rule(self) -> None:
        self.repo.commit({".ctxignore": self.random.choice(["docs/\n", "*.md\n", "wide/s*\n", ""])})


@pytest.mark.parametrize("number", [1, 2, 3])
def test_any_history_answers_like_a_fresh_index(
    make_repo: Callable[..., Repo], tmp_path: Path, number: int
) -> None:
    repo = make_repo()
    history = History(repo, number)
    ask(repo.path, FEW[:1], [()])
    for place in range(11):
        step = history.step()
        if place % 3 == 2:
            continue  # not every commit is looked at
        answers = ask(repo.path, FEW, FILTERS)
        fresh = tmp_path / f"fresh{place}"
        repo.git("clone", "--quiet", str(repo.path), str(fresh))
        assert answers == ask(fresh, FEW, FILTERS), f"after {step}"
        shutil.rmtree(fresh)


def test_the_store_is_a_function_of_the_tree_alone(make_repo: Callable[..., Repo], tmp_path: Path) -> None:
    repo = make_repo()
    history = History(repo, 7, 300)
    index(repo.path, jobs=2)
    for _ in range(10):
        history.step()
        index(repo.path)
    at_once = {}
    for jobs in (1, 2):
        clone = tmp_path / f"clone{jobs}"
        repo.git("clone", "--quiet", str(repo.path), str(clone))
        report = index(clone, jobs=jobs)
        assert report.processed_new_clusters == report.total_clusters
        at_once[jobs] = payloads(clone)
        assert len(at_once[jobs]) == report.total_clusters
    assert at_once[1] == at_once[2]
    grown = payloads(repo.path)
    assert {name: grown[name] for name in at_once[1]} == at_once[1]
    nodes = payloads(repo.path, "snapshots/" + next(iter(at_once[1])).partition("/")[0] + "/nodes")
    fresh = payloads(tmp_path / "clone1", "snapshots/" + next(iter(at_once[1])).partition("/")[0] + "/nodes")
    assert {name: nodes[name] for name in fresh} == fresh


def test_indexing_twice_does_nothing(make_repo: Callable[..., Repo]) -> None:
    repo = make_repo()
    repo.commit(project(1, 60))
    first = index(repo.path)
    assert (first.skipped, first.processed_new_clusters) == (None, first.total_clusters)
    assert first.embedded_chunks > 0
    before = {file: file.stat().st_ino for file in store(repo.path).rglob("*") if file.is_file()}
    second = index(repo.path)
    assert (second.skipped, second.embedded_chunks, second.processed_new_clusters) == (ALREADY_INDEXED, 0, 0)
    assert before == {file: file.stat().st_ino for file in store(repo.path).rglob("*") if file.is_file()}


def test_an_empty_commit_and_an_amend_of_the_message_are_indexed_already(
    make_repo: Callable[..., Repo],
) -> None:
    repo = make_repo()
    repo.commit(project(1, 30))
    index(repo.path)
    repo.commit(message="nothing changed")
    assert index(repo.path).skipped == ALREADY_INDEXED
    repo.git("commit", "--quiet", "--amend", "--allow-empty", "--message", "other words")
    assert index(repo.path).skipped == ALREADY_INDEXED


def test_editing_one_file_makes_one_cluster(make_repo: Callable[..., Repo]) -> None:
    repo = make_repo()
    files = project(2, 200)
    repo.commit(files)
    index(repo.path)
    name = "src/edited.py"
    repo.commit({name: "def one():\n    return 1\n"})
    index(repo.path)
    repo.commit({name: "def renew_everything():\n    return 2\n"})
    report = index(repo.path)
    assert (report.processed_new_clusters, report.embedded_chunks) == (1, 1)


def test_renaming_moving_and_copying_embed_nothing(make_repo: Callable[..., Repo]) -> None:
    repo = make_repo()
    repo.commit(project(3, 120))
    index(repo.path)
    for change in (("mv", "src", "sources"), ("mv", "wide", "sources/wide")):
        repo.git(*change)
        repo.commit()
        report = index(repo.path)
        assert report.skipped is None
        assert report.embedded_chunks == 0
        assert report.reused_chunks > 0
    name = repo.git("ls-files", "sources").decode().split("\n")[0]
    repo.commit({f"copy/of/{name}": (repo.path / name).read_bytes()})
    assert index(repo.path).embedded_chunks == 0


def test_reverting_embeds_and_makes_nothing(make_repo: Callable[..., Repo]) -> None:
    repo = make_repo()
    files = project(4, 80)
    repo.commit(files)
    index(repo.path)
    name = next(iter(files))
    repo.commit({name: "def other():\n    return 1\n", "new/file.py": "x = 1\n"})
    index(repo.path)
    repo.git("revert", "--no-edit", "HEAD")
    assert index(repo.path).skipped == ALREADY_INDEXED
    repo.commit({"unrelated.py": "y = 2\n"})
    report = index(repo.path)
    assert report.embedded_chunks == 1


def test_a_second_worktree_shares_the_store(make_repo: Callable[..., Repo], tmp_path: Path) -> None:
    repo = make_repo()
    repo.commit(project(5, 60))
    index(repo.path)
    repo.git("worktree", "add", "--quiet", "-b", "other", str(tmp_path / "tree"))
    assert index(tmp_path / "tree").skipped == ALREADY_INDEXED
    assert store(tmp_path / "tree") == store(repo.path) == repo.path / ".git" / "ctx"
    other = Repo(tmp_path / "tree")
    other.commit({"only/here.py": "def renew_the_moon():\n    pass\n"})
    report = index(other.path)
    assert report.embedded_chunks == 1
    here, there = ask(other.path, ["renew_the_moon"], [()]), ask(repo.path, ["renew_the_moon"], [()])
    hits = [{hit.path for hit in answers[("renew_the_moon", ())][-1]} for answers in (here, there)]
    assert ["only/here.py" in paths for paths in hits] == [True, False]


def test_answers_are_of_the_requested_revision(
    make_repo: Callable[..., Repo],
) -> None:
    repo = make_repo()
    repo.commit(project(6, 50))
    first = ask(repo.path, FEW, FILTERS, "main")
    old = repo.git("rev-parse", "HEAD").decode()
    repo.branch("topic")
    repo.commit(project(60, 50))
    new = ask(repo.path, FEW, FILTERS, "topic")
    assert first != new
    assert ask(repo.path, FEW, FILTERS, "main") == first
    by_id = ask(repo.path, FEW, FILTERS, old)
    assert all(answer[-1] == first[key][-1] for key, answer in by_id.items())
    repo.git("checkout", "--quiet", "main")
    (repo.path / "dirty.py").write_text("def renew_session_dirty(): pass\n")
    assert ask(repo.path, FEW, FILTERS, "topic") == new
    (repo.path / "dirty.py").unlink()
    repo.git("checkout", "--quiet", "--detach", "topic")
    assert all(answer[-1] == new[key][-1] for key, answer in ask(repo.path, FEW, FILTERS).items())


def test_many_small_commits_keep_the_number_of_segments_small(make_repo: Callable[..., Repo]) -> None:
    repo = make_repo()
    files = project(8, 60)
    repo.commit(files)
    index(repo.path)
    made = random.Random(8)
    for name in list(files)[:25]:
        repo.commit({name: source(made, name.rpartition(".")[2])})
        index(repo.path)
    with ctx.open(repo.path) as opened:
        view = opened.session.catalog.view(opened.resolve().tree)
        assert view is not None
        assert len(view.segments) <= 8
    fresh = ask(repo.path, FEW, FILTERS)
    shutil.rmtree(store(repo.path) / "views")
    assert ask(repo.path, FEW, FILTERS) == fresh


def test_two_processes_at_once_answer_as_one(make_repo: Callable[..., Repo]) -> None:
    repo = make_repo()
    repo.commit(project(9, 260))
    assert program("index", "--jobs", "2", cwd=repo.path).status == 0
    two = ask(repo.path, FEW, FILTERS)
    shutil.rmtree(store(repo.path))
    assert program("index", "--jobs", "1", cwd=repo.path).status == 0
    assert ask(repo.path, FEW, FILTERS) == two
