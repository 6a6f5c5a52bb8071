"""The states of a search are checked."""

from __future__ import annotations

import pytest
from repositories import Repo

import ctx


def test_an_unknown_state_is_refused(repo: Repo) -> None:
    repo.commit({"a.py": "def a():\n    return 1\n"})
    repo.commit({"a.py": "def a():\n    return 2\n"})
    with ctx.open(repo.path) as index:
        assert index.search("a", within="HEAD~1..HEAD", states=["modified"]).hits
        with pytest.raises(ctx.UsageError, match="'bogus': one of added, modified, removed"):
            index.search("a", within="HEAD~1..HEAD", states=["bogus", "modified"])
