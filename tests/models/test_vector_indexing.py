"""A model service beside the embedded model: indexing, searching, and the data sent."""

from __future__ import annotations

import json
import os
import stat
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from repositories import Repo
from service import Handler, Service, embeddings, status, vector
from service_project import configure, git_ctx, source, started

from ctx.models.centre import TEXTS
from ctx.models.embedder import PROBE
from ctx.storage.arrays import decode, encode


def turned(request: Handler) -> bool:
    """Answer as another model, with all vectors turned."""
    rows = [[-value for value in vector(text)] for text in request.body["input"]]
    return embeddings(rows)(request)


def documents(service: Service) -> list[str]:
    """Return the texts of files that were sent."""
    return [text for text in service.texts() if text.startswith("Filepath: ")]


def modes(folder: Path) -> set[str]:
    """Return types and permissions of a directory and everything below it."""
    return {stat.filemode(path.stat().st_mode) for path in (folder, *folder.rglob("*"))}


def test_both_models_answer_side_by_side(project: Repo, service: Service) -> None:
    """The embedded model alone until all vectors are stored, then both; the answer names them."""
    project.git("config", "ctx.catchUp", "never")
    before = git_ctx(project.path, "search", "invoice of a candle", "--json-output")
    assert before.status == 0
    assert before.json["rankedWith"] == []
    assert "git ctx index" in before.json["message"]
    assert service.texts() == []
    run = git_ctx(project.path, "index")
    assert "8 embedded by bag-of-words" in run.out
    sent = documents(service)
    assert len(sent) == 8
    assert {text.splitlines()[0] for text in sent} == {
        "Filepath: src/session.py",
        "Filepath: src/deep/invoice.py",
    }
    assert all(text.splitlines()[1] == "---" for text in sent)
    after = git_ctx(project.path, "search", "invoice of a candle", "--json-output")
    assert after.json["rankedWith"] == ["bag-of-words"]
    assert after.json["message"] is None
    assert after.json["results"][0]["symbol"] == "invoice_candle"
    assert service.texts()[-1] == "invoice of a candle"
    assert len(service.texts()) == 8 + 1 + len(TEXTS) + 1  # the probe, the centre, and the query


@pytest.mark.parametrize("within", [(), ("--in", "HEAD~1..HEAD")])
def test_an_agreement_is_never_negative(project: Repo, service: Service, within: tuple[str, ...]) -> None:
    project.commit({"src/more.py": source("more", 2)})
    git_ctx(project.path, "index")
    git_ctx(project.path, "search", "invoice of a candle", "--json-output", *within)
    service.faults[len(service.requests) + 1] = turned
    found = git_ctx(project.path, "search", "more of a bridge", "--json-output", *within).json
    assert found["rankedWith"] == ["bag-of-words"]
    assert found["results"]
    for hit in found["results"]:
        assert 0 <= hit["agreement"] <= 1
        assert 0 <= hit["result"]["scoredText"]["similarity"] <= 1


def test_json_reports_the_work_of_the_model(project: Repo, service: Service) -> None:
    run = git_ctx(project.path, "index", "--json-output")
    assert run.json["remote"] == {"model": "bag-of-words", "embedded": 8, "reused": 0, "cut": 0}
    project.git("config", "--unset", "ctx.embedder.url")
    project.commit({"src/more.py": source("more", 1)})
    assert "remote" not in git_ctx(project.path, "index", "--json-output").json


def test_nothing_is_embedded_twice(project: Repo, service: Service) -> None:
    """An edit sends only the changed chunk, a complete index sends nothing, and branches share vectors."""
    git_ctx(project.path, "index")
    git_ctx(project.path, "index")
    assert len(documents(service)) == 8
    changed = source("session", 4).replace("session of a candle", "session that is renewed")
    project.commit({"src/session.py": changed})
    assert "1 embedded by bag-of-words, 7 reused" in git_ctx(project.path, "index").out
    assert "session that is renewed" in documents(service)[-1]
    project.branch("other", "HEAD~1")
    git_ctx(project.path, "index")
    assert len(documents(service)) == 9


def test_a_file_that_comes_back_is_not_paid_for_again(project: Repo, service: Service) -> None:
    """Although no recent tree has the file, and its cluster has other members now."""
    git_ctx(project.path, "index")
    project.commit({"src/session.py": None}, "Take it away")
    for number in range(6):
        project.commit({"src/deep/invoice.py": source(f"step{number}", 1)})
        git_ctx(project.path, "index")
    project.commit({"src/session.py": source("session", 4), "src/deep/invoice.py": source("last", 1)})
    assert "1 embedded by bag-of-words, 4 reused" in git_ctx(project.path, "index").out
    assert len(documents(service)) == 8 + 6 + 1


