"""Several trees searched with a model service: the two ends of a range, and submodules."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from repositories import Repo
from service import Service, status
from service_project import configure, source

import ctx
from ctx.errors import CtxError
from ctx.types import REMOVED, Answer, ModelOptions

ALLOW = ("-c", "protocol.file.allow=always")


@pytest.fixture(autouse=True)
def direct(monkeypatch: pytest.MonkeyPatch) -> None:
    """The service is asked without a proxy."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


def search(repo: Repo, query: str, **options: Any) -> Answer:
    with ctx.open(repo.path) as index:
        return index.search(query, **options)


def index(repo: Repo) -> None:
    with ctx.open(repo.path) as opened:
        opened.index()


def documents(service: Service) -> list[str]:
    """Return the texts of files that were sent."""
    return [text for text in service.texts() if text.startswith("Filepath: ")]


def symbols(answer: Answer) -> list[str]:
    return [hit.symbol for hit in answer.hits]


@pytest.fixture
def history(project: Repo, service: Service) -> Repo:
    """Two commits; the second adds, removes and changes a function."""
    configure(project, service, precision="int8")
    changed = source("session", 4).replace("session of a bridge", "lighthouse keeper")
    project.commit(
        {
            "src/session.py": changed,
            "src/deep/invoice.py": source("invoice", 3),
            "src/more.py": source("voucher", 1),
        }
    )
    return project


def test_differences_are_also_ranked_by_vectors(history: Repo, service: Service) -> None:
    """Chunks of both trees form one ranking; only clusters with a difference need vectors."""
    answer = search(history, "the lighthouse keeper", within="HEAD~1..HEAD")
    assert answer.ranked_with == ("bag-of-words",)
    assert answer.message is None
    assert symbols(answer)[0] == "session_bridge"
    assert set(symbols(answer)) == {"session_bridge", "invoice_drawer", "voucher_apple", "invoice_candle"}
    gone = search(history, "compute the invoice of a drawer", within="HEAD~1..HEAD")
    assert (gone.hits[0].symbol, gone.hits[0].change and gone.hits[0].change.state) == (
        "invoice_drawer",
        REMOVED,
    )
    only = search(history, "lighthouse", within="HEAD~1..HEAD", states=[REMOVED])
    assert symbols(only) == ["invoice_drawer"]
    assert len(documents(service)) == len(set(documents(service))) == 10


def test_a_threshold_applies_to_differences(history: Repo, service: Service) -> None:
    """Scores of full-precision vectors are comparable between trees."""
    text = "Filepath: src/more.py\n---\n" + source("voucher", 1)
    found = search(history, text, within="HEAD~1..HEAD", models=ModelOptions(min_score=0.95))
    assert symbols(found) == ["voucher_apple"]
    service.always = status(500, "on fire")
    with pytest.raises(CtxError, match="no scores to apply to"):
        search(history, text, within="HEAD~1..HEAD", models=ModelOptions(min_score=0.95))


def test_a_range_without_vectors_is_reported(history: Repo, service: Service) -> None:
    history.git("config", "ctx.catchUp", "never")
    answer = search(history, "the lighthouse keeper", within="HEAD~1..HEAD")
    assert answer.ranked_with == ()
    assert "no vectors of bag-of-words yet, and the embedded model answered" in (answer.message or "")
    assert service.requests == []


def test_uncommitted_changes_are_a_range(project: Repo, service: Service) -> None:
    index(project)
    before = len(documents(service))
    project.write(
        {"src/session.py": source("session", 4).replace("session of a bridge", "lighthouse keeper")}
    )
    answer = search(project, "lighthouse keeper", within="HEAD")
    assert (symbols(answer), answer.ranked_with) == (["session_bridge"], ("bag-of-words",))
    assert len(documents(service)) == before + 1


def test_differences_are_reranked(history: Repo, service: Service) -> None:
    history.git("config", "ctx.reranker.url", service.url)
    history.git("config", "ctx.reranker.model", "judge")
    answer = search(history, "compute", within="HEAD~1..HEAD")
    assert answer.ranked_with == ("bag-of-words", "judge")
    plain = search(history, "compute", within="HEAD~1..HEAD", models=ModelOptions(rerank=False))
    assert symbols(answer) == symbols(plain)[::-1]


@pytest.fixture
def joined(make_repo: Callable[..., Repo], service: Service) -> tuple[Repo, Repo]:
    """A repository and its checked-out submodule."""
    origin = make_repo("origin")
    origin.commit({"rope.py": source("rope", 4)})
    top = make_repo("top")
    top.commit({"session.py": source("session", 4)})
    top.git(*ALLOW, "submodule", "--quiet", "add", str(origin.path), "lib")
    top.commit()
    configure(top, service)
    return top, Repo(top.path / "lib")


def test_submodules_are_ranked_by_vectors_where_they_have_the_same_model(
    joined: tuple[Repo, Repo], service: Service
) -> None:
    """Each from its own store and with its own settings; an unconfigured one sends nothing."""
    top, lib = joined
    query = "compute the rope of a candle"
    answer = search(top, query, recurse_submodules=True)
    assert answer.ranked_with == ()
    assert "not the model that every submodule is configured to use" in (answer.message or "")
    assert not any("rope_" in text for text in service.texts())
    configure(lib, service)
    answer = search(top, query, recurse_submodules=True)
    assert answer.ranked_with == ("bag-of-words",)
    assert answer.hits[0].path == "lib/rope.py"
    assert answer.hits[0].symbol == "rope_candle"
    assert {hit.path for hit in answer.hits} == {".gitmodules", "lib/rope.py", "session.py"}
    assert {text.splitlines()[0] for text in documents(service)} == {
        "Filepath: .gitmodules",
        "Filepath: rope.py",
        "Filepath: session.py",
    }


def test_a_submodule_with_another_model_keeps_to_the_embedded_one(
    joined: tuple[Repo, Repo], service: Service
) -> None:
    top, lib = joined
    configure(lib, service, dimensions="32")
    answer = search(top, "the rope of a candle", recurse_submodules=True)
    assert answer.ranked_with == ()
    assert "the embedded model answered" in (answer.message or "")
    assert answer.hits[0].symbol == "rope_candle"
