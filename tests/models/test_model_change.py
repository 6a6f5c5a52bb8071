"""Changing the model: the embedded model answers until all new vectors are stored."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from repositories import Repo
from service import Service, drop, status
from service_project import configure, git_ctx

import ctx
from ctx.git.settings import Settings
from ctx.models.settings import embedder_settings
from ctx.storage.arrays import decode, encode

QUERY = "invoice of a candle"


@pytest.fixture
def changed(project: Repo, service: Service) -> Repo:
    """A project indexed with the model `old` and configured for `new`."""
    configure(project, service, model="old")
    assert git_ctx(project.path, "index").status == 0
    configure(project, service, model="new")
    project.git("config", "ctx.catchUp", "never")
    return project


def search(repo: Repo, *arguments: str) -> Any:
    """The answer as an object."""
    return git_ctx(repo.path, "search", QUERY, "--json-output", *arguments).json


def asked(service: Service) -> list[str]:
    """Return the models that got requests, in order."""
    return [body["model"] for _, body, _ in service.requests]


def model_file(repo: Repo) -> Path:
    (found,) = (repo.path / ".git/ctx/views").glob("CODE_BLOCKS-old-*/model-0")
    return found


def test_the_embedded_model_answers_until_the_new_one_is_complete(changed: Repo, service: Service) -> None:
    before = len(service.requests)
    answer = search(changed)
    assert answer["rankedWith"] == []
    assert "no vectors of new yet, and the embedded model answered" in answer["message"]
    assert "git ctx index" in answer["message"]
    assert answer["results"][0]["symbol"] == "invoice_candle"
    assert len(service.requests) == before
    assert git_ctx(changed.path, "index").status == 0
    answer = search(changed)
    assert (answer["rankedWith"], answer["message"]) == (["new"], None)
    assert asked(service)[-1] == "new"


def test_both_are_in_the_status_and_the_old_one_goes_when_told(changed: Repo, service: Service) -> None:
    git_ctx(changed.path, "search", QUERY)
    models = git_ctx(changed.path, "status", "--json-output").json["remoteModels"]
    assert [(one["model"], one["configured"], one["head"]) for one in models] == [
        ("new", True, {"clusters": 1, "done": 0, "complete": False}),
        ("old", False, {"clusters": 1, "done": 1, "complete": True}),
    ]
    output = git_ctx(changed.path, "status").out
    assert "new (64 bit), configured: HEAD has 0 of 1 cluster" in output
    assert "old (64 bit), configured before: HEAD is complete" in output
    git_ctx(changed.path, "index")
    assert "new (64 bit), configured: HEAD is complete" in git_ctx(changed.path, "status").out
    new, old = (one["descriptor"] for one in models)
    output = git_ctx(changed.path, "gc").out
    assert f"--drop-descriptor {old}" in output
    assert new not in output
    assert git_ctx(changed.path, "gc", "--drop-descriptor", old).status == 0
    (left,) = git_ctx(changed.path, "status", "--json-output").json["remoteModels"]
    assert left["model"] == "new"
    assert not list((changed.path / ".git/ctx").rglob(f"{old}/*"))


@pytest.mark.parametrize("way", ["away", "refuses", "offline", "unset"])
def test_the_embedded_model_answers_if_no_request_is_possible_or_allowed(
    changed: Repo, service: Service, way: str
) -> None:
    assert git_ctx(changed.path, "index").status == 0
    before = len(service.requests)
    if way == "away":
        service.always = status(503, "gone home")
    elif way == "refuses":
        service.always = status(401, "another key")
    elif way == "offline":
        changed.git("config", "ctx.offline", "true")
    else:
        changed.git("config", "--unset", "ctx.embedder.url")
    answer = search(changed)
    assert answer["rankedWith"] == []
    assert answer["results"][0]["symbol"] == "invoice_candle"
    words = {"away": "gone home", "refuses": "git ctx model login", "offline": "ctx.offline"}
    assert words.get(way, "") in (answer["message"] or "")
    if way in ("offline", "unset"):
        assert len(service.requests) == before


def test_a_search_waits_once_for_an_unresponsive_server(changed: Repo, service: Service) -> None:
    """The model embeds the few missing texts."""
    changed.git("config", "--unset", "ctx.catchUp")
    before = len(service.requests)
    service.always = drop
    answer = search(changed)
    assert answer["rankedWith"] == []
    assert "the embedded model answered" in answer["message"]
    assert asked(service)[before:] == ["new", "new"]


@pytest.mark.parametrize("wrong", ["damaged", "a type", "nothing", "a field"])
def test_stored_settings_of_a_model_are_validated(changed: Repo, service: Service, wrong: str) -> None:
    """The status then names the model by its descriptor."""
    file = model_file(changed)
    arrays, meta = decode(file.read_bytes())
    if wrong == "damaged":
        file.write_bytes(file.read_bytes()[:-5])
    else:
        meta["settings"] |= {
            "a type": {"dimensions": "64", "model": "forged"},
            "nothing": {"model": None},
            "a field": {"url": "http://127.0.0.1:9/", "model": "forged"},
        }[wrong]
        file.write_bytes(encode(arrays, meta))
    models = git_ctx(changed.path, "status", "--json-output").json["remoteModels"]
    assert [one["model"] for one in models] == ["new", "old"]


def test_neither_an_address_nor_a_key_is_kept(changed: Repo, service: Service) -> None:
    git_ctx(changed.path, "search", QUERY, GIT_CTX_API_KEY="very-secret")
    everything = b"".join(
        file.read_bytes() for file in (changed.path / ".git/ctx").rglob("*") if file.is_file()
    )
    assert b"very-secret" not in everything
    assert b"127.0.0.1" not in everything


def test_a_process_that_goes_on_sees_the_change(changed: Repo, service: Service, monkeypatch: Any) -> None:
    """An MCP server keeps its index open and reads the settings for each call."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with ctx.open(changed.path) as index:
        assert index.search(QUERY).ranked_with == ()
        changed.git("config", "ctx.embedder.model", "old")
        index.repository.__dict__.pop("settings")
        answer = index.search(QUERY)
        assert (answer.ranked_with, answer.message) == (("old",), None)
        changed.git("config", "ctx.offline", "true")
        index.repository.__dict__.pop("settings")
        before = len(service.requests)
        answer = index.search(QUERY)
        assert answer.ranked_with == ()
        assert "ctx.offline" in (answer.message or "")
        assert len(service.requests) == before


