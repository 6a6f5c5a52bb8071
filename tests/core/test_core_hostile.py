"""What others put into the directory of an index harms neither the user's files nor the programs."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from repositories import Repo

import ctx


def test_an_index_that_is_a_link_is_removed_without_what_it_leads_to(
    make_repo: Callable[..., Repo], tmp_path: Path
) -> None:
    repo = make_repo()
    repo.commit({"a.py": "x = 1\n"})
    kept = tmp_path / "kept" / "letter.txt"
    kept.parent.mkdir()
    kept.write_text("dear\n")
    link = repo.path / ".git" / "ctx"
    link.symlink_to(kept.parent)
    with ctx.open(repo.path) as index:
        index.remove()
    assert not os.path.lexists(link)
    assert kept.read_text() == "dear\n"


def test_only_the_view_that_is_searched_becomes_young(make_repo: Callable[..., Repo]) -> None:
    repo = make_repo()
    for number in range(3):
        repo.commit({"a.py": f"def f{number}():\n    return {number}\n"})
        with ctx.open(repo.path) as index:
            index.index()
    views = sorted((repo.path / ".git/ctx").glob("views/*/view-*"))
    for age, view in enumerate(views):
        os.utime(view, (1_600_000_000 + age, 1_600_000_000 + age))
    tree = bytes.fromhex(views[0].name.partition("-")[2])
    with ctx.open(repo.path) as index:
        assert len(list(index.catalog.views())) == len(views) == 3
        assert [view.stat().st_mtime for view in views] == [1_600_000_000 + age for age in range(3)]
        assert index.catalog.view(tree) is not None
    assert [view.stat().st_mtime > 1_700_000_000 for view in views] == [True, False, False]
