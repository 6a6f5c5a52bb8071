"""The parts of a score add up to it, and one of them is the kind of the file."""

from __future__ import annotations

from math import exp

import pytest
from repositories import Repo
from test_rank_golden import shop

import ctx
from ctx.ranking.corpus import Corpus
from ctx.ranking.explain import FURTHER_ROW, Explained, explain
from ctx.ranking.features import FEATURES, GROUPS
from ctx.ranking.query import prepare
from ctx.ranking.ranker import rank


def answer(repo: Repo, text: str, limit: int = 20) -> list[tuple[str, Explained]]:
    with ctx.open(repo.path) as index:
        index.index()
        corpus = Corpus(index.session.indexer.view(index.resolve()))
        query = prepare(text)
        found = explain(corpus, query, None, limit)
        files = {one.hit.file for one in found}
        assert {one.file for one in rank(corpus, query, None, limit)} <= files or len(found) == limit
        return [(corpus.view.path(one.hit.file).decode(), one) for one in found]


@pytest.mark.parametrize(
    "text", ["renew the session", "refund", "place_order", "how is the queue read", "zzz"]
)
def test_the_parts_add_up(repo: Repo, text: str) -> None:
    for _, one in answer(shop(repo), text):
        assert sum(one.parts.values()) == pytest.approx(one.margin, abs=1e-9)
        assert one.hit.score == round(1 / (1 + exp(-one.margin)), 6)


def test_the_kind_of_a_file_costs_score_unless_requested(repo: Repo) -> None:
    repo = shop(repo)
    tests = [one for path, one in answer(repo, "renew the session") if path == "tests/test_sessions.py"]
    assert tests
    assert all(one.parts["a test"] < 0 for one in tests)
    tests = [one for path, one in answer(repo, "test of sessions") if path == "tests/test_sessions.py"]
    assert tests
    assert not any("a test" in one.parts for one in tests)


def test_a_test_loses_less_for_a_query_of_one_bare_name(repo: Repo) -> None:
    """Only a test may define the name."""
    repo = shop(repo)

    def loss(text: str) -> float:
        return next(
            one.parts["a test"] for path, one in answer(repo, text) if path == "tests/test_sessions.py"
        )

    assert loss("renew the session") < loss("renewSession") < 0


def test_further_rows_of_a_file_lose_score(repo: Repo) -> None:
    seen = set()
    for path, one in answer(shop(repo), "session", 50):
        assert (FURTHER_ROW in one.parts) == (path in seen)
        seen.add(path)


def test_every_feature_has_one_kind_of_evidence() -> None:
    assert set(GROUPS) == set(FEATURES)
    assert len(set(FEATURES)) == len(FEATURES)


def test_an_answer_without_hits_has_no_reasons(repo: Repo) -> None:
    repo.commit({"a.py": "x = 1\n"})
    assert answer(repo, "zebra") == [] or answer(repo, "zebra")[0][0] == "a.py"
