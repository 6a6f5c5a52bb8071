"""The commits at which a hit changed are those that changed its lines."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from repositories import Repo

import ctx
from ctx.errors import UsageError
from ctx.git.diff import Hunk
from ctx.search.evolution import old_lines
from ctx.types import Evolution


def function(name: str, step: int) -> str:
    padding = "".join(f"    {name}_value_{number} = {number}\n" for number in range(40))
    return f"def {name}(value):\n    step = {step}\n{padding}    return value\n\n\n"


@pytest.fixture
def project(repo: Repo) -> Repo:
    """`walk_home` changes at every other commit, `eat_lunch` at the others; the file moves in between."""
    for step in range(4):
        name = "day.py" if step < 2 else "days/day.py"
        if step == 2:
            repo.path.joinpath("days").mkdir()
            repo.git("mv", "day.py", "days/day.py")
            repo.commit({}, "move")
        text = function("eat_lunch", step // 2) + function("walk_home", (step + 1) // 2)
        repo.commit({name: text}, f"step {step}")
    return repo


def evolution(repo: Repo, query: str = "walk_home", **options: object) -> Evolution:
    with ctx.open(repo.path) as index:
        answer = index.search(query, evolution=True, **options)  # type: ignore[arg-type]
        found = answer.hits[0].evolution
        assert found is not None
        return found


def subjects(found: Evolution) -> list[str]:
    return [change.subject for change in found.commits]


def test_only_commits_that_changed_the_lines_count(project: Repo) -> None:
    walk = evolution(project)
    assert subjects(walk) == ["step 3", "step 1", "step 0"]
    assert (walk.complete, walk.uncommitted) == (True, False)
    assert walk.commits[0].commit == project.id("HEAD").hex()
    assert walk.commits[0].author == "Ada Tester"
    assert subjects(evolution(project, "eat_lunch")) == ["step 2", "step 0"]
    assert subjects(evolution(project, "eat_lunch", revision="HEAD~2")) == ["step 0"]


def test_uncommitted_lines_are_those_that_were_there(project: Repo) -> None:
    text = (project.path / "days/day.py").read_text()
    text = function("wake_up", 9) + text.replace("walk_home_value_7 = 7", "pass")
    (project.path / "days/day.py").write_text(text)
    found = evolution(project)
    assert (subjects(found), found.uncommitted) == (["step 3", "step 1", "step 0"], True)
    lunch = evolution(project, "eat_lunch_value_9")
    assert (subjects(lunch), lunch.uncommitted) == (["step 2", "step 0"], False)
    (project.path / "new.py").write_text(function("brand_new", 1))
    assert evolution(project, "brand_new") == Evolution(commits=[], uncommitted=True, complete=True)


def test_settings_and_directories_change_nothing(project: Repo, tmp_path: Path) -> None:
    for name, value in (
        ("log.showSignature", "true"),
        ("log.follow", "true"),
        ("log.date", "relative"),
        ("log.decorate", "full"),
        ("format.pretty", "fuller"),
        ("color.ui", "always"),
        ("core.pager", "false"),
        ("diff.external", "false"),
    ):
        project.git("config", name, value)
    expected = ["step 3", "step 1", "step 0"]
    assert subjects(evolution(project)) == expected
    with ctx.open(project.path / "days") as index:
        found = index.search("walk_home", evolution=True).hits[0].evolution
        assert found is not None
        assert subjects(found) == expected
    project.git("worktree", "add", "-q", str(tmp_path / "linked"), "HEAD")
    assert subjects(evolution(Repo(tmp_path / "linked"))) == expected
    subprocess.run(["git", "clone", "-q", "--bare", str(project.path), str(tmp_path / "bare")], check=True)
    assert subjects(evolution(Repo(tmp_path / "bare"))) == expected


def test_each_side_of_a_range_has_its_own_history(project: Repo) -> None:
    assert subjects(evolution(project, within="HEAD^!")) == ["step 3", "step 1", "step 0"]
    project.commit({"days/day.py": function("eat_lunch", 1)}, "no way home")
    assert subjects(evolution(project, within="HEAD^!")) == ["step 3", "step 1", "step 0"]


def test_a_tree_has_no_history(project: Repo) -> None:
    with pytest.raises(UsageError, match="is a tree and has no history"):
        evolution(project, revision="HEAD^{tree}")


@pytest.mark.parametrize(
    ("hunks", "lines", "expected"),
    [
        ([], (3, 5), (3, 5)),
        ([Hunk(0, 0, 1, 2)], (3, 5), (1, 3)),
        ([Hunk(2, 0, 3, 2)], (3, 4), None),
        ([Hunk(2, 0, 3, 2)], (2, 5), (2, 3)),
        ([Hunk(4, 3, 3, 0)], (3, 5), (3, 8)),
        ([Hunk(4, 3, 4, 1)], (4, 4), (4, 6)),
        ([Hunk(4, 1, 4, 3), Hunk(9, 2, 10, 0)], (7, 12), (5, 12)),
    ],
)
def test_lines_before_a_change(
    hunks: list[Hunk], lines: tuple[int, int], expected: tuple[int, int] | None
) -> None:
    assert old_lines(hunks, *lines) == expected