def test_the_reference_of_a_model_survives_a_collection(changed: Repo, service: Service) -> None:
    """While vectors of a model are stored, new ones must be of the same model."""
    folder = model_file(changed).parent
    for file in folder.iterdir():
        os.utime(file, (1, 1))
    assert git_ctx(changed.path, "gc").status == 0
    assert {file.name for file in folder.iterdir()} == {"probe-0", "model-0"}


QUERY_ONLY = {"instruction": "Find the code", "queryPrefix": "q: ", "queryTask": "code.query"}


def test_settings_of_queries_embed_nothing_again(project: Repo, service: Service) -> None:
    """The next query uses the new value."""
    assert git_ctx(project.path, "index").status == 0
    before = len(service.texts())
    configure(project, service, **QUERY_ONLY)
    assert git_ctx(project.path, "index", "--json-output").json["reason"] == "ALREADY_INDEXED"
    answer = search(project)
    assert (answer["rankedWith"], answer["message"]) == (["bag-of-words"], None)
    assert service.texts()[before:] == [f"q: Instruct: Find the code\nQuery: {QUERY}"]
    configure(project, service, documentPrefix="d: ")
    assert "8 embedded by bag-of-words" in git_ctx(project.path, "index").out


def test_vectors_of_0_1_0_are_found_with_any_settings_of_queries(project: Repo, service: Service) -> None:
    """Version 0.1.0 had the query settings in the descriptor and did not store them separately."""
    # With a preset the name is the one of that version.
    configure(project, service, preset="qwen3-embedding-0.6b")
    assert git_ctx(project.path, "index").status == 0
    (file,) = (project.path / ".git/ctx/views").glob("*/model-0")
    arrays, meta = decode(file.read_bytes())
    del meta["named"]
    file.write_bytes(encode(arrays, meta))
    project.git("config", "--unset", "ctx.embedder.preset")
    before = len(service.texts())
    for words in ("Find the code", "Find the place"):
        configure(project, service, instruction=words)
        assert git_ctx(project.path, "index", "--json-output").json["reason"] == "ALREADY_INDEXED"
        answer = search(project)
        assert (answer["rankedWith"], answer["message"]) == (["bag-of-words"], None)
        assert service.texts()[before:] == [f"Instruct: {words}\nQuery: {QUERY}"]
        before = len(service.texts())
    (model,) = git_ctx(project.path, "status", "--json-output").json["remoteModels"]
    assert (model["descriptor"], model["configured"]) == (file.parent.name, True)


@pytest.mark.parametrize(
    ("values", "form"),
    [
        ({"preset": "qwen3-embedding-4b"}, "8db77afb"),
        ({"preset": "nomic-embed-code", "precision": "int8"}, "fcc5cea5"),
        ({"preset": "jina-code"}, "b21b963c"),
        ({"preset": "jina-code", "querytask": "x"}, "b21b963c"),
        ({"preset": "embeddinggemma"}, "421b41a8"),
        ({"model": "m", "dimensions": "64"}, "553f5bd9"),
        ({"model": "m", "dimensions": "64", "documentprefix": "d: ", "pathheader": "false"}, "60e5da6c"),
    ],
)
def test_names_of_vectors_stay(values: dict[str, str], form: str) -> None:
    """Descriptors are those of 0.1.0, so that shared vectors stay usable."""
    pairs = {f"ctx.embedder.{name}": [value] for name, value in values.items()}
    found = embedder_settings(Settings({"ctx.embedder.url": ["http://localhost"], **pairs}))
    assert found is not None
    assert found.form == form
