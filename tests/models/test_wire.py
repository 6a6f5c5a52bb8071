"""Requests and answers: each dialect, headers, batches, and every kind of failure."""

from __future__ import annotations

import time
from typing import Any

import pytest
from repositories import Repo
from service import DIMENSIONS, Service, cut, embeddings, instead, slow, status, vector

import ctx
from ctx.errors import CtxError, ServiceFailed
from ctx.models.addresses import full_address
from ctx.models.centre import TEXTS
from ctx.models.embedder import PROBE, EmbeddingService
from ctx.models.http import backoff
from ctx.models.ledger import Ledger
from ctx.models.presets import CODE_QUESTION, DIALECTS
from ctx.models.settings import embedder_settings


@pytest.fixture
def waits() -> list[float]:
    """Recorded waits; nothing really waits."""
    return []


@pytest.fixture
def embedder(project: Repo, service: Service, waits: list[float]) -> Any:
    """An embedder as the project configures it."""
    opened: list[EmbeddingService] = []

    def make(timeout: float = 5.0, **settings: str) -> EmbeddingService:
        for name, value in settings.items():
            project.git("config", f"ctx.embedder.{name}", value)
        with ctx.open(project.path) as index:
            wanted = embedder_settings(index.repository.settings)
            assert wanted is not None
            made = EmbeddingService(
                index.repository,
                Ledger(index.repository.common_dir),
                wanted,
                sleep=waits.append,
                timeout=timeout,
            )
        opened.append(made)
        return made

    yield make
    for one in opened:
        one.close()


@pytest.mark.parametrize(
    ("dialect", "path", "fields"),
    [
        ("openai", "/v1/embeddings", {"model": "bag-of-words", "encoding_format": "base64"}),
        ("tei", "/embed", {"normalize": True, "truncate": False}),
        ("ollama", "/api/embed", {"model": "bag-of-words", "truncate": False}),
        ("jina", "/v1/embeddings", {"task": "code", "dimensions": DIMENSIONS}),
        ("voyage", "/v1/embeddings", {"input_type": "code", "output_dimension": DIMENSIONS}),
    ],
)
def test_dialects(embedder: Any, service: Service, dialect: str, path: str, fields: dict[str, Any]) -> None:
    found = embedder(dialect=dialect, documentTask="code").embed_documents(["one two", "three"])
    assert found.shape == (2, DIMENSIONS)
    assert found[1] == pytest.approx(vector("three"), abs=1e-6)
    ((asked, body, _),) = service.requests
    assert asked == path
    assert fields.items() <= body.items()
    assert service.texts() == ["one two", "three"]


def test_addresses_are_completed() -> None:
    assert full_address("http://a", DIALECTS["openai"]) == "http://a/v1/embeddings"
    assert full_address("http://a/v1", DIALECTS["openai"]) == "http://a/v1/embeddings"
    assert full_address("http://a/deep/embeddings", DIALECTS["openai"]) == "http://a/deep/embeddings"
    assert full_address("http://a:1/api", DIALECTS["ollama"]) == "http://a:1/api/embed"


def test_an_instruction_wraps_the_query_alone(embedder: Any, service: Service) -> None:
    made = embedder(preset="qwen3-embedding-0.6b", dimensions=str(DIMENSIONS))
    made.embed_documents(["def f(): ..."])
    made.embed_query("where is f", scope="src/deep")
    assert service.texts() == [
        "def f(): ...",
        f"Instruct: {CODE_QUESTION}\nQuery: Filepath: src/deep\n---\nwhere is f",
    ]
    assert CODE_QUESTION.startswith("Given a question about coding, retrieval code")


@pytest.mark.parametrize("fault", [status(500), status(503), cut, status(408)])
def test_transient_failures_are_retried(
    embedder: Any, service: Service, waits: list[float], fault: Any
) -> None:
    service.faults = {1: fault, 2: fault}
    assert embedder().embed_documents(["one"]).shape == (1, DIMENSIONS)
    assert len(service.requests) == 3
    assert [0.2 <= wait <= 0.45 for wait in waits] == [True, True]


def test_a_server_that_does_not_answer_in_time(embedder: Any, service: Service) -> None:
    service.faults = {1: slow(1.0)}
    assert embedder(timeout=0.3).embed_documents(["one"]).shape == (1, DIMENSIONS)
    assert len(service.requests) == 2


