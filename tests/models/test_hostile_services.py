"""Services with endless answers, and answers that must not be read completely."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from repositories import Repo
from service import (
    DIMENSIONS,
    Handler,
    Service,
    drop,
    embeddings,
    hang,
    instead,
    status,
    trickle,
    trickle_headers,
    vector,
)
from service_project import git_ctx

import ctx
from ctx.errors import ServiceFailed
from ctx.models.embedder import EmbeddingService
from ctx.models.http import TimeBudget
from ctx.models.ledger import Ledger
from ctx.models.settings import embedder_settings

QUERY = "invoice of a candle"


@pytest.fixture
def embedder(project: Repo) -> Iterator[Callable[..., EmbeddingService]]:
    """Return a function that makes an embedder as the project configures it."""
    opened: list[EmbeddingService] = []

    def make(**options: Any) -> EmbeddingService:
        with ctx.open(project.path) as index:
            wanted = embedder_settings(index.repository.settings)
            assert wanted is not None
            ledger = Ledger(index.repository.common_dir)
            opened.append(EmbeddingService(index.repository, ledger, wanted, **options))
        return opened[-1]

    yield make
    for one in opened:
        one.close()


def raw(body: bytes, *, encoding: str = "", times: int = 1, length: int | None = None) -> Any:
    """A fault that sends bytes with an encoding, again and again."""

    def send(request: Handler) -> bool:
        request.send_response(200)
        if encoding:
            request.send_header("Content-Encoding", encoding)
        request.send_header("Content-Length", str(len(body) * times if length is None else length))
        request.end_headers()
        try:
            for _ in range(times):
                request.wfile.write(body)
        except OSError:
            request.close_connection = True
        return True

    return send


def bomb(size: int) -> bytes:
    """Return the beginning of a gzip file of `size` blanks."""
    packer = zlib.compressobj(wbits=31)
    start = packer.compress(b" ") + packer.flush(zlib.Z_FULL_FLUSH)
    block = packer.compress(b" " * (1 << 20)) + packer.flush(zlib.Z_FULL_FLUSH)
    return start + block * (size >> 20)


@pytest.mark.parametrize("fault", [hang, trickle, trickle_headers])
def test_an_answer_that_never_ends_has_an_end(
    embedder: Callable[..., EmbeddingService], service: Service, fault: Any
) -> None:
    service.always = fault
    with pytest.raises(ServiceFailed, match=r"no complete answer in time; a search waits 0\.5 seconds"):
        embedder(budget=TimeBudget(0.5)).embed_documents(["one"])


@pytest.mark.parametrize("fault", [hang, trickle, trickle_headers])
def test_a_batch_that_never_ends_is_split(
    embedder: Callable[..., EmbeddingService], service: Service, fault: Any
) -> None:
    service.faults = {1: fault}
    found = embedder(timeout=0.5).embed_documents(["one", "two"])
    assert found[1] == pytest.approx(vector("two"), abs=1e-6)


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        (raw(bomb(1 << 34), encoding="gzip"), "more than 2,097,152 bytes"),
        (raw(b" " * (1 << 20), times=1 << 12), "more than 2,097,152 bytes"),
        (raw(b" " * (1 << 20), times=3, length=1 << 40), "more than 2,097,152 bytes"),
        (raw(b"[" * (1 << 20)), "did not answer with JSON"),
        (raw(b'{"a":' * 200_000), "did not answer with JSON"),
        (raw(b"no gzip", encoding="gzip"), "damaged gzip"),
        (raw(b"x", encoding="br"), "not requested"),
        (instead({"data": [{"index": 0, "embedding": [10**400] * DIMENSIONS}]}), "not answer with vectors"),
        (instead({"data": [{"index": 0, "embedding": {"a": 1}}]}), "not answer with vectors"),
        (instead({"data": [3]}), "not answer with vectors"),
        (instead("words"), "not answer with vectors"),
    ],
)
def test_an_answer_that_must_not_be_read_is_one_clean_error(
    embedder: Callable[..., EmbeddingService], service: Service, fault: Any, words: str
) -> None:
    service.always = fault
    with pytest.raises(ServiceFailed, match=words) as raised:
        embedder().embed_documents(["one"])
    assert len(str(raised.value)) < 600


def test_words_of_a_failure_may_be_nested_too(
    embedder: Callable[..., EmbeddingService], service: Service
) -> None:
    service.always = lambda request: request.answer(400, b"[" * 300_000) is None
    with pytest.raises(ServiceFailed, match=r"status 400: \[\[") as raised:
        embedder().embed_documents(["one"])
    assert len(str(raised.value)) < 600


def test_compressed_vectors_are_read(embedder: Callable[..., EmbeddingService], service: Service) -> None:
    def packed(request: Handler) -> bool:
        import gzip
        import json

        body = gzip.compress(json.dumps(request.server.reply(request.path, request.body)).encode())
        return bool(raw(body, encoding="gzip")(request))

    service.always = packed
    assert embedder().embed_documents(["one"])[0] == pytest.approx(vector("one"), abs=1e-6)


FAULTS = {
    "hang": hang,
    "drop": drop,
    "trickle": trickle,
    "tired": status(503, "tired", Retry_After="30"),
    "html": instead(b"<html>"),
    "width": embeddings([[1.0] * 8]),
    "nan": embeddings([[float("nan")] * DIMENSIONS]),
    "count": embeddings([[1.0] * DIMENSIONS] * 2),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_search_answers_from_stored_data(project: Repo, service: Service, name: str) -> None:
    """For every fault of the embedder; text and JSON answers report it."""
    assert git_ctx(project.path, "index").status == 0
    project.git("config", "ctx.modelTimeout", "0.7")
    service.always = FAULTS[name]
    run = git_ctx(project.path, "search", QUERY, "--json-output")
    assert run.status == 0
    assert run.json["rankedWith"] == []
    assert run.json["results"][0]["symbol"] == "invoice_candle"
    assert "the embedded model answered" in run.json["message"]
    if name == "hang":
        said = git_ctx(project.path, "search", QUERY)
        assert "the embedded model answered" in said.out + said.err


def test_all_models_share_the_time(project: Repo, service: Service) -> None:
    """The embedder uses up the time, so the chat model and the reranker get no request."""
    assert git_ctx(project.path, "index").status == 0
    for kind in ("reranker", "expander"):
        project.git("config", f"ctx.{kind}.url", service.url)
        project.git("config", f"ctx.{kind}.model", kind)
    project.git("config", "ctx.modelTimeout", "0.7")
    service.requests.clear()
    service.always = hang
    run = git_ctx(project.path, "search", QUERY, "--expand", "--json-output")
    assert run.json["results"][0]["symbol"] == "invoice_candle"
    assert [path for path, _, _ in service.requests] == ["/v1/embeddings"]
    assert "no further queries: " in run.json["message"]
    assert run.json["message"].count("no request was sent") == 2


def test_a_search_does_not_wait_for_missing_vectors(project: Repo, service: Service) -> None:
    """Also without an index, when a search would embed the texts itself."""
    service.always = hang
    project.git("config", "ctx.modelTimeout", "0.7")
    run = git_ctx(project.path, "search", QUERY, "--json-output")
    assert run.json["results"][0]["symbol"] == "invoice_candle"
    assert "the embedded model answered" in run.json["message"]
    assert len(service.requests) == 1


@pytest.mark.parametrize("value", ["-1", "soon", "601", "nan", "1e3"])
def test_a_time_that_cannot_be(project: Repo, service: Service, value: str) -> None:
    project.git("config", "ctx.modelTimeout", value)
    run = git_ctx(project.path, "search", QUERY)
    assert run.status == 129
    assert "ctx.modelTimeout" in run.err
