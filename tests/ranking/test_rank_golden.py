"""Ranks of about sixty questions to a small shop, checked by hand: a change of the ranking shows here."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from repositories import Repo

import ctx

HERE = Path(__file__).parent
QUERIES = [
    tuple(line.split("\t"))
    for line in (HERE / "golden_queries.txt").read_text().splitlines()
    if not line.startswith("#")
]
ALLOWED = 5
"""Questions that may miss their rank, so that a newly trained ranker can pass."""


def shop(repo: Repo) -> Repo:
    """The project of `golden_project.txt`, in which a line with its path precedes each file."""
    files = {}
    for part in (HERE / "golden_project.txt").read_text().split("\n=== "):
        path, _, text = part.removeprefix("=== ").partition("\n")
        files[path] = text.rstrip("\n") + "\n"
    repo.commit(files)
    return repo


@pytest.fixture(scope="module")
def ranks(tmp_path_factory: pytest.TempPathFactory) -> dict[str, int]:
    """Rank of the expected file of each question, 99 if it is not in the answer."""
    repo = Repo(tmp_path_factory.mktemp("golden"))
    repo.git("-c", "init.defaultBranch=main", "init", "--quiet")
    shop(repo)
    found = {}
    with ctx.open(repo.path) as index:
        for query, path, _ in QUERIES:
            paths = [os.fsdecode(hit.path) for hit in index.search(query, limit=20).hits]
            distinct = list(dict.fromkeys(paths))
            found[query] = distinct.index(path) + 1 if path in distinct else 99
    return found


def test_expected_files_come_first(ranks: dict[str, int]) -> None:
    late = [(query, path, ranks[query]) for query, path, rank in QUERIES if ranks[query] > int(rank)]
    assert len(late) <= ALLOWED, late


def test_no_expected_file_ranks_low(ranks: dict[str, int]) -> None:
    assert {query: rank for query, rank in ranks.items() if rank > 5} == {}


def test_a_name_finds_its_definition(ranks: dict[str, int]) -> None:
    names = [query for query, *_ in QUERIES if " " not in query and not query.islower()]
    names += [query for query, *_ in QUERIES if "_" in query]
    assert len(names) > 10
    assert {name: ranks[name] for name in names if ranks[name] > 1} == {}