def test_a_server_that_is_too_slow_for_a_batch_gets_smaller_ones(embedder: Any, service: Service) -> None:
    """Following batches are smaller too; a single text is requested again."""

    def heavy(request: Any) -> bool:
        if len(request.body["input"]) > 2:
            time.sleep(1.0)
        return False

    service.always = heavy
    made = embedder(timeout=0.4)
    found = made.embed_documents([f"word{letter}" for letter in "abcdefg"])
    assert found[6] == pytest.approx(vector("wordg"), abs=1e-6)
    assert [len(body["input"]) for _, body, _ in service.requests] == [7, 4, 2, 2, 2, 1]
    made.embed_documents(["one", "two", "three"])
    assert [len(body["input"]) for _, body, _ in service.requests][6:] == [2, 1]


def test_six_waits_double_from_a_fifth_of_a_second(
    embedder: Any, service: Service, waits: list[float]
) -> None:
    """The documented schedule, as computed and as observed by a service; jitter adds up to a tenth."""
    schedule = [0.2, 0.4, 0.8, 1.6, 3.2, 6.4]
    assert [backoff(attempt, 0.0) for attempt in range(6)] == pytest.approx(schedule)
    assert [backoff(attempt, 1.0) for attempt in range(6)] == pytest.approx([1.1 * one for one in schedule])
    service.always = status(503, "we are tired")
    with pytest.raises(ServiceFailed, match=r"we are tired.*7 times"):
        embedder().embed_documents(["one"])
    assert len(service.requests) == 7
    assert len(waits) == 6
    for wait, planned in zip(waits, schedule, strict=True):
        assert planned <= wait <= 1.1 * planned


@pytest.mark.parametrize("value", ["7", "Wed, 21 Oct 2099 07:28:00 GMT"])
def test_a_rate_limit_is_waited_for(embedder: Any, service: Service, waits: list[float], value: str) -> None:
    service.faults = {1: status(429, "slowly", Retry_After=value)}
    embedder().embed_documents(["one"])
    # All threads wait, also the one that got the answer.
    assert waits[0] in (7.0, 600.0)
    assert len(service.requests) == 2


def test_a_key_that_is_refused_is_not_tried_again(embedder: Any, service: Service) -> None:
    service.always = status(401, "who are you")
    with pytest.raises(ServiceFailed, match=r"who are you.*git ctx model login"):
        embedder().embed_documents(["one"])
    assert len(service.requests) == 1


def test_a_batch_that_is_too_large_is_split(embedder: Any, service: Service) -> None:
    def small(request: Any) -> bool:
        if len(request.body["input"]) > 2:
            request.answer(413, {"error": "too large"})
            return True
        return False

    service.always = small
    found = embedder().embed_documents([f"word{letter}" for letter in "abcde"])
    assert found[4] == pytest.approx(vector("worde"), abs=1e-6)


def test_a_text_that_is_too_long_is_cut_and_counted(embedder: Any, service: Service) -> None:
    def short(request: Any) -> bool:
        if max(map(len, request.body["input"])) > 300:
            request.answer(400, {"error": {"message": "This model's maximum context length is 100 tokens"}})
            return True
        return False

    service.always = short
    made = embedder()
    assert made.embed_documents(["word " * 200, "one"]).shape == (2, DIMENSIONS)
    assert len(made.truncated) == 1


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        (instead({"data": "none"}), "did not answer with vectors"),
        (instead(b"<html>"), "did not answer with JSON"),
        (instead([]), "did not answer with vectors"),
        (embeddings([[1.0] * 32]), "vectors of 32 numbers, but ctx.embedder.dimensions is 64"),
        (embeddings([[1.0] * 64, [1.0] * 64]), "returned 2 vectors for 1 text"),
        (embeddings([[float("nan")] * 64]), "NaN or infinity"),
        (embeddings([[0.0] * 64]), "vector of zeros"),
    ],
)
def test_answers_without_valid_vectors_are_refused(
    embedder: Any, service: Service, fault: Any, words: str
) -> None:
    service.always = fault
    with pytest.raises(ServiceFailed, match=words):
        embedder().embed_documents(["one"])


def test_more_dimensions_than_wanted_are_cut(embedder: Any, service: Service) -> None:
    service.width = 256
    found = embedder().embed_documents(["one two"])
    assert found.shape == (1, DIMENSIONS)
    assert float(found[0] @ found[0]) == pytest.approx(1.0, abs=1e-5)


def test_another_model_behind_the_name_is_noticed(embedder: Any, service: Service) -> None:
    known = embedder().check(None)
    embedder().check(known)
    assert service.texts() == [PROBE, *TEXTS, PROBE]
    with pytest.raises(ServiceFailed, match="another model has the name"):
        embedder().check(known._replace(probe=-known.probe))


def test_offline_nothing_is_sent(embedder: Any, project: Repo, service: Service) -> None:
    project.git("config", "ctx.offline", "true")
    with pytest.raises(CtxError, match=r"ctx\.offline is set"):
        embedder()
    assert service.requests == []
