"""Hosts and protocols to which text and keys may be sent."""

from __future__ import annotations

import pytest
from repositories import Repo
from service import Handler, Service
from service_project import configure, git_ctx

from ctx.errors import UsageError
from ctx.models.addresses import is_loopback, origin
from ctx.models.settings import address

QUERY = "invoice of a candle"


def keys(service: Service) -> set[str | None]:
    """Return every key that was sent to a service."""
    return {headers.get("Authorization") for _, _, headers in service.requests}


def rerank(repo: Repo, url: str) -> None:
    repo.git("config", "ctx.reranker.url", url)
    repo.git("config", "ctx.reranker.model", "judge")


def test_each_service_gets_its_own_key_and_no_other(project: Repo, service: Service) -> None:
    with Service() as other:
        rerank(project, other.url)
        assert git_ctx(project.path, "index", GIT_CTX_API_KEY="for-embedder").status == 0
        git_ctx(project.path, "search", QUERY, GIT_CTX_API_KEY="for-embedder")
        assert keys(service) == {"Bearer for-embedder"}
        assert keys(other) == {None}
        known = git_ctx(project.path, "account", "--json-output", GIT_CTX_API_KEY="for-embedder").json
        assert [one["hasKey"] for one in known["services"]] == [True, False]
        other.requests.clear()
        git_ctx(project.path, "search", QUERY, GIT_CTX_API_KEY="a", GIT_CTX_RERANKER_API_KEY="b")
        assert keys(other) == {"Bearer b"}
        assert "Bearer b" not in keys(service)


def test_one_host_needs_one_key(project: Repo, service: Service) -> None:
    rerank(project, service.url)
    git_ctx(project.path, "index", GIT_CTX_API_KEY="shared")
    git_ctx(project.path, "search", QUERY, GIT_CTX_API_KEY="shared")
    assert {path for path, _, _ in service.requests} == {"/v1/embeddings", "/v1/rerank"}
    assert keys(service) == {"Bearer shared"}


def test_another_address_does_not_get_the_key(project: Repo, service: Service) -> None:
    with Service() as queries:
        configure(project, service, queryUrl=queries.url)
        git_ctx(project.path, "index", GIT_CTX_API_KEY="for-documents")
        git_ctx(project.path, "search", QUERY, GIT_CTX_API_KEY="for-documents")
        assert keys(service) == {"Bearer for-documents"}
        assert keys(queries) == {None}


def test_a_redirect_is_not_followed(project: Repo, service: Service) -> None:
    with Service() as other:

        def redirect(request: Handler) -> bool:
            request.answer(307, {}, Location=f"{other.url}/v1/embeddings")
            return True

        service.always = redirect
        run = git_ctx(project.path, "index", GIT_CTX_API_KEY="secret")
        assert run.status == 128
        assert "status 307" in run.err
        assert other.requests == []


def test_nothing_goes_in_clear_to_another_machine(project: Repo, service: Service) -> None:
    """An index run fails with advice, a search answers without the model; a proxy sees no request."""
    project.git("config", "http.proxy", service.url)
    project.git("config", "ctx.embedder.url", "http://model.example")
    rerank(project, "http://judge.example:8080")
    run = git_ctx(project.path, "index", GIT_CTX_API_KEY="secret")
    assert run.status == 128
    assert "git config ctx.allowInsecure true" in run.err
    answer = git_ctx(project.path, "search", QUERY, "--json-output", GIT_CTX_API_KEY="secret").json
    assert answer["results"][0]["symbol"] == "invoice_candle"
    assert "http://judge.example:8080/v1/rerank is refused" in answer["message"]
    assert service.requests == []
    project.git("config", "ctx.allowInsecure", "true")
    assert git_ctx(project.path, "index", GIT_CTX_API_KEY="secret").status == 0
    assert {path for path, _, _ in service.requests} == {"http://model.example/v1/embeddings"}
    assert keys(service) == {"Bearer secret"}


def test_requests_to_this_machine_use_no_proxy(project: Repo, service: Service) -> None:
    with Service() as proxy:
        project.git("config", "http.proxy", proxy.url)
        run = git_ctx(project.path, "index", HTTP_PROXY=proxy.url, http_proxy=proxy.url, NO_PROXY="")
        assert run.status == 0
        assert proxy.requests == []
        assert service.requests


@pytest.mark.parametrize("key", ["very\x01secret", "very-sécret"])
def test_a_key_that_cannot_be_sent_is_not_shown(project: Repo, service: Service, key: str) -> None:
    run = git_ctx(project.path, "index", GIT_CTX_API_KEY=key)
    assert run.status == 128
    assert "GIT_CTX_API_KEY has characters" in run.err
    assert key[-5:] not in run.err
    assert service.requests == []


@pytest.mark.parametrize(
    ("url", "is_here"),
    [
        ("http://localhost", True),
        ("http://LOCALHOST.:8080/v1", True),
        ("http://127.8.9.1", True),
        ("http://[::1]:80/", True),
        ("http://localhost.example", False),
        ("http://127.0.0.1.example", False),
        ("http://0.0.0.0", False),
        ("http://[fe80::1]", False),
        ("http://10.0.0.1", False),
        ("http://2130706433", False),
        ("http://xlocalhost", False),
    ],
)
def test_which_addresses_are_this_machine(url: str, is_here: bool) -> None:
    assert is_loopback(address(url)) == is_here


def test_an_origin_has_one_form() -> None:
    assert (
        origin("https://API.Example.:443/v1")
        == origin("https://api.example")
        == ("https", "api.example", 443)
    )
    assert origin("https://api.example") != origin("http://api.example")
    assert origin("https://api.example") != origin("https://api.example:8443")
    assert origin("https://[::1") == ("", "", 0)


@pytest.mark.parametrize(
    "url",
    [
        "http://localhost\\@evil.example/",
        "http://user:secret@localhost/",
        "http://user:se/cret@localhost/",
        "http://local\nhost/",
        "http://localhost:99999/",
        "http://localhost%2eevil.example/",
        "http://a b/",
        "https://[::1/",
    ],
)
def test_an_address_that_can_be_read_in_two_ways_is_refused(url: str) -> None:
    with pytest.raises(UsageError) as raised:
        address(url)
    assert "cret" not in str(raised.value)
