"""Rerankers, query expansion, keys, and the ledger."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from repositories import Repo
from service import Service, instead, status
from service_project import git_ctx

from ctx.models import centre


def rerank(repo: Repo, service: Service, dialect: str) -> None:
    """Configure a reranker and no embedder."""
    repo.git("config", "--unset", "ctx.embedder.url")
    repo.git("config", "ctx.reranker.url", service.url)
    repo.git("config", "ctx.reranker.model", "judge")
    repo.git("config", "ctx.reranker.dialect", dialect)


def symbols(run: Any) -> list[str]:
    return [hit["symbol"] for hit in run.json["results"]]


@pytest.mark.parametrize(
    ("dialect", "path", "field"), [("cohere", "/v1/rerank", "documents"), ("tei", "/rerank", "texts")]
)
def test_a_reranker_decides_the_order(
    project: Repo, service: Service, dialect: str, path: str, field: str
) -> None:
    """It gets the text of the candidates from git; here the last one gets the best score."""
    rerank(project, service, dialect)
    local = git_ctx(project.path, "search", "invoice of a candle", "--json-output", "--no-rerank")
    run = git_ctx(project.path, "search", "invoice of a candle", "--json-output")
    assert run.json["rankedWith"] == ["judge"]
    assert symbols(run) == symbols(local)[::-1]
    ((asked, body, _),) = service.requests
    assert asked == path
    assert body["query"] == "invoice of a candle"
    assert body[field][0].startswith("def ")
    few = git_ctx(project.path, "search", "invoice of a candle", "--json-output", "--min-score", "0.55")
    assert all(hit["result"]["scoredText"]["similarity"] >= 0.55 for hit in few.json["results"])
    assert 0 < len(few.json["results"]) < len(run.json["results"])


def judged(request: Any) -> bool:
    """Give the first candidate 0.9, the second one 0.3, and the others less."""
    scores = [0.9, 0.3, *([0.1] * 48)]
    results = [
        {"index": place, "relevance_score": scores[place]} for place in range(len(request.body["documents"]))
    ]
    request.answer(200, {"results": results})
    return True


def test_candidates_with_low_reranker_scores_are_left_out(project: Repo, service: Service) -> None:
    """Below 0.3 or the configured score; the answer has their number, also if all are dropped."""
    rerank(project, service, "cohere")
    service.always = judged
    local = symbols(git_ctx(project.path, "search", "invoice of a candle", "--json-output", "--no-rerank"))
    run = git_ctx(project.path, "search", "invoice of a candle", "--json-output")
    assert symbols(run) == local[:2]
    assert "judge gave 6 of 8 candidates a score below 0.3" in run.json["message"]
    assert "ctx.reranker.minScore" in run.json["message"]
    project.git("config", "ctx.reranker.minScore", "0")
    run = git_ctx(project.path, "search", "invoice of a candle", "--json-output")
    assert (symbols(run), run.json["message"]) == (local, None)
    project.git("config", "ctx.reranker.minScore", "0.95")
    run = git_ctx(project.path, "search", "invoice of a candle")
    assert run.status == 1
    assert "judge gave 8 of 8 candidates a score below 0.95" in run.out + run.err
    run = git_ctx(project.path, "search", "invoice of a candle", "--json-output", "--min-score", "0.5")
    assert symbols(run) == local[:1]
    few = git_ctx(
        project.path, "search", "invoice of a candle", "--json-output", "-n", "1", "--min-score", "0.5"
    )
    assert (symbols(few), few.json["message"]) == (local[:1], None)


@pytest.mark.parametrize("value", ["-0.1", "1.1", "30%", "", "nan", "1e-1"])
def test_a_least_score_that_cannot_be(project: Repo, service: Service, value: str) -> None:
    rerank(project, service, "cohere")
    project.git("config", "ctx.reranker.minScore", value)
    run = git_ctx(project.path, "search", "invoice of a candle")
    assert run.status == 129
    assert "it must be a number from 0 to 1" in run.err
    assert service.requests == []


def test_grades_of_zero_are_left_out(project: Repo, service: Service) -> None:
    rerank(project, service, "listwise")
    service.says = "1: 0\n2: 3\n3: 1\n4: 0\n5: 0\n6: 0\n7: 0\n8: 0"
    run = git_ctx(project.path, "search", "invoice of a candle", "--json-output")
    local = git_ctx(project.path, "search", "invoice of a candle", "--json-output", "--no-rerank")
    assert symbols(run) == symbols(local)[1:3]


def test_one_question_a_candidate(project: Repo, service: Service) -> None:
    rerank(project, service, "pointwise")

    def judge(request: Any) -> bool:
        yes = "session_bridge" in request.body["messages"][1]["content"]
        top = [
            {"token": " Yes" if yes else "no", "logprob": -0.1},
            {"token": "No" if yes else "yes", "logprob": -3.0},
        ]
        choice = {"message": {"content": "?"}, "logprobs": {"content": [{"top_logprobs": top}]}}
        request.answer(200, {"choices": [choice]})
        return True

    service.always = judge
    run = git_ctx(project.path, "search", "compute", "--json-output")
    assert symbols(run)[0] == "session_bridge"


@pytest.mark.parametrize(
    "fault",
    [
        status(503, "tired"),
        instead({"results": []}),
        instead({"results": [{"index": 99, "relevance_score": 1}]}),
    ],
)
def test_a_reranker_that_fails_leaves_the_local_order(project: Repo, service: Service, fault: Any) -> None:
    rerank(project, service, "cohere")
    local = git_ctx(project.path, "search", "invoice of a candle", "--json-output", "--no-rerank")
    service.always = fault
    run = git_ctx(project.path, "search", "invoice of a candle", "--json-output")
    assert run.status == 0
    assert symbols(run) == symbols(local)
    assert "local order" in run.json["message"]


def test_further_queries(project: Repo, service: Service) -> None:
    """Proposed by a chat model from the first hits; off by default."""
    project.git("config", "--unset", "ctx.embedder.url")
    run = git_ctx(project.path, "search", "the thing", "--expand")
    assert run.status == 129
    assert "ctx.expander.url" in run.err
    project.git("config", "ctx.expander.url", service.url)
    project.git("config", "ctx.expander.model", "thinker")
    service.says = "1. session_drawer\n- invoice\n"
    git_ctx(project.path, "search", "the thing")
    assert service.requests == []
    run = git_ctx(project.path, "search", "compute the", "--expand", "--json-output")
    assert run.json["rankedWith"] == ["thinker"]
    assert "session_drawer" in symbols(run)[:3]
    assert len(service.requests) == 1
    assert run.json["furtherQueries"] == ["session_drawer", "invoice"]
    run = git_ctx(project.path, "search", "compute the", "--expand")
    assert 'also searched "session_drawer", "invoice"' in run.out + run.err


def test_keys_are_with_gits_credential_helper(project: Repo, service: Service, tmp_path: Path) -> None:
    """Sent as a bearer token, and in no file, setting or message of git-ctx."""
    run = git_ctx(project.path, "login", stdin="very-secret\n")
    assert run.status == 128
    assert "credential.helper" in run.err
    project.git("config", "credential.helper", f"store --file={tmp_path / 'keys'}")
    assert git_ctx(project.path, "login", stdin="very-secret\n").status == 0
    known = git_ctx(project.path, "account").out.splitlines()
    assert known[0].endswith(", with a key")
    assert "CODE_BLOCKS-bag-of-words-64-bit-" in known[1]
    run = git_ctx(project.path, "index")
    assert run.status == 0
    assert {headers.get("Authorization") for _, _, headers in service.requests} == {"Bearer very-secret"}
    service.always = status(403, "no")
    project.commit({"src/new.py": "def new():\n    return 1\n"})
    failed = git_ctx(project.path, "index")
    assert failed.status == 128
    everything = failed.err + failed.out + run.out + run.err
    for top in (project.path / ".git", tmp_path / "home"):
        for file in top.rglob("*"):
            if file.is_file():
                everything += file.read_bytes().decode("latin-1")
    assert "very-secret" not in everything
    assert git_ctx(project.path, "logout").status == 0
    assert ", without a key\n" in git_ctx(project.path, "account").out


def test_a_key_from_the_environment(project: Repo, service: Service) -> None:
    git_ctx(project.path, "index", GIT_CTX_API_KEY="from-outside")
    assert service.requests[0][2]["Authorization"] == "Bearer from-outside"


def test_the_ledger_counts_what_was_sent(project: Repo, service: Service) -> None:
    """One line before the first byte, and sums that match the received requests."""
    assert git_ctx(project.path, "privacy").out == "nothing was sent to any model service\n"
    run = git_ctx(project.path, "index")
    host = service.url.removeprefix("http://")
    assert run.err.count(f"will be sent to {host} (embedding)") == 1
    assert "will be sent" not in git_ctx(project.path, "index").err
    (sent,) = git_ctx(project.path, "privacy", "--json-output").json["sent"]
    # Chunks and the probe, and the texts on which it is measured what all vectors of the model share.
    assert (sent["host"], sent["purpose"], sent["texts"]) == (host, "embedding", 9 + len(centre.TEXTS))
    assert sent["requests"] == len(service.requests)
    assert sent["bytes"] == sum(int(headers["Content-Length"]) for _, _, headers in service.requests)


def test_offline_is_an_error_for_indexing_and_none_for_searching(project: Repo, service: Service) -> None:
    project.git("config", "ctx.offline", "true")
    run = git_ctx(project.path, "index")
    assert run.status == 128
    assert "ctx.offline" in run.err
    assert git_ctx(project.path, "search", "invoice of a candle").status == 0
    assert service.requests == []


def test_offline_no_remote_is_asked_either(project: Repo, tmp_path: Path) -> None:
    """Commands fail with a message; automatic requests are skipped."""
    project.git("init", "--quiet", "--bare", str(tmp_path / "shared.git"))
    project.git("remote", "add", "origin", str(tmp_path / "shared.git"))
    project.git("config", "--unset", "ctx.embedder.url")
    project.git("config", "ctx.offline", "true")
    project.git("config", "ctx.autoFetch", "true")
    run = git_ctx(project.path, "index")
    assert (run.status, run.err) == (0, "")
    assert "ctx.offline" not in git_ctx(project.path, "search", "invoice of a candle").out
    for command in ("push", "fetch"):
        run = git_ctx(project.path, command)
        assert run.status == 128
        assert "ctx.offline is set, so the remote 'origin' is not asked" in run.err
    project.git("config", "--unset", "ctx.offline")
    assert git_ctx(project.path, "push").status == 0


@pytest.mark.parametrize("score", ["-0.1", "1.01", "50", "nan", "inf"])
@pytest.mark.parametrize("options", [(), ("--modified",)])
def test_a_least_score_that_no_hit_can_have_is_refused(
    project: Repo, service: Service, score: str, options: tuple[str, ...]
) -> None:
    rerank(project, service, "cohere")
    run = git_ctx(project.path, "search", "invoice of a candle", "--min-score", score, *options)
    assert run.status == 129
    assert "give a number from 0 to 1" in run.err
    assert not service.requests
