"""Words written as one in the query and as two in the code, or the other way round."""

from __future__ import annotations

import pytest
from repositories import Repo

import ctx

OTHER = "def part_{0}(value):\n    total = value * {0}\n    return total + {0}\n"


@pytest.mark.parametrize(
    ("query", "name"),
    [("time condition", "timecondition"), ("urlencoded", "url_encoded"), ("urlencoded", "UrlEncoded")],
)
def test_both_spellings_are_found(repo: Repo, query: str, name: str) -> None:
    files = {f"part{number}.py": OTHER.format(number) for number in range(20)}
    repo.commit({**files, "wanted.py": f"def {name}(value):\n    return value + 1\n"})
    with ctx.open(repo.path) as index:
        assert index.search(query).hits[0].path == "wanted.py"
