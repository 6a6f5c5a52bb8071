"""States of a work tree that are easily misread."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from repositories import Repo
from ways import program

import ctx
from ctx.types import WORK_TREE, Answer

BEFORE = "def first_lantern():\n    return 1\n"
AFTER = "def other_lantern():\n    return 2\n"


def ask(repo: Repo, query: str = "lantern") -> Answer:
    with ctx.open(repo.path) as index:
        return index.search(query, overlay=WORK_TREE)


def as_added(repo: Repo) -> str:
    """The tree that `git add --all` writes."""
    repo.git("add", "--all")
    return repo.git("write-tree").decode()


def test_a_change_within_the_grain_of_the_clock(make_repo: Callable[..., Repo]) -> None:
    """An edit with the size and time of the staged file (racy-git(7))."""
    repo = make_repo()
    repo.git("config", "core.trustctime", "false")
    repo.commit({"a.py": "def committed_lantern():\n    return 0\n"})
    repo.write({"a.py": BEFORE})
    os.utime(repo.path / "a.py", (1_700_000_000, 1_700_000_000))
    repo.git("add", "a.py")
    os.utime(repo.path / ".git" / "index", (1_700_000_000, 1_700_000_000))
    repo.write({"a.py": AFTER})
    os.utime(repo.path / "a.py", (1_700_000_000, 1_700_000_000))
    answer = ask(repo)
    assert [hit.symbol for hit in answer.hits] == ["other_lantern"]
    assert answer.tree == as_added(repo)


@pytest.mark.parametrize("target", ["there", "nothing", "d", "/"])
def test_a_symlink_replaces_a_directory(make_repo: Callable[..., Repo], target: str) -> None:
    repo = make_repo()
    repo.commit({"d/x.py": BEFORE, "d/e/y.py": BEFORE, "there/x.py": AFTER, "there/e/y.py": AFTER})
    for name in ("d/x.py", "d/e/y.py"):
        (repo.path / name).unlink()
    (repo.path / "d/e").rmdir()
    (repo.path / "d").rmdir()
    (repo.path / "d").symlink_to(target)
    answer = ask(repo)
    assert {path for hit in answer.hits for path in (hit.path, *hit.also_at)} == {
        "there/x.py",
        "there/e/y.py",
    }
    assert answer.tree == as_added(repo)


def test_a_symlink_replaces_a_directory_in_conflict(make_repo: Callable[..., Repo]) -> None:
    repo = make_repo()
    repo.commit({"d/x.py": "def base(): pass\n"})
    repo.branch("side")
    repo.commit({"d/x.py": BEFORE, "there/x.py": "def somewhere_else(): pass\n"})
    repo.git("checkout", "-q", "main")
    repo.commit({"d/x.py": AFTER})
    repo.git("merge", "side", check=False)
    (repo.path / "d/x.py").unlink()
    (repo.path / "d").rmdir()
    (repo.path / "d").symlink_to("there")
    answer = ask(repo)
    assert {hit.path for hit in answer.hits} <= {"there/x.py"}
    assert answer.tree == as_added(repo)


def test_changed_files_outside_a_sparse_checkout_are_searched(make_repo: Callable[..., Repo]) -> None:
    repo = make_repo()
    repo.commit({"in/a.py": BEFORE, "out/b.py": BEFORE, "out/c.py": BEFORE})
    repo.write({"out/b.py": AFTER})
    repo.git("sparse-checkout", "set", "in")
    assert not (repo.path / "out/c.py").exists()
    assert {(hit.path, hit.symbol) for hit in ask(repo).hits} == {
        ("in/a.py", "first_lantern"),
        ("out/b.py", "other_lantern"),
    }


def test_unreadable_files_are_left_out(make_repo: Callable[..., Repo]) -> None:
    repo = make_repo()
    repo.commit({"a.py": BEFORE, "changed.py": BEFORE})
    repo.write({"changed.py": AFTER, "secret.py": AFTER, "plain.py": AFTER})
    for name in ("changed.py", "secret.py"):
        (repo.path / name).chmod(0)
    program = (
        "import ctx, sys; print(sorted(hit.path for hit in ctx.open(sys.argv[1]).search('lantern').hits))"
    )
    command = [sys.executable, "-c", program, str(repo.path)]
    if os.geteuid() == 0:
        # Root may read everything, unless it drops the capability.
        without = "-dac_override,-dac_read_search"
        command = ["setpriv", f"--bounding-set={without}", f"--inh-caps={without}", *command]
        if subprocess.run([*command[:3], "true"], capture_output=True).returncode:
            pytest.skip("root cannot give up its rights here")
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[2])},
    )
    assert done.stdout == "['a.py', 'plain.py']\n", done.stderr


@pytest.fixture
def dotfiles(make_repo: Callable[..., Repo], tmp_path: Path) -> tuple[Repo, dict[str, str]]:
    """A bare repository of a few dotfiles whose work tree is a home directory full of private files."""
    repo, home = make_repo("dotfiles", "--bare"), tmp_path / "home"
    home.mkdir()
    variables = {"GIT_DIR": str(repo.path), "GIT_WORK_TREE": str(home)}
    (home / "profile.py").write_text(BEFORE)
    for command in (["add", "profile.py"], ["commit", "-q", "-m", "first"]):
        subprocess.run(["git", *command], cwd=home, env={**os.environ, **variables}, check=True)
    (home / "profile.py").write_text(AFTER)
    (home / "private").mkdir()
    (home / "private" / "letter.py").write_text("def private_lantern():\n    return 3\n")
    return Repo(home), variables


def symbols(repo: Repo, variables: dict[str, str], *arguments: str) -> list[str]:
    run = program("search", "--json-output", *arguments, "lantern", cwd=repo.path, env=variables)
    assert run.status == 0, run.err
    return sorted(hit["symbol"] for hit in json.loads(run.out)["results"])


def set_mode(variables: dict[str, str], mode: str) -> None:
    """Set `status.showUntrackedFiles`; git before 2.45 takes no truth values."""
    environment = {**os.environ, **variables}
    subprocess.run(["git", "config", "status.showUntrackedFiles", mode], env=environment, check=True)
    if subprocess.run(["git", "status"], env=environment, capture_output=True).returncode:
        pytest.skip(f"this git does not know the mode {mode}")


@pytest.mark.parametrize("mode", ["no", "false", "0"])
def test_files_hidden_by_git_status_are_not_searched(
    dotfiles: tuple[Repo, dict[str, str]], mode: str
) -> None:
    home, variables = dotfiles
    set_mode(variables, mode)
    assert symbols(home, variables) == ["other_lantern"]
    # A range up to the work tree has the same files, and the option adds the others.
    assert symbols(home, variables, "--in", "HEAD") == ["first_lantern", "other_lantern"]
    assert symbols(home, variables, "--untracked") == ["other_lantern", "private_lantern"]
    assert "private_lantern" in symbols(home, variables, "--in", "HEAD", "--untracked")


@pytest.mark.parametrize("mode", ["normal", "all", "true"])
def test_files_shown_by_git_status_are_searched(dotfiles: tuple[Repo, dict[str, str]], mode: str) -> None:
    home, variables = dotfiles
    set_mode(variables, mode)
    assert symbols(home, variables) == ["other_lantern", "private_lantern"]


def test_each_linked_work_tree_has_its_own_setting(make_repo: Callable[..., Repo], tmp_path: Path) -> None:
    repo = make_repo()
    repo.commit({"a.py": BEFORE})
    repo.git("config", "extensions.worktreeConfig", "true")
    repo.git("worktree", "add", "-q", "-b", "side", str(tmp_path / "side"))
    side = Repo(tmp_path / "side")
    side.git("config", "--worktree", "status.showUntrackedFiles", "no")
    for one in (repo, side):
        one.git("update-index", "--untracked-cache")
        one.write({"b.py": AFTER})
    assert {hit.symbol for hit in ask(repo).hits} == {"first_lantern", "other_lantern"}
    assert {hit.symbol for hit in ask(side).hits} == {"first_lantern"}


def test_files_that_the_user_ignores_globally(make_repo: Callable[..., Repo], tmp_path: Path) -> None:
    repo = make_repo()
    repo.commit({"a.py": BEFORE})
    (tmp_path / "excludes").write_text("private*\n")
    repo.git("config", "core.excludesFile", str(tmp_path / "excludes"))
    repo.git("config", "core.untrackedCache", "true")
    repo.write({"private.py": AFTER, "shown.py": "def shown_lantern():\n    return 4\n"})
    assert {hit.symbol for hit in ask(repo).hits} == {"first_lantern", "shown_lantern"}
    (tmp_path / "excludes").write_text("shown*\n")
    assert {hit.symbol for hit in ask(repo).hits} == {"first_lantern", "other_lantern"}


def test_the_option_for_untracked_files_needs_the_work_tree(make_repo: Callable[..., Repo]) -> None:
    repo = make_repo()
    repo.commit({"a.py": BEFORE})
    for other in (["--staged"], ["--revision", "HEAD"], ["--no-overlay"]):
        run = program("search", "lantern", "--untracked", *other, cwd=repo.path)
        assert run.status == 129
        assert "--untracked goes with the work tree" in run.err