@pytest.mark.parametrize(("header", "again"), [("true", 4), ("false", 0)])
def test_a_rename_is_embedded_again_only_with_a_path_header(
    project: Repo, service: Service, header: str, again: int
) -> None:
    project.git("config", "ctx.embedder.pathHeader", header)
    git_ctx(project.path, "index")
    before = len(service.texts())
    project.git("mv", "src/session.py", "src/renamed.py")
    project.commit({})
    git_ctx(project.path, "index")
    assert len(service.texts()) - before == (again + 1 if again else 0)  # with a probe


def test_a_run_that_fails_goes_on_where_it_was(project: Repo, service: Service) -> None:
    """Received vectors are kept, also of incomplete clusters, and not requested again."""
    project.commit({f"lib{n}/f{m}.py": source(f"x{n}_{m}", 2) for n in range(3) for m in range(17)})
    configure(project, service, batch="4", concurrency="1")
    service.faults = {number: status(401, "no more") for number in range(14, 100)}
    run = git_ctx(project.path, "index")
    assert run.status == 128
    assert "no more" in run.err
    half = documents(service)
    service.faults = {}
    assert git_ctx(project.path, "index").status == 0
    every = documents(service)
    answered = half[: 4 * 12]
    again = [text for text in every[len(half) :] if text in answered]
    assert again == []
    assert len(set(every)) == 8 + 3 * 17 * 2


def test_a_search_keeps_the_journal_of_an_interrupted_run(project: Repo, service: Service) -> None:
    """A search embeds a few texts of another tree; the next run continues the first one."""
    before = project.id().hex()
    project.commit({"src/session.py": None, "src/deep/invoice.py": None, "other.py": source("other", 4)})
    configure(project, service, batch="1", concurrency="1")
    service.faults = {number: status(401, "no more") for number in range(5, 100)}
    assert git_ctx(project.path, "index").status == 128
    answered = documents(service)[:-1]
    (left,) = (project.path / ".git/ctx/views").glob("*/arrived-0")
    kept = left.read_bytes()
    assert kept
    service.faults = {}
    run = git_ctx(project.path, "search", "invoice of a candle", "--revision", before, "--json-output")
    assert run.json["rankedWith"] == ["bag-of-words"]
    assert left.read_bytes() == kept
    sent = len(documents(service))
    assert git_ctx(project.path, "index").status == 0
    again = documents(service)[sent:]
    assert len(again) == 4 - len(answered)
    assert not set(again) & set(answered)
    assert not left.exists()


@pytest.mark.parametrize("spoilt", [lambda data: data[:-3], lambda data: data[:50] + b"x" + data[51:]])
def test_the_journal_of_a_killed_run_may_be_damaged(
    project: Repo, service: Service, spoilt: Callable[[bytes], bytes]
) -> None:
    """Damaged records are requested again, and no journal is left at the end."""
    configure(project, service, batch="2", concurrency="1")
    service.faults = {number: status(401, "no more") for number in range(4, 100)}
    assert git_ctx(project.path, "index").status == 128
    (left,) = (project.path / ".git/ctx/views").glob("*/arrived-0")
    left.write_bytes(spoilt(left.read_bytes()))
    assert git_ctx(project.path, "fsck").status == 0
    service.faults = {}
    before = len(documents(service))
    assert git_ctx(project.path, "index").status == 0
    assert 4 < len(documents(service)) - before < 8
    assert not list((project.path / ".git/ctx").rglob("arrived-*"))
    run = git_ctx(project.path, "search", "invoice of a candle", "--json-output")
    assert run.json["results"][0]["symbol"] == "invoice_candle"


@pytest.mark.parametrize("value", ["group", "0640"])
def test_everything_of_a_model_is_shared_as_the_repository_is(
    project: Repo, service: Service, value: str
) -> None:
    """Also the lock, otherwise a second user could not embed anything."""
    project.git("config", "core.sharedRepository", value)
    configure(project, service, batch="2", concurrency="1")
    before = os.umask(0o077)
    try:
        project.git("update-ref", "refs/heads/new/branch", "HEAD")
        service.faults = {number: status(401, "no more") for number in range(5, 100)}
        assert git_ctx(project.path, "index").status == 128
        assert list((project.path / ".git/ctx/views").glob("*/arrived-0"))
        found = modes(project.path / ".git/ctx")
        service.faults = {}
        assert git_ctx(project.path, "index").status == 0
        assert git_ctx(project.path, "search", "invoice of a candle").status == 0
        found |= modes(project.path / ".git/ctx")
        assert found == modes(project.path / ".git/refs/heads/new")
        assert (project.path / ".git/ctx/remote.lock").exists()
    finally:
        os.umask(before)


