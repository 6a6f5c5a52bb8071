"""The texts of an answer are those of its tree, even after later searches."""

from __future__ import annotations

import gc
import sys
import tempfile
import threading
import weakref
from collections.abc import Callable
from pathlib import Path

import pytest
from repositories import Repo

import ctx
from ctx.search.evolution import with_evolution
from ctx.search.hits import corpus_of
from ctx.storage.views.view import View
from ctx.types import COMMITTED, STAGED

ALLOW = ("-c", "protocol.file.allow=always")
QUERY = "open the session"


def opening(word: str) -> str:
    return f"def open_session(store):\n    return store.{word}()\n"


@pytest.fixture
def changed(repo: Repo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Repo:
    """A file that differs in the commit, in the index and on disk; scratch files in `tmp_path/scratch`."""
    (tmp_path / "scratch").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "scratch"))
    monkeypatch.setattr(tempfile, "tempdir", None)
    repo.commit({"session.py": opening("committed")})
    repo.write({"session.py": opening("staged")})
    repo.git("add", "session.py")
    repo.write({"session.py": opening("on_disk")})
    return repo


def test_each_answer_keeps_its_own_text(changed: Repo, tmp_path: Path) -> None:
    with ctx.open(changed.path) as index:
        on_disk = index.search(QUERY)
        staged = index.search(QUERY, overlay=STAGED)
        committed = index.search(QUERY, overlay=COMMITTED)
        changed.write({"session.py": opening("later")})
        later = index.search(QUERY)
        for word, answer in {
            "on_disk": on_disk,
            "staged": staged,
            "committed": committed,
            "later": later,
        }.items():
            assert answer.hits[0].text == opening(word).rstrip("\n")
        with_commits = with_evolution(index.session, on_disk)
        assert [hit.evolution is not None for hit in with_commits.hits] == [True]
        del with_commits
        # Only objects that an answer can still read stay.
        assert len(list((tmp_path / "scratch").iterdir())) == 3
        hits = on_disk.hits
        del on_disk, staged, answer
        assert hits[0].text == opening("on_disk").rstrip("\n")
        assert len(list((tmp_path / "scratch").iterdir())) == 2
    assert list((tmp_path / "scratch").iterdir()) == []


def test_related_code_keeps_its_own_text(changed: Repo) -> None:
    changed.write({"copy.py": opening("on_disk")})
    with ctx.open(changed.path) as index:
        answer = index.related("session.py:1")
        changed.write({"copy.py": None})
        index.search(QUERY, overlay=STAGED)
        assert [hit.text for hit in answer.hits] == [opening("on_disk").rstrip("\n")]


def test_texts_of_submodules_stay_readable(make_repo: Callable[..., Repo], changed: Repo) -> None:
    lib = make_repo("lib-origin")
    lib.commit({"rope.py": "def cut_rope(where):\n    return where\n"})
    changed.git(*ALLOW, "submodule", "--quiet", "add", str(lib.path), "lib")
    inner = Repo(changed.path / "lib")
    inner.write({"rope.py": "def cut_rope(where):\n    return where + 1\n"})
    with ctx.open(changed.path) as index:
        ropes = index.search("cut a rope", recurse_submodules=True).hits
        sessions = index.search(QUERY, recurse_submodules=True).hits
        index.search(QUERY, overlay=STAGED)
        assert ropes[0].text == "def cut_rope(where):\n    return where + 1"
        assert sessions[0].text == opening("on_disk").rstrip("\n")


def test_nothing_of_a_closed_index_stays_in_memory(repo: Repo) -> None:
    repo.commit({f"file{number}.py": opening(f"way{number}") for number in range(3)})
    index = ctx.open(repo.path)
    index.search(QUERY, overlay=COMMITTED)
    view = index.session.catalog.view(repo.id("HEAD^{tree}"))
    assert view is not None
    corpus = weakref.ref(corpus_of(view))
    assert corpus_of(view) is corpus()
    del view
    index.close()
    gc.collect()
    assert corpus() is None


def test_threads_never_mix_up_cached_views(repo: Repo) -> None:
    views: list[View] = []
    with ctx.open(repo.path) as index:
        for number in range(6):
            repo.commit({f"file{number}.py": opening(f"way{number}")})
            index.search(QUERY, overlay=COMMITTED)
            view = index.session.catalog.view(repo.id("HEAD^{tree}"))
            assert view is not None
            views.append(view)
        wrong: list[object] = []

        def look_up(start: int) -> None:
            try:
                for number in range(3_000):
                    one = views[(start + number) % len(views)]
                    if corpus_of(one).view is not one:
                        wrong.append(one)
                    if number % 7 == 0:
                        one.corpus = None
            except Exception as error:
                wrong.append(error)

        interval = sys.getswitchinterval()
        sys.setswitchinterval(1e-6)
        try:
            threads = [threading.Thread(target=look_up, args=(number,)) for number in range(6)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        finally:
            sys.setswitchinterval(interval)
    assert wrong == []
