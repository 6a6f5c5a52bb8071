"""Ranks of 61 questions to five well-known projects, checked by hand: a change of the ranking shows here.

The projects are packages that the tests are installed with; their sources are put into a repository of the
test's own. They change with their releases, so a question may miss its rank now and then, but few may.
"""

from __future__ import annotations

import os
import shutil
from importlib.util import find_spec
from pathlib import Path

import pytest
from repositories import Repo

import ctx

PACKAGES = {"click": "click", "rich": "rich", "pytest": "_pytest", "uvicorn": "uvicorn", "anyio": "anyio"}
QUESTIONS = [
    line.split("\t")
    for line in Path(__file__).with_name("well_known.txt").read_text().splitlines()
    if not line.startswith("#")
]
MAY_MISS = 8
"""Of 61; five do with the releases of November 2026."""


def checkout(project: str, folder: Path) -> Repo:
    """A repository of the sources of a package as it is installed here."""
    found = find_spec(PACKAGES[project])
    assert found is not None
    assert found.origin is not None
    package = Path(found.origin).parent
    shutil.copytree(package, folder / package.name, ignore=shutil.ignore_patterns("__pycache__", "*.so"))
    repo = Repo(folder)
    repo.git("-c", "init.defaultBranch=main", "init", "--quiet")
    repo.commit()
    return repo


@pytest.fixture(scope="module")
def ranks(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, str], int]:
    """Best rank of an expected file of each question, 99 if none is in the answer."""
    found = {}
    for project in PACKAGES:
        repo = checkout(project, tmp_path_factory.mktemp("well-known") / project)
        with ctx.open(repo.path) as index:
            for name, question, answers, _ in QUESTIONS:
                # Another release may have another file for it.
                if name == project and any((repo.path / answer).exists() for answer in answers.split()):
                    hits = index.search(question, limit=20).hits
                    paths = list(dict.fromkeys(os.fsdecode(hit.path) for hit in hits))
                    found[name, question] = min(
                        (paths.index(answer) + 1 for answer in answers.split() if answer in paths), default=99
                    )
    return found


@pytest.mark.xdist_group("well known")
def test_expected_files_come_first(ranks: dict[tuple[str, str], int]) -> None:
    assert len(ranks) > 0.9 * len(QUESTIONS)
    late = [
        (project, question, ranks[project, question])
        for project, question, _, rank in QUESTIONS
        if ranks.get((project, question), 0) > int(rank)
    ]
    assert len(late) <= MAY_MISS, late


@pytest.mark.xdist_group("well known")
def test_no_expected_file_ranks_low(ranks: dict[tuple[str, str], int]) -> None:
    assert sum(rank > 5 for rank in ranks.values()) <= 1, ranks