def test_vector_files_do_not_pile_up(project: Repo, service: Service) -> None:
    """Each commit adds a small file; they are merged from time to time."""
    for number in range(12):
        project.commit({"src/more.py": source(f"more{number}", 1)})
        assert git_ctx(project.path, "index").status == 0
    assert len(list((project.path / ".git/ctx/views").glob("*/vectors-*"))) < 9
    run = git_ctx(project.path, "search", "invoice of a candle", "--json-output")
    assert run.json["rankedWith"] == ["bag-of-words"]


def test_uncommitted_files_are_embedded_when_they_are_few(project: Repo, service: Service) -> None:
    """A search of the work tree embeds only the changed chunk."""
    git_ctx(project.path, "index")
    before = len(documents(service))
    project.write(
        {"src/session.py": source("session", 4).replace("session of a bridge", "lighthouse keeper")}
    )
    run = git_ctx(project.path, "search", "lighthouse keeper", "--json-output")
    assert run.json["rankedWith"] == ["bag-of-words"]
    assert run.json["results"][0]["symbol"] == "session_bridge"
    assert len(documents(service)) == before + 1
    project.git("config", "ctx.catchUp", "never")
    project.write({"src/session.py": source("session", 4).replace("session of a bridge", "harbour pilot")})
    git_ctx(project.path, "search", "harbour pilot")
    assert len(documents(service)) == before + 1


def test_a_model_that_is_away_does_not_stop_a_search(project: Repo, service: Service) -> None:
    """The embedded model answers, and the answer says so."""
    git_ctx(project.path, "index")
    service.always = status(500, "on fire")
    run = git_ctx(project.path, "search", "invoice of a candle", "--json-output")
    assert run.status == 0
    assert run.json["rankedWith"] == []
    assert "on fire" in run.json["message"]
    assert run.json["results"][0]["symbol"] == "invoice_candle"


def test_vectors_that_lost_their_search_ready_form_are_restored(project: Repo, service: Service) -> None:
    """From the clusters, without a request."""
    git_ctx(project.path, "index")
    first = git_ctx(project.path, "search", "invoice of a candle", "--json-output").json
    for file in (project.path / ".git/ctx/views").glob("*/vectors-*"):
        file.write_bytes(file.read_bytes()[:-9])
    before = len(documents(service))
    again = git_ctx(project.path, "search", "invoice of a candle", "--json-output").json
    assert again["results"] == first["results"]
    assert len(documents(service)) == before
    run = git_ctx(project.path, "fsck", "--json-output")
    assert run.json["foreign"] == []


@pytest.mark.parametrize("precision", ["bit", "int8", "f16", "f32"])
def test_precisions(project: Repo, service: Service, precision: str) -> None:
    configure(project, service, precision=precision)
    git_ctx(project.path, "index")
    run = git_ctx(project.path, "search", "session of a drawer", "--json-output")
    best = [one["symbol"] for one in run.json["results"]]
    # Signs of so few dimensions tie.
    assert "session_drawer" in best[: 2 if precision == "bit" else 1]
    limited = git_ctx(project.path, "search", "session of a drawer", "--min-score", "0.99")
    if precision == "bit":
        assert limited.status == 129
        assert "only order the hits of one answer" in limited.err
    else:
        assert limited.status == 1


def test_filters_and_a_scope(project: Repo, service: Service) -> None:
    """A directory restricts the answer exactly, and is part of the query."""
    git_ctx(project.path, "index")
    run = git_ctx(project.path, "search", "of a candle", "-p", "src/deep", "--json-output")
    paths = {hit["result"]["sourcePosition"]["relativePath"] for hit in run.json["results"]}
    assert paths == {"src/deep/invoice.py"}
    assert service.texts()[-1] == "Filepath: src/deep\n---\nof a candle"


def test_queries_may_go_elsewhere(project: Repo, service: Service) -> None:
    with Service() as other:
        configure(project, service, queryUrl=other.url)
        git_ctx(project.path, "index")
        git_ctx(project.path, "search", "invoice of a candle")
        # It has to be the same model; what it says to a fixed text tells, once a day.
        assert other.texts() == [PROBE, "invoice of a candle"]
        git_ctx(project.path, "search", "invoice of a candle")
        assert other.texts()[2:] == ["invoice of a candle"]
        assert "invoice of a candle" not in service.texts()


def test_two_processes_do_not_pay_twice(project: Repo, service: Service) -> None:
    """A second process leaves the work to the first one."""
    go_on = threading.Event()

    def hold(_: Handler) -> bool:
        go_on.wait()
        return False

    service.always = hold
    configure(project, service, batch="1", concurrency="1")
    first = started(project.path, "index")
    try:
        while not service.requests:
            assert first.poll() is None
            time.sleep(0.02)
        for _ in range(2):
            second = git_ctx(project.path, "index", "--json-output")
            assert second.json == {"type": "skipped", "reason": "INDEXING_IN_PROGRESS"}
            second = git_ctx(project.path, "index")
            assert "another process is having texts embedded by bag-of-words" in second.out
            (model,) = git_ctx(project.path, "status", "--json-output").json["remoteModels"]
            assert not model["head"]["complete"]
            # A tree that is not indexed at all yet is left half done too.
            project.commit({"src/more.py": source("more", 1)})
    finally:
        go_on.set()
        first.communicate(timeout=60)
    assert first.returncode == 0
    assert len(documents(service)) == len(set(documents(service))) == 8
    assert "1 embedded by bag-of-words" in git_ctx(project.path, "index").out
    again = git_ctx(project.path, "index", "--json-output")
    assert again.json == {"type": "skipped", "reason": "ALREADY_INDEXED"}
    assert len(documents(service)) == 9


def test_progress_rises_while_a_model_embeds(project: Repo, service: Service) -> None:
    """For the first index, and if only vectors are missing."""
    configure(project, service, batch="1", concurrency="1")
    for _ in range(2):
        run = git_ctx(project.path, "index", "--json-output")
        percents = [one["percent"] for one in map(json.loads, run.out.splitlines()) if "percent" in one]
        assert percents == sorted(set(percents))
        assert (percents[0], percents[-1]) == (0, 100)
        assert len([one for one in percents if 10 < one < 99]) >= 7
        configure(project, service, model="another")


def test_a_changed_model_is_refused(project: Repo, service: Service) -> None:
    git_ctx(project.path, "index")
    (probe,) = (project.path / ".git/ctx/views").glob("*/probe-0")
    data = bytearray(probe.read_bytes())
    arrays, meta = decode(bytes(data))
    probe.write_bytes(encode(arrays | {"probe": -arrays["probe"]}, meta))
    project.commit({"src/more.py": source("more", 1)})
    run = git_ctx(project.path, "index")
    assert run.status == 128
    assert "another model has the name" in run.err


def test_gc_keeps_and_drops_by_descriptor(project: Repo, service: Service) -> None:
    git_ctx(project.path, "index")
    descriptor = json.loads(git_ctx(project.path, "account", "--json-output").out)["services"][0][
        "descriptor"
    ]
    assert git_ctx(project.path, "gc", "--grace", "now").status == 0
    run = git_ctx(project.path, "search", "invoice of a candle", "--json-output")
    assert run.json["rankedWith"] == ["bag-of-words"]
    assert git_ctx(project.path, "gc", "--drop-descriptor", descriptor).status == 0
    assert not list((project.path / ".git/ctx").rglob(f"{descriptor}/*"))
    # Also what the model said to the fixed text: another model may take its place now.
    service.always = turned
    assert "8 embedded by bag-of-words" in git_ctx(project.path, "index").out


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("url", "ftp://x", "not an address"),
        ("url", "http://user:secret@host", "must not contain a name or a password"),
        ("dialect", "french", "must be one of openai"),
        ("dimensions", "0", "must be the number of dimensions"),
        ("dimensions", "63", "multiple of 8"),
        ("precision", "int4", "not one of bit"),
        ("preset", "gpt", "must be one of qwen3-embedding-4b"),
        ("batch", "0", "whole number of at least 1"),
        ("price", "much", "a number from 0 to 100000"),
    ],
)
def test_settings_that_cannot_be(project: Repo, service: Service, name: str, value: str, words: str) -> None:
    configure(project, service, **{name: value})
    run = git_ctx(project.path, "index")
    assert run.status == 129
    assert words in run.err
    assert "secret" not in run.err


def test_the_store_has_no_text(project: Repo, service: Service) -> None:
    git_ctx(project.path, "index")
    everything = b"".join(
        file.read_bytes() for file in Path(project.path, ".git/ctx").rglob("*") if file.is_file()
    )
    assert b"Compute session" not in everything
